"""Slow exact reference (oracle) for sums of products, one accumulation step at a time, in exact fractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fp9.engines import Engine, NanPolicy, Result, Scaling, alignment_exponent
from fp9.formats import Format, Kind, Rounding, floor_log2, pow2
from fp9.formats.rounding import Flags
from fp9.oracle.casts import Exact, RandomBits, decode, exact
from fp9.oracle.terms import ZERO, Term, as_addend, product, rounded, total
from fp9.oracle.windows import windowed_step


def step(
    engine: Engine, pairs: Sequence[tuple[Exact, Exact]], c: Exact, bits: RandomBits | None = None
) -> tuple[int, Flags]:
    """Compute an accumulation step without an alignment window: add `c` and all products, and round once."""
    terms = [Term(product(a, b), 0, Kind.NAN in (a.kind, b.kind)) for a, b in pairs]
    return _fused_step(engine, terms, as_addend(engine, Term(c, 0, c.kind is Kind.NAN)), bits)


def product_terms(engine: Engine, a: Sequence[int], b: Sequence[int], format_a: Format, format_b: Format) -> list[Term]:
    return [_product_term(engine, x, y, format_a, format_b) for x, y in zip(a, b, strict=True)]


def _product_term(engine: Engine, code_a: int, code_b: int, format_a: Format, format_b: Format) -> Term:
    a, b = decode(code_a, format_a), decode(code_b, format_b)
    if engine.nan.zero_bypass and any(
        x.kind is Kind.ZERO and y.kind is Kind.NAN and _is_merged(fmt)
        for x, y, fmt in ((a, b, format_b), (b, a, format_a))
    ):
        return ZERO
    exponent = 0
    if a.kind is b.kind is Kind.FINITE:
        exponent = _exponent(a, format_a) + _exponent(b, format_b)
    return Term(product(a, b), exponent, Kind.NAN in (a.kind, b.kind))


def _is_merged(fmt: Format) -> bool:
    return fmt.nan_is_inf


def _exponent(x: Exact, fmt: Format) -> int:
    return alignment_exponent(fmt, floor_log2(x.magnitude))


def code_term(code: int, fmt: Format) -> Term:
    x = decode(code, fmt)
    return Term(x, _exponent(x, fmt) if x.kind is Kind.FINITE else 0, x.kind is Kind.NAN)


def scale_term(code_a: int, code_b: int, fmt: Format) -> Term:
    return _scaled(code_term(code_a, fmt), code_term(code_b, fmt))


def _power(scale: int | Term) -> Term:
    return scale if isinstance(scale, Term) else Term(exact(pow2(scale)), scale)


def _scaled(term: Term, scale: Term) -> Term:
    return Term(product(term.value, scale.value), term.exponent + scale.exponent, term.quiet or scale.quiet)


def _grouped(engine: Engine, products: Sequence[Term], scales: Sequence[Term]) -> list[Term]:
    """Return the exact sum of each group's products, times the group's scale (MMA-Sim, GST-FDPA)."""
    assert engine.step.group is not None
    terms = []
    for start in range(0, len(products), engine.step.group):
        members, scale = products[start : start + engine.step.group], scales[start]
        summed = total([member.value for member in members], Rounding.RNE)
        if all(member.value.kind is Kind.ZERO for member in members):
            terms.append(scale if scale.value.kind is Kind.NAN else ZERO)
        elif summed.kind is Kind.ZERO and scale.value.kind is Kind.FINITE:
            terms.append(Term(Exact(Kind.FINITE), scale.exponent))
        else:
            terms.append(Term(product(summed, scale.value), scale.exponent, scale.quiet))
    return terms


def dot(
    engine: Engine,
    products: Sequence[Term],
    c: Term,
    scales: Sequence[int] | Sequence[Term] | None = None,
    bits: Iterator[RandomBits] | None = None,
    seen: list[Taken] | None = None,
) -> tuple[int, Flags]:
    """Add c and all products as the accumulator model does, and return the code of the sum and the OR of all flags.

    `scales` has one entry for each product: the exponent of a power of two, or the exact product of two block scales.
    If `seen` is a list, the function appends a record of every rounding to the list.
    """
    factors = None if scales is None else [_power(scale) for scale in scales]
    if engine.step.group is not None:
        terms = _grouped(engine, products, factors or [_power(0)] * len(products))
        return _steps(
            engine.changed(products=engine.step.products // engine.step.group, group=None), terms, c, bits, seen
        )
    if factors is not None and (engine.step.exact or engine.step.scaling is Scaling.PRODUCTS):
        products = [_scaled(term, factor) for term, factor in zip(products, factors, strict=True)]
    if engine.step.exact:
        return _fused_step(engine, products, as_addend(engine, c), next(bits) if bits else None)
    joins = engine.chunk.length is not None or (engine.step.scaling is Scaling.SUMS and scales is not None)
    if not joins:
        return _steps(engine, products, c, bits, seen)
    at_sums = factors if engine.step.scaling is Scaling.SUMS else None
    return _chunks(engine, products, c, at_sums, bits, seen)


@dataclass(frozen=True, slots=True)
class Taken:
    """Record of one rounding in a long sum."""

    engine: Engine
    products: tuple[Term, ...]
    addend: Term
    code: int  # result of the rounding
    part: Term | None = None  # chunk's sum, if the step adds a chunk's sum to the total


def _steps(
    engine: Engine,
    products: Sequence[Term],
    c: Term,
    bits: Iterator[RandomBits] | None,
    seen: list[Taken] | None = None,
) -> tuple[int, Flags]:
    take_step = _fused_step if engine.window.width is None else windowed_step
    flags = Flags(0)
    code = _as_given(engine, c)
    for start in range(0, len(products), engine.step.products):
        group, c = products[start : start + engine.step.products], as_addend(engine, c)
        code, raised = take_step(engine, group, c, next(bits) if bits else None)
        flags |= raised
        if seen is not None:
            seen.append(Taken(engine, tuple(group), c, code))
        c = code_term(code, engine.result.format)
    return code, flags


def _fused_step(engine: Engine, products: Sequence[Term], c: Term, bits: RandomBits | None) -> tuple[int, Flags]:
    return rounded(engine, [*_infinities(engine, products), c], bits)


def _infinities(engine: Engine, products: Sequence[Term]) -> Sequence[Term]:
    if engine.nan.infinity_run is None:
        return products
    standing: list[Term] = []
    for place, term in enumerate(products):
        if len(standing) == 2 and place % engine.nan.infinity_run == 0:
            break  # both infinities remain at the end of a run, so the sum is NaN
        if term.value.kind is Kind.INF:
            opposite = len(standing) == 1 and standing[0].value.negative != term.value.negative
            standing = [*standing, term] if opposite else [term]
    return [*(term for term in products if term.value.kind is not Kind.INF), *standing]


def _as_given(engine: Engine, c: Term) -> int:
    # A sum without products is the addend, rounded toward zero.
    return rounded(Engine("addend", Result(engine.output, Rounding.RTZ), nan=NanPolicy(engine.nan.code)), [c])[0]


def _interleaved(engine: Engine, products: Sequence[Term]) -> list[Term]:
    """Return a chunk's products in the order in which the steps add the products."""
    if engine.chunk.interleave is None:
        return list(products)
    assert engine.chunk.length is not None
    run, count = engine.chunk.interleave, engine.chunk.length // engine.step.products
    whole = [*products, *[ZERO] * (engine.chunk.length - len(products))]
    return [term for turn in range(count) for k, term in enumerate(whole) if k // run % count == turn]


def _chunks(
    engine: Engine,
    products: Sequence[Term],
    c: Term,
    scales: Sequence[Term] | None,
    bits: Iterator[RandomBits] | None,
    seen: list[Taken] | None = None,
) -> tuple[int, Flags]:
    length = engine.chunk.length or max(len(products), 1)
    flags, inside, join = Flags(0), engine.within_chunk, engine.joining
    code = _as_given(engine, c)
    for start in range(0, len(products), length):
        part, raised = _steps(inside, _interleaved(engine, products[start : start + length]), ZERO, bits, seen)
        summed = _scaled(code_term(part, engine.result.format), scales[start] if scales else _power(0))
        own_bits = next(bits) if bits else None
        c = as_addend(join, c)
        code, joined = rounded(join, [summed, c], own_bits)
        flags |= raised | joined
        if seen is not None:
            seen.append(Taken(join, (), c, code, summed))
        c = code_term(code, engine.output)
    return code, flags
