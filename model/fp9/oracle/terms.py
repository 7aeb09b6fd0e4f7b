"""Exact products, addends and sums for the slow exact reference (oracle), and rounding of the sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.engines import Engine
from fp9.formats import Kind, Rounding, pow2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags
from fp9.oracle.casts import Exact, RandomBits, encode, exact


@dataclass(frozen=True, slots=True)
class Term:
    """Product or addend of a sum."""

    value: Exact
    exponent: int = 0  # for alignment
    quiet: bool = False  # whether an operand was NaN: a NaN result then does not raise `INVALID`


ZERO = Term(exact(0))


def product(a: Exact, b: Exact) -> Exact:
    negative = a.negative != b.negative
    if Kind.NAN in (a.kind, b.kind) or {a.kind, b.kind} == {Kind.INF, Kind.ZERO}:
        return Exact(Kind.NAN)
    if Kind.INF in (a.kind, b.kind):
        return Exact(Kind.INF, negative)
    if Kind.ZERO in (a.kind, b.kind):
        return Exact(Kind.ZERO, negative)
    return Exact(Kind.FINITE, negative, a.magnitude * b.magnitude)


def total(terms: Sequence[Exact], rounding: Rounding) -> Exact:
    """Return the exact sum of terms, with the signs of zero that IEEE 754 defines."""
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


def rounded(engine: Engine, terms: Sequence[Term], bits: RandomBits | None = None) -> tuple[int, Flags]:
    result = engine.result.format
    summed = total([term.value for term in terms], engine.result.rounding)
    if summed.kind is Kind.NAN:
        quiet = any(term.quiet for term in terms)
        return _nan(engine, quiet), Flags(0) if quiet else Flags.INVALID
    if summed.kind is Kind.INF:
        code = result.inf_code(summed.negative)
        return (_nan(engine, True), Flags(0)) if code is None else (code, Flags(0))
    code, flags = flushed(
        engine, *encode(summed, result, CastPolicy(engine.result.rounding, engine.result.overflow), bits)
    )
    return (_nan(engine, True) if result.kind_of(code) is Kind.NAN else code), flags


def flushed(engine: Engine, code: int, flags: Flags) -> tuple[int, Flags]:
    result = engine.result.format
    subnormal = result.kind_of(code) is Kind.FINITE and abs(result.value_of(code)) < pow2(result.min_normal_exponent)
    if not engine.result.flush or not (subnormal or flags & Flags.UNDERFLOW):
        return code, flags
    return result.code_of(Fraction(0), result.is_negative(code)), Flags.UNDERFLOW | Flags.INEXACT


def as_addend(engine: Engine, term: Term) -> Term:
    subnormal = term.value.kind is Kind.FINITE and term.value.magnitude < pow2(engine.output.min_normal_exponent)
    return Term(exact(0, term.value.negative)) if engine.result.flush_addend and subnormal else term


def _nan(engine: Engine, quiet: bool) -> int:
    own = engine.result.format.nan_code(False) if engine.nan.code is None else engine.nan.code
    code = own if quiet or engine.nan.invalid_code is None else engine.nan.invalid_code
    assert code is not None, "an engine's result format has a NaN"
    return code
