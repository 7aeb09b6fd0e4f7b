"""Test inputs of a unit: the smoke, corner, random and full suites.

Every suite is derived from the unit's specification alone.

* The suite `corner` is systematic: it follows the coverage models of floating-point verification (IBM FPgen).
* The suite `smoke` selects a few hundred operations of the corner suite, from every class of operation.
* The suite `random` holds random operations. In half of the random operations, product and addend have close exponents.
* For a stateless unit with at most 20 input bits, the suite `full` holds every input combination. If a unit has state
  or more than 20 input bits, the suite `full` holds the corner suite and random operations.
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
# Share of operations that may have special operands, in exact sums of several products.
_SPECIAL = 0.125
FULL_LIMIT = 1 << 20
"""Maximum number of operations of an exhaustive suite."""
DRAWN_BITS = 1 << 30
"""Maximum number of random input bits in a suite, which bounds the memory for results."""


def inputs_of(unit: Unit, suite: str, count: int | None, seed: int) -> Inputs:
    """Return the input columns of a test suite, each of shape (n,).

    Equal arguments give equal columns. `count` is the number of random operations. Raises ValueError if the suite is
    unknown, if `count` is not in 1..`most_drawn(unit)`, or if `count` is given for the smoke or corner suite.
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
    return DRAWN_BITS // sum(port.width for port in (*unit.inputs, *unit.outputs))


@functools.lru_cache(maxsize=256)  # more than the catalogue; a choice takes a second, and its result some kilobytes
def _smoke(unit: Unit, seed: int) -> Inputs:
    return smoke(unit, corner(unit, np.random.default_rng(seed)))


def _uniform(unit: Unit, count: int, rng: np.random.Generator) -> Inputs:
    return {port.name: drawn_port(port, count, rng) for port in unit.inputs}


def _random_sums(unit: Dot, count: int, rng: np.random.Generator) -> Inputs:
    # In exact sums of several products, most operations have finite factors, because one special product decides the
    # result.
    columns = _uniform(unit, count, rng)
    if unit.engine.window.width is None and unit.products > 1:
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
    if unit.engine.step.exact:
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


def full(unit: Unit, count: int, rng: np.random.Generator) -> Inputs:
    """Return all input combinations of a stateless unit with few input bits.

    For a unit with state or with many input bits, return the corner suite and `count` random operations.
    """
    bits = sum(port.width for port in unit.inputs)
    if unit.has_state or 1 << bits > FULL_LIMIT:
        return concatenated([corner(unit, rng), random(unit, count, rng)])
    values = [every_value(port) for port in unit.inputs]
    table = np.array(np.meshgrid(*values, indexing="ij"), dtype=np.uint32).reshape(len(values), -1)
    return {port.name: table[i] for i, port in enumerate(unit.inputs)}


__all__ = ["SUITES", "corner", "full", "inputs_of", "random", "smoke"]
