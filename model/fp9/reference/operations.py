"""Reference results of units without state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fp9.formats import HiFloat8, Kind, floor_log2, pow2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Overflow
from fp9.oracle import casts, sums
from fp9.oracle.terms import product
from fp9.reference.choices import Row, chosen, operand_format, operands, signed
from fp9.units import SCALE_BITS, FpuOp, significand_bits

if TYPE_CHECKING:
    from fp9.formats import Format
    from fp9.formats.rounding import Rounding
    from fp9.oracle.terms import Term
    from fp9.units import Cast, Decoder, Dot, Fpu, Mul, Unit, Upcast

_INF_PASSES = CastPolicy(overflow=Overflow.INF)


def outputs(unit: Unit, code: int, flags: Flags) -> Row:
    return {port.name: int(flags) if port.name == "flags" else code for port in unit.outputs}


def decoder(unit: Decoder, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the decoded fields of each code, with 0 for fields without meaning."""
    places = significand_bits(unit.formats) - 1
    for row in rows:
        fmt = operand_format(row, "code", unit.formats)
        x = casts.decode(row["code"] & ((1 << fmt.bits) - 1), fmt)
        exponent = floor_log2(x.magnitude) if x.kind is Kind.FINITE else 0
        significand = x.magnitude / pow2(exponent - places) if x.kind is Kind.FINITE else Fraction(0)
        yield {
            "sign": int(x.negative),
            "exponent": exponent & ((1 << unit.exponent_bits) - 1),
            "significand": int(significand),
            "zero": int(x.kind is Kind.ZERO),
            "inf": int(x.kind is Kind.INF),
            "nan": int(x.kind is Kind.NAN),
        }


def upcast(unit: Upcast, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        fmt = operand_format(row, "code", unit.formats)
        x = casts.decode(row["code"] & ((1 << fmt.bits) - 1), fmt)
        yield outputs(unit, *casts.encode(x, unit.result, _INF_PASSES))


def cast(unit: Cast, rows: Iterable[Row]) -> Iterator[Row]:
    amax, source = 0, unit.source
    for row in rows:
        results: Row = {}
        for lane in range(unit.lanes):
            code, flags = _rounded(unit, row, lane)
            results |= {unit.lane_names("result")[lane]: code, unit.lane_names("flags")[lane]: int(flags)}
        if unit.amax:
            magnitudes = (row[x] & source.magnitude_mask for x in unit.lane_names("x"))
            finite = (code for code in magnitudes if source.kind_of(code) in (Kind.ZERO, Kind.FINITE))
            amax = max([0 if row["amax_clear"] else amax, *finite])
            results["amax"] = amax
        yield results


def _rounded(unit: Cast, row: Row, lane: int) -> tuple[int, Flags]:
    target, overflow = chosen(unit.targets, row, "target"), chosen(unit.overflow, row, "overflow")
    rounding = chosen(unit.roundings, row, "rounding")
    policy, code = unit.policy(target, rounding, overflow), row[unit.lane_names("x")[lane]]
    operand = casts.decode(code, unit.source)
    factor = pow2(signed(row["scale"], SCALE_BITS)) if unit.scale else Fraction(1)
    if operand.kind is Kind.FINITE:
        operand = replace(operand, magnitude=operand.magnitude * factor)
    return casts.encode(operand, target, policy, _bits(unit, rounding, row, lane))


def _bits(unit: Cast, rounding: Rounding, row: Row, lane: int) -> casts.RandomBits | casts.HybridBits | None:
    """Return random bits for stochastic rounding, or a threshold for hybrid rounding."""
    if rounding.needs_bits:
        return casts.RandomBits(row[unit.lane_names("random")[lane]], unit.random_bits)
    if not rounding.reads_source:
        return None
    return hybrid_bits(row[unit.lane_names("x")[lane]], unit.source)


def hybrid_bits(code: int, source: Format) -> casts.HybridBits:
    """Return the threshold of HiFloat8's hybrid rounding for an operand code (HiF8 section 3.2)."""
    taken, ones = HiFloat8.threshold_bits(source)
    return casts.HybridBits((code & ((1 << taken) - 1)) << ones | ((1 << ones) - 1), taken + ones)


def mul(unit: Mul, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        formats = operand_format(row, "a", unit.a), operand_format(row, "b", unit.b)
        a, b = (casts.decode(row[name] & ((1 << f.bits) - 1), f) for name, f in zip("ab", formats, strict=True))
        exact = product(a, b)
        code, flags = casts.encode(exact, unit.result, unit.policy)
        invalid = exact.kind is Kind.NAN and Kind.NAN not in (a.kind, b.kind)
        yield outputs(unit, code, Flags.INVALID if invalid else flags)


def products(unit: Dot, row: Row) -> list[Term]:
    (a, format_a), (b, format_b) = operands(unit, row, "a"), operands(unit, row, "b")
    return sums.product_terms(unit.engine, a, b, format_a, format_b)


def scales(unit: Dot, row: Row, count: int) -> list[Term] | None:
    """For each product of two elements a and b, return the product of the block scales of a and b."""
    if unit.scale is None:
        return None
    pairs = zip(unit.scale_names("a"), unit.scale_names("b"), strict=True)
    blocks = [sums.scale_term(row[a], row[b], unit.scale) for a, b in pairs]
    return [blocks[product // unit.products_of_scales] for product in range(count)]


def dot(unit: Dot, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        terms = products(unit, row)
        c = sums.code_term(row["c"], unit.engine.addend_format)
        yield outputs(unit, *sums.dot(unit.engine, terms, c, scales(unit, row, len(terms))))


def fpu(unit: Fpu, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        yield outputs(unit, *_FPU[chosen(unit.operations, row, "op")](unit, row))


def _two_products(unit: Fpu, row: Row) -> tuple[int, Flags]:
    formats = operand_format(row, "a", unit.a), operand_format(row, "b", unit.b)
    a, b = (
        [(row[name] >> lane) & ((1 << fmt.bits) - 1) for lane in (0, 8)]
        for name, fmt in zip("ab", formats, strict=True)
    )
    terms = sums.product_terms(unit.engine, a, b, *formats)
    return sums.dot(unit.engine, terms, sums.code_term(row["c"], unit.engine.result.format))


def _multiply_add(unit: Fpu, row: Row) -> tuple[int, Flags]:
    a, b, c = (casts.decode(row[name], unit.engine.result.format) for name in "abc")
    return sums.step(unit.engine.changed(products=1), [(a, b)], c)


def _widened(unit: Fpu, row: Row) -> tuple[int, Flags]:
    fmt = operand_format(row, "a", unit.a)
    operand = casts.decode(row["a"] & ((1 << fmt.bits) - 1), fmt)
    return casts.encode(operand, unit.engine.result.format, _INF_PASSES)


def _narrowed(unit: Fpu, row: Row) -> tuple[int, Flags]:
    return casts.encode(
        casts.decode(row["c"], unit.engine.result.format), operand_format(row, "a", unit.a), CastPolicy()
    )


_FPU = {
    FpuOp.FMMA: _two_products,
    FpuOp.FMA: _multiply_add,
    FpuOp.UPCAST: _widened,
    FpuOp.DOWNCAST: _narrowed,
}
