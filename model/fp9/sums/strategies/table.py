"""The table of strategies for matrix products, in order of preference."""

from __future__ import annotations

from typing import NamedTuple

from fp9.engines import Engine
from fp9.sums.sides import Side
from fp9.sums.strategies.aligned_tiles import Aligned, AlignedNarrow
from fp9.sums.strategies.base import FastSums
from fp9.sums.strategies.chain import Chain
from fp9.sums.strategies.choice import first_fitting
from fp9.sums.strategies.exact import Exact
from fp9.sums.strategies.grouped_tiles import GroupedTiles
from fp9.sums.strategies.interleaved_tiles import Interleaved
from fp9.sums.strategies.rounded_chain import RoundedChain
from fp9.sums.strategies.rounded_pairs import RoundedPairs
from fp9.sums.strategies.rounded_tiles import Rounded, RoundedNarrow
from fp9.sums.strategies.tiled import Tiled
from fp9.sums.strategies.windowed import Windowed


class Strategy(NamedTuple):
    """A way to sum matrix products, in a sentence, and its conditions, which `fits` and `takes` of `sums` check."""

    sums: type[FastSums]
    what: str
    conditions: str


STRATEGIES = (
    Strategy(
        Chain,
        "The additions of float32 are those of the engine.",
        "one product a step, FP32 to nearest even, products exact in float32",
    ),
    Strategy(
        RoundedNarrow,
        "Register tiles of float32; sums that meet an edge are computed once more.",
        "one product a step, a result of at most 11 bits, to nearest",
    ),
    Strategy(
        Rounded,
        "Register tiles of float64, which holds the exact sum of a step.",
        "exact steps, to nearest, most numbers multiples of a power of two of which float64 holds the sums",
    ),
    Strategy(
        AlignedNarrow,
        "Register tiles of float32 that align products by one fused multiply-add.",
        "a window with the addend in it, truncated toward zero, whose sums float32 holds",
    ),
    Strategy(
        Aligned,
        "Register tiles of float64 that align products by one fused multiply-add.",
        "a window with the addend in it, truncated toward zero, whose sums float64 holds",
    ),
    Strategy(
        Interleaved,
        "Register tiles of float64 that sum even and odd products apart.",
        "a window whose even and odd products are interleaved",
    ),
    Strategy(
        GroupedTiles,
        "Register tiles sum the integers of each group; a loop over columns aligns the groups.",
        "groups of products whose sums float32 holds, with finite scales, truncated toward zero",
    ),
    Strategy(
        RoundedChain,
        "Sums of float32, rounded after each product.",
        "one product a step, a result of at most 11 bits, not toward zero",
    ),
    Strategy(
        RoundedPairs,
        "Sums of float64 rounded to odd, then to the result, after each step.",
        "exact steps of one or two products",
    ),
    Strategy(
        Windowed,
        "Products aligned in float64, one step after the other.",
        "a window without groups, no number below the exponent of zero",
    ),
    Strategy(
        Exact,
        "Products summed as parts that float64 holds exactly, and rounded once.",
        "an engine that sums all of K exactly",
    ),
)
"""Every strategy; the general kernel, for all engines and options, takes what none of them does."""

_ORDER = tuple(strategy.sums for strategy in STRATEGIES)
Tiled.fallbacks = tuple(sums for sums in _ORDER if not issubclass(sums, Tiled))


def fast_sums(engine: Engine, a: Side, b: Side, joins: bool, flags: bool = False) -> FastSums | None:
    """The first strategy that fits, and has flags where they are asked for; None where only the general kernel does."""
    return first_fitting(_ORDER, engine, a, b, joins, flags)
