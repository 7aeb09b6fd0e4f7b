"""The choice of a strategy: the first that is right for an engine and two sides."""

from __future__ import annotations

import functools

from fp9.engines import Engine, Truncation
from fp9.sums.operands import Span
from fp9.sums.rounders import can_round, carries
from fp9.sums.sides import Side
from fp9.sums.strategies.base import (
    FastSums,
    depth_bits,
)


@functools.lru_cache(maxsize=1024)
def fitting(
    strategies: tuple[type[FastSums], ...], engine: Engine, a: Span, b: Span, joins: bool, depth_bits: int
) -> tuple[type[FastSums], ...]:
    """Those of some strategies that are right for an engine and ranges."""
    bypasses = engine.zero_bypass and (a.format.nan_is_inf or b.format.nan_is_inf)
    rounds = engine.exact or can_round(engine.result, engine.rounding)
    rounds_totals = not joins or can_round(engine.output, engine.output_rounding)
    special = engine.truncation is Truncation.JAM or not engine.ends_plainly
    if bypasses or special or not rounds or not rounds_totals:
        return ()
    return tuple(
        strategy
        for strategy in strategies
        if (engine.exact or carries(engine.result, strategy.carrier)) and strategy.fits(engine, a, b, depth_bits)
    )


def first_fitting(
    strategies: tuple[type[FastSums], ...], engine: Engine, a: Side, b: Side, joins: bool, flags: bool
) -> FastSums | None:
    """The first of some strategies that is right for an engine and two sides; with flags, if they are asked for."""
    bits = depth_bits(a.depth)
    for strategy in fitting(strategies, engine, a.span, b.span, joins, bits):
        if strategy.takes(engine, a, b, bits):
            made = strategy(engine, a, b, joins)
            if made.has_flags or not flags:
                return made
    return None
