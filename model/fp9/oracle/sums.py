"""The oracle of the dot engine: sums of products in exact fractions, one step at a time (spec section 3).

The windows follow MMA-Sim (arXiv 2511.10909): align to the largest exponent, truncate, add, round once. It is slow on
purpose; the kernels are held equal to it by tests and share nothing with it but records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fp9.engines import Addend, Engine, Scaling, Truncation, alignment_exponent
from fp9.formats import Format, Kind, Rounding, floor_log2, pow2
from fp9.oracle.casts import Exact, RandomBits, decode, encode, exact
from fp9.policy import CastPolicy
from fp9.rounding import Flags, Overflow


@dataclass(frozen=True, slots=True)
class Term:
    """A product or addend: its exact value and the exponent with which it is aligned (of finite numbers but zero).

    `quiet`: an operand was NaN, so that a NaN result is no invalid operation.
    """

    value: Exact
    exponent: int = 0
    quiet: bool = False


ZERO = Term(exact(0))


def product(a: Exact, b: Exact) -> Exact:
    """Exact product; 0 x Inf is NaN."""
    negative = a.negative != b.negative
    if Kind.NAN in (a.kind, b.kind) or {a.kind, b.kind} == {Kind.INF, Kind.ZERO}:
        return Exact(Kind.NAN)
    if Kind.INF in (a.kind, b.kind):
        return Exact(Kind.INF, negative)
    if Kind.ZERO in (a.kind, b.kind):
        return Exact(Kind.ZERO, negative)
    return Exact(Kind.FINITE, negative, a.magnitude * b.magnitude)


def total(terms: Sequence[Exact], rounding: Rounding) -> Exact:
    """Exact sum; a sum of zeros keeps a common sign, cancellation gives +0 (-0 when rounding down)."""
    infinities = {t.negative for t in terms if t.kind is Kind.INF}
    if any(t.kind is Kind.NAN for t in terms) or len(infinities) == 2:
        return Exact(Kind.NAN)
    if infinities:
        return Exact(Kind.INF, infinities.pop())
    value = sum((t.value for t in terms), Fraction(0))
    if value == 0:
        signs = {t.negative for t in terms}
        common = signs.pop() if len(signs) == 1 and all(t.kind is Kind.ZERO for t in terms) else None
        return exact(0, rounding.cancels_to_minus if common is None else common)
    return exact(value)


def step(
    engine: Engine, pairs: Sequence[tuple[Exact, Exact]], c: Exact, bits: RandomBits | None = None
) -> tuple[int, Flags]:
    """One step of an engine without a window: round(C + sum of products), with one rounding (spec 3.2).

    `pairs` holds at most `engine.products` operand pairs. Returns the code in `engine.result` and the flags.
    """
    terms = [Term(product(a, b), 0, Kind.NAN in (a.kind, b.kind)) for a, b in pairs]
    return _fused_step(engine, terms, Term(c, 0, c.kind is Kind.NAN), bits)


def _rounded(
    result: Format,
    rounding: Rounding,
    terms: Sequence[Term],
    bits: RandomBits | None = None,
    overflow: Overflow = Overflow.INF,
) -> tuple[int, Flags]:
    """The exact sum of terms with one rounding."""
    summed = total([term.value for term in terms], rounding)
    if summed.kind is Kind.NAN:
        return _nan(result), Flags(0) if any(term.quiet for term in terms) else Flags.INVALID
    if summed.kind is Kind.INF:
        code = result.inf_code(summed.negative)
        return (_nan(result), Flags(0)) if code is None else (code, Flags(0))
    code, flags = encode(summed, result, CastPolicy(rounding, overflow), bits)
    return (_nan(result) if result.kind_of(code) is Kind.NAN else code), flags


def _nan(result: Format) -> int:
    code = result.nan_code(False)
    assert code is not None, "an engine's result format has a NaN"
    return code


# --- windows --------------------------------------------------------------------------------------------------------


def windowed_step(
    engine: Engine, products: Sequence[Term], c: Term, bits: RandomBits | None = None
) -> tuple[int, Flags]:
    """One step of an engine with a window. Inexact: non-zero bits were dropped, in the alignment or by the rounding."""
    if any(term.value.kind in (Kind.NAN, Kind.INF) for term in (*products, c)):
        return _rounded(engine.result, engine.rounding, [*products, c], bits)
    summed, dropped = _joined(engine, products, c) if engine.joined is not None else _aligned(engine, products, c)
    code, flags = encode(exact(summed), engine.result, CastPolicy(engine.rounding, engine.overflow), bits)
    if engine.result.kind_of(code) is Kind.ZERO:
        code = engine.result.code_of(Fraction(0))  # an aligned sum is an integer: its zero has no sign
    if not dropped:
        return code, flags
    tiny = 0 < abs(summed) < pow2(engine.result.min_normal_exponent)
    return code, flags | Flags.INEXACT | (Flags.UNDERFLOW if tiny and not flags else Flags(0))


def _cut(value: Fraction, quantum: int, truncation: Truncation) -> Fraction:
    """A number with its bits below 2^quantum dropped."""
    steps = value / pow2(quantum)
    if truncation is Truncation.FLOOR:
        return math.floor(steps) * pow2(quantum)
    kept = abs(math.trunc(steps))
    if truncation is Truncation.JAM and kept != abs(steps):
        kept |= 1
    return (kept if value > 0 else -kept) * pow2(quantum)


@dataclass(frozen=True, slots=True)
class _Cut:
    value: Fraction
    quantum: int
    truncation: Truncation

    @property
    def kept(self) -> Fraction:
        return _cut(self.value, self.quantum, self.truncation)

    @property
    def dropped(self) -> bool:
        return self.kept != self.value


def _largest(terms: Sequence[Term], zero_exponent: int | None) -> int | None:
    """The exponent that the window hangs at; None where all terms are zeros without an exponent."""
    exponents = [term.exponent for term in terms if term.value.kind is not Kind.ZERO]
    if zero_exponent is not None and len(exponents) < len(terms):
        exponents.append(zero_exponent)
    return max(exponents, default=None)


def _aligned(engine: Engine, products: Sequence[Term], c: Term) -> tuple[Fraction, bool]:
    """The truncated sum of a step, and whether truncation dropped anything (MMA-Sim, T-FDPA)."""
    assert engine.window is not None
    largest = _largest([*products, c] if engine.addend is Addend.INSIDE else products, engine.zero_exponent)
    terms = [term.value.value for term in products] + [c.value.value]
    if largest is None:
        return sum(terms, Fraction(0)), False
    kept = [_cut(value, largest - engine.window, engine.truncation) for value in terms]
    if engine.addend is Addend.OUTSIDE:
        kept[-1] = terms[-1]
    return sum(kept, Fraction(0)), kept != terms


def _joined(engine: Engine, products: Sequence[Term], c: Term) -> tuple[Fraction, bool]:
    """The sum of a step of CDNA3 (MMA-Sim, GTR-FDPA), and whether bits were dropped.

    Even and odd products are summed apart, toward zero; their sums are joined, floored; then C, floored as well.
    """
    window, joined, lowest = engine.window, engine.joined, engine.result.min_normal_exponent
    assert window is not None and joined is not None
    halves = [half for half in (products[::2], products[1::2]) if _largest(half, None) is not None]
    tops = [_largest(half, None) or 0 for half in halves]
    cuts = [
        _Cut(term.value.value, top - window, Truncation.ZERO)
        for half, top in zip(halves, tops, strict=True)
        for term in half
    ]
    sums = [
        sum((_cut(t.value.value, top - window, Truncation.ZERO) for t in half), Fraction(0))
        for half, top in zip(halves, tops, strict=True)
    ]
    join = [_Cut(s, max(tops) - window, Truncation.FLOOR) for s in sums]
    exponent_c = c.exponent if c.value.kind is not Kind.ZERO else lowest
    top = max([*tops, exponent_c])
    last = [_Cut(sum((cut.kept for cut in join), Fraction(0)), top - (joined + 1), Truncation.FLOOR)]
    addend = _Cut(c.value.value, top - window, Truncation.FLOOR)
    far = exponent_c < top - window - 1
    summed = last[0].kept + (0 if far else addend.kept)
    if summed != 0:
        last.append(_Cut(summed, max(floor_log2(abs(summed)), lowest) - joined, Truncation.FLOOR))
        summed = last[-1].kept
    dropped = any(cut.dropped for cut in (*cuts, *join, *last)) or (c.value.value != 0 if far else addend.dropped)
    return summed, dropped


# --- whole sums -----------------------------------------------------------------------------------------------------


def product_terms(engine: Engine, a: Sequence[int], b: Sequence[int], format_a: Format, format_b: Format) -> list[Term]:
    """The exact products of two vectors of codes."""
    return [_product_term(engine, x, y, format_a, format_b) for x, y in zip(a, b, strict=True)]


def _product_term(engine: Engine, code_a: int, code_b: int, format_a: Format, format_b: Format) -> Term:
    a, b = decode(code_a, format_a), decode(code_b, format_b)
    if engine.zero_bypass and any(
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
    """A code as an addend."""
    x = decode(code, fmt)
    return Term(x, _exponent(x, fmt) if x.kind is Kind.FINITE else 0, x.kind is Kind.NAN)


def _scaled(term: Term, exponent: int) -> Term:
    value = replace(term.value, magnitude=term.value.magnitude * pow2(exponent))
    return Term(value, term.exponent + exponent, term.quiet)


def dot(
    engine: Engine,
    products: Sequence[Term],
    c: Term,
    scales: Sequence[int] | None = None,
    bits: Iterator[RandomBits] | None = None,
) -> tuple[int, Flags]:
    """Code and OR-ed flags of c + sum of products, in steps and chunks; `scales`: one exponent for each product."""
    if engine.whole or (engine.scaling is Scaling.PRODUCTS and scales is not None):
        products = [_scaled(term, e) for term, e in zip(products, scales or [0] * len(products), strict=True)]
    if engine.whole:
        return _fused_step(engine, products, c, next(bits) if bits else None)
    joins = engine.chunk is not None or (engine.scaling is Scaling.SUMS and scales is not None)
    if not joins:
        return _steps(engine, products, c, bits)
    at_sums = scales if engine.scaling is Scaling.SUMS else None
    return _chunks(engine, products, c, at_sums, bits)


def _steps(engine: Engine, products: Sequence[Term], c: Term, bits: Iterator[RandomBits] | None) -> tuple[int, Flags]:
    """The steps of one chunk."""
    take_step = _fused_step if engine.window is None else windowed_step
    flags = Flags(0)
    code, _ = _rounded(engine.result, Rounding.RTZ, [c])
    for start in range(0, len(products), engine.products):
        group = products[start : start + engine.products]
        code, raised = take_step(engine, group, c, next(bits) if bits else None)
        flags |= raised
        c = code_term(code, engine.result)
    return code, flags


def _fused_step(engine: Engine, products: Sequence[Term], c: Term, bits: RandomBits | None) -> tuple[int, Flags]:
    return _rounded(engine.result, engine.rounding, [*products, c], bits, engine.overflow)


def _dealt(engine: Engine, products: Sequence[Term]) -> list[Term]:
    """A chunk's products in the order in which its steps take them; +0 for those that it lacks."""
    if engine.interleave is None:
        return list(products)
    assert engine.chunk is not None
    run, count = engine.interleave, engine.chunk // engine.products
    whole = [*products, *[ZERO] * (engine.chunk - len(products))]
    return [term for turn in range(count) for k, term in enumerate(whole) if k // run % count == turn]


def _chunks(
    engine: Engine,
    products: Sequence[Term],
    c: Term,
    scales: Sequence[int] | None,
    bits: Iterator[RandomBits] | None,
) -> tuple[int, Flags]:
    """Sums of chunks, each from +0, added to the total that starts with C."""
    length = engine.chunk or max(len(products), 1)
    flags = Flags(0)
    code, _ = _rounded(engine.output, Rounding.RTZ, [c])
    for start in range(0, len(products), length):
        part, raised = _steps(engine, _dealt(engine, products[start : start + length]), ZERO, bits)
        summed = _scaled(code_term(part, engine.result), scales[start] if scales else 0)
        own_bits = next(bits) if bits else None
        code, joined = _rounded(engine.output, engine.output_rounding, [summed, c], own_bits, engine.overflow)
        flags |= raised | joined
        c = code_term(code, engine.output)
    return code, flags
