"""Reference results of accumulators, and of quantisers that read a block in several steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from fp9.engines import MacOp
from fp9.formats import Kind, pow2
from fp9.formats.rounding import Flags
from fp9.oracle import block_scales, casts, sums
from fp9.oracle.terms import Term
from fp9.reference.choices import Row, chosen
from fp9.reference.operations import outputs, products, scales
from fp9.units import TENSOR_SCALE, product_range

if TYPE_CHECKING:
    from fp9.units import Mac, Quantiser


def mac(unit: Mac, rows: Iterable[Row]) -> Iterator[Row]:
    # The result of each step is the addend of the next step. With chunks, the steps of a chunk have a separate partial
    # sum. An exact engine sums all products.
    if unit.engine.step.exact:
        return _whole(unit, rows)
    return _chunked(unit, rows) if unit.chunk_steps else _fed_back(unit, rows)


def _fed_back(unit: Mac, rows: Iterable[Row]) -> Iterator[Row]:
    total = 0
    for row in rows:
        operation, flags = chosen(unit.operations, row, "op"), Flags(0)
        if operation is MacOp.CLEAR:
            total = 0
        elif operation is not MacOp.HOLD:
            total, flags = _step(unit, row, total if operation is MacOp.ACCUMULATE else row["c"])
        yield outputs(unit, total, flags)


def _step(unit: Mac, row: Row, addend: int) -> tuple[int, Flags]:
    engine, terms = unit.engine.within_chunk, products(unit, row)
    return sums.dot(engine, terms, sums.code_term(addend, engine.addend_format), scales(unit, row, len(terms)))


def _chunked(unit: Mac, rows: Iterable[Row]) -> Iterator[Row]:
    chunk = filled = total = 0
    for row in rows:
        operation, flags = chosen(unit.operations, row, "op"), Flags(0)
        if operation in (MacOp.LOAD, MacOp.CLEAR):
            chunk, filled, total = 0, 0, row["c"] if operation is MacOp.LOAD else 0
        if operation in (MacOp.LOAD, MacOp.ACCUMULATE):
            chunk, flags = _step(unit, row, chunk)
            filled += 1
        if filled == unit.chunk_steps or (operation is MacOp.FOLD and filled):
            part, before = (
                casts.decode(chunk, unit.engine.result.format),
                casts.decode(total, unit.engine.addend_format),
            )
            total, raised = sums.step(unit.engine.joining, [(part, casts.exact(1))], before)
            flags |= raised
            chunk = filled = 0
        yield outputs(unit, total, flags)


def _whole(unit: Mac, rows: Iterable[Row]) -> Iterator[Row]:
    terms: list[Term] = []
    for row in rows:
        operation = chosen(unit.operations, row, "op")
        if operation in (MacOp.LOAD, MacOp.CLEAR):
            terms = []
        if operation in (MacOp.LOAD, MacOp.ACCUMULATE):
            terms += products(unit, row)
        yield outputs(unit, *sums.dot(unit.engine, [*terms, *_lost(unit, terms)], Term(casts.exact(0))))


def _lost(unit: Mac, terms: list[Term]) -> list[Term]:
    """Return the term that wraps an exact sum into the register's range, or an empty list if the sum fits."""
    size = pow2(unit.sum_bits + product_range(unit.a, unit.b, unit.bias_port).ulp)
    total = sum((term.value.value for term in terms if term.value.kind is Kind.FINITE), Fraction(0))
    turns = (total + size / 2) // size
    return [Term(casts.exact(-turns * size))] if turns else []


def quantiser(unit: Quantiser, rows: Iterable[Row]) -> Iterator[Row]:
    # The last operation of a block selects the scale rule.
    lanes, codes = unit.lane_names("element"), list[int]()
    for row in rows:
        codes += [row[x] for x in unit.lane_names("x")]
        if len(codes) < unit.block.length:
            continue
        scale, elements = _block(unit, codes, chosen(unit.rules, row, "rule").name, row.get("tensor"))
        for first in range(0, unit.block.length, unit.width):
            yield {"scale": scale, **dict(zip(lanes, elements[first : first + unit.width], strict=True))}
        codes = []


def _block(unit: Quantiser, codes: list[int], rule: str, tensor: int | None) -> tuple[int, list[int]]:
    block, xs = unit.block, [casts.decode(code, unit.source) for code in codes]
    whole = Fraction(1) if tensor is None else _tensor_scale(tensor)
    if whole is None or not {Kind.INF, Kind.NAN}.isdisjoint(x.kind for x in xs):
        return block.scale.nan_code(False) or 0, [0] * len(codes)
    sizes = [x.magnitude / whole for x in xs]
    if rule == "4over6":
        code, magnitudes = block_scales.four_over_six(sizes, block)
    else:
        code = block_scales.scale_code(max(sizes), block, rule)
        scale = block.scale.value_of(code)
        magnitudes = [block_scales.element_code(size, scale, block.element) if scale else 0 for size in sizes]
    signed = zip(magnitudes, xs, strict=True)
    return code, [block_scales.with_sign(magnitude, x.negative, block.element) for magnitude, x in signed]


def _tensor_scale(code: int) -> Fraction | None:
    t = casts.decode(code, TENSOR_SCALE)
    usable = t.kind is Kind.FINITE and not t.negative and t.magnitude >= TENSOR_SCALE.smallest_normal
    return Fraction(t.magnitude) if usable else None
