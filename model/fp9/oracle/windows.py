"""Slow exact reference for accumulation steps that truncate terms (arXiv 2511.10909).

A step aligns all terms to the largest exponent, truncates them to the window, adds them, and rounds once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.engines import Addend, Engine, Truncation
from fp9.formats import Kind, floor_log2, pow2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags
from fp9.oracle.casts import RandomBits, encode, exact
from fp9.oracle.terms import Term, flushed, rounded


def windowed_step(
    engine: Engine, products: Sequence[Term], c: Term, bits: RandomBits | None = None
) -> tuple[int, Flags]:
    # A 1 bit that alignment or rounding drops raises `INEXACT`.
    if any(term.value.kind in (Kind.NAN, Kind.INF) for term in (*products, c)):
        return rounded(engine, [*products, c], bits)
    summed, dropped = (
        _joined(engine, products, c) if engine.window.interleaved is not None else _aligned(engine, products, c)
    )
    policy = CastPolicy(engine.result.rounding, engine.result.overflow)
    code, flags = flushed(engine, *encode(exact(summed), engine.result.format, policy, bits))
    if engine.result.format.kind_of(code) is Kind.ZERO:
        code = engine.result.format.code_of(Fraction(0))  # an aligned sum is an integer, whose zero has no sign
    if not dropped:
        return code, flags
    tiny = 0 < abs(summed) < pow2(engine.result.format.min_normal_exponent)
    return code, flags | Flags.INEXACT | (Flags.UNDERFLOW if tiny and not flags else Flags(0))


def _cut(value: Fraction, quantum: int, truncation: Truncation) -> Fraction:
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
    exponents = [term.exponent for term in terms if term.value.kind is not Kind.ZERO]
    if zero_exponent is not None and len(exponents) < len(terms):
        exponents.append(zero_exponent)
    return max(exponents, default=None)


def window_top(engine: Engine, products: Sequence[Term], c: Term) -> int | None:
    """Return the largest exponent of a step's aligned terms, or `zero_exponent` if all of these terms are zero."""
    return _largest([*products, c] if engine.window.addend is Addend.INSIDE else products, engine.window.zero_exponent)


def _aligned(engine: Engine, products: Sequence[Term], c: Term) -> tuple[Fraction, bool]:
    """Return the sum of a step's terms after truncation, and whether the truncation changed any term."""
    # MMA-Sim calls this algorithm T-FDPA.
    assert engine.window.width is not None
    largest = window_top(engine, products, c)
    terms = [term.value.value for term in products] + [c.value.value]
    if largest is None:
        return sum(terms, Fraction(0)), False
    kept = kept_terms(engine, products, c)
    return sum(kept, Fraction(0)), kept != terms


def kept_terms(engine: Engine, products: Sequence[Term], c: Term) -> list[Fraction]:
    """Return a step's truncated products, followed by the addend."""
    top = window_top(engine, products, c)
    assert engine.window.width is not None and top is not None
    kept = [_cut(term.value.value, top - engine.window.width, engine.window.truncation) for term in products]
    addend = c.value.value
    whole = engine.window.addend is Addend.OUTSIDE
    return [*kept, addend if whole else _cut(addend, top - engine.window.width, engine.window.truncation)]


def _joined(engine: Engine, products: Sequence[Term], c: Term) -> tuple[Fraction, bool]:
    """Return the sum of an accumulation step of CDNA3 GPUs, and whether truncation changed a term or a sum."""
    # MMA-Sim calls this algorithm GTR-FDPA.
    window, joined, lowest = engine.window.width, engine.window.interleaved, engine.result.format.min_normal_exponent
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
