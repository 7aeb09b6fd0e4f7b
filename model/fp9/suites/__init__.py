"""Inputs for a unit's golden vectors: smoke, corner, random and full suites, made from the unit spec alone.

* `corner` is systematic, after the coverage models of floating-point verification (IBM FPgen): modules `casts`, `sums`
  and `codes`, one for each kind of unit.
* `smoke` are some hundreds of the corner operations, chosen so that every class of operation is met: module `smoke`.
* `random` are drawn operations, half of the sums where product and addend meet.
* `full` is every input where there are few enough (`FULL_LIMIT`), else corner and random together.
"""

from __future__ import annotations

import functools

import numpy as np

from fp9.suites.accumulators.chunk_ends import random_chunks
from fp9.suites.columns import Inputs, concatenated, drawn_port, every_value
from fp9.suites.corner import corner
from fp9.suites.multi_fpus import multi_random
from fp9.suites.quantisers.quantiser_corner import quantiser_random
from fp9.suites.smoke import smoke
from fp9.suites.sums.exact import finite_factors, random_kulisch
from fp9.suites.sums.scale_columns import drawn_scales, with_scales
from fp9.suites.sums.sum_corner import near_product
from fp9.units import Dot, Mac, MultiFpu, Quantiser, Unit
from fp9.units.hooks import Hook

SUITES = ("smoke", "corner", "random", "full")
RANDOM_COUNT = 10_000
FULL_RANDOM_COUNT = 100_000
_SPECIAL = 0.125
"""Share of the exact sums of several products in which special operands may occur."""
FULL_LIMIT = 1 << 20
"""Most operations of a suite that takes every input."""
DRAWN_BITS = 1 << 30
"""Bits of ports that a suite may draw: it is held in memory several times over while its results are computed."""


def inputs_of(unit: Unit, suite: str, count: int | None, seed: int) -> Inputs:
    """Columns of a suite, shape (n,) each; the same arguments give the same columns.

    `count` is the number of random operations; the other suites have the size that their classes have.
    Raises ValueError for an unknown suite, a count below 1 or beyond `most_drawn`, and a count for a suite that takes
    none.
    """
    if suite not in SUITES:
        raise ValueError(f"unknown suite {suite!r}; choose one of {', '.join(SUITES)}")
    if count is not None and (count < 1 or suite in ("smoke", "corner")):
        raise ValueError(f"count {count} given for suite {suite}; give 1 or more, for random or full")
    if count is not None and count > most_drawn(unit):
        raise ValueError(f"count {count:,} given; give at most {most_drawn(unit):,} operations of {unit.name}")
    rng = np.random.default_rng(seed)
    match suite:
        case "corner":
            return corner(unit, rng)
        case "smoke":
            return dict(_smoke(unit, seed))
        case "random":
            return random(unit, count or RANDOM_COUNT, rng)
        case _:
            return full(unit, count or FULL_RANDOM_COUNT, rng)


def most_drawn(unit: Unit) -> int:
    """Random operations of a unit that fit a suite; more are for a sweep, which keeps none of them."""
    return DRAWN_BITS // sum(port.width for port in (*unit.inputs, *unit.outputs))


@functools.lru_cache(maxsize=64)  # a second of choosing for some kilobytes
def _smoke(unit: Unit, seed: int) -> Inputs:
    return smoke(unit, corner(unit, np.random.default_rng(seed)))


def _uniform(unit: Unit, count: int, rng: np.random.Generator) -> Inputs:
    """Uniform bits on every port."""
    return {port.name: drawn_port(port, count, rng) for port in unit.inputs}


def _random_sums(unit: Dot, count: int, rng: np.random.Generator) -> Inputs:
    """Uniform bits; half of an addend's exponents are near the product's, where the sum is decided.

    Of exact sums of several products, seven in eight have no special operand.
    """
    columns = _uniform(unit, count, rng)
    if unit.engine.window is None and unit.products > 1:
        columns |= finite_factors(unit, count, rng)
        special = rng.random(count) < _SPECIAL
        for lane in unit.lane_names("a"):
            columns[lane] = np.where(special, drawn_port(unit.inputs[0], count, rng), columns[lane])
    else:
        columns |= drawn_scales(unit, count, rng)
    near = rng.random(count) < 0.5
    columns["c"] = np.where(near, with_scales(unit, columns, near_product(unit, columns, rng)), columns["c"])
    return columns


def _random_accumulations(unit: Mac, count: int, rng: np.random.Generator) -> Inputs:
    """Sums as of a dot product, three in four of them added to the accumulator; with chunks as `random_chunks` says, in
    a fixed-point register as `random_kulisch` says."""
    if unit.engine.exact:
        return random_kulisch(unit, count, rng)
    if unit.chunk_steps:
        return random_chunks(unit, count, rng)
    columns = _random_sums(unit, count, rng)
    columns["op"] = rng.choice(len(unit.operations), count, p=(0.75, 0.15, 0.05, 0.05)).astype(np.uint8)
    return columns


random: Hook[[int, np.random.Generator], Inputs] = Hook(
    "random suite",
    {Dot: _random_sums, Mac: _random_accumulations, Quantiser: quantiser_random, MultiFpu: multi_random},
    otherwise=_uniform,
)
"""Columns of so many random operations, shape (n,) each."""


def full(unit: Unit, count: int, rng: np.random.Generator) -> Inputs:
    """Every input of a unit without state that has at most `FULL_LIMIT`; else corner and `count` random operations."""
    bits = sum(port.width for port in unit.inputs)
    if unit.has_state or 1 << bits > FULL_LIMIT:
        return concatenated([corner(unit, rng), random(unit, count, rng)])
    values = [every_value(port) for port in unit.inputs]
    table = np.array(np.meshgrid(*values, indexing="ij"), dtype=np.uint32).reshape(len(values), -1)
    return {port.name: table[i] for i, port in enumerate(unit.inputs)}


__all__ = ["SUITES", "corner", "full", "inputs_of", "random", "smoke"]
