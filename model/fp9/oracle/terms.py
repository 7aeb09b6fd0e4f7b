"""The oracle's products and addends, their exact sums, and the one rounding of a sum (docs/numerics.md, sums)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import Format, Kind, Rounding
from fp9.oracle.casts import Exact, RandomBits, encode, exact
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


def rounded(
    result: Format,
    rounding: Rounding,
    terms: Sequence[Term],
    bits: RandomBits | None = None,
    overflow: Overflow = Overflow.INF,
) -> tuple[int, Flags]:
    """Code and flags of the exact sum of terms, with one rounding; NaN is the result's own, without a sign."""
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
