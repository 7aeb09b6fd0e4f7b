"""Corner-case sequences of two operations, for accumulators without chunks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats import Format
from fp9.suites.columns import Inputs, classes, concatenated, drawn_port, finite, fixed
from fp9.suites.sums.product_and_addend import crossed
from fp9.suites.sums.scale_columns import drawn_scales, scales_of_one, with_scales
from fp9.suites.sums.sum_corner import near_product, operand_pairs, ports
from fp9.units import Mac, MacOp

SPAN = 2
"""Number of operations in a sequence."""

_EVERY_PAIR = 64

_SUCCESSIONS = 0.15


def mac_corner(unit: Mac, step: Inputs, rng: np.random.Generator) -> Inputs:
    count = len(step["c"])
    drawn = {port.name: drawn_port(port, count, rng) for port in unit.inputs} | drawn_scales(unit, count, rng)
    loads: Inputs = {"op": np.full(count, MacOp.LOAD), **step}
    accumulates: Inputs = loads | {"op": np.full(count, MacOp.ACCUMULATE), "c": drawn["c"]}
    # Half of the pairs load the product and the addend at once. The others load the addend, and then accumulate the
    # product.
    at_once = np.arange(count) % SPAN == 0
    sequences = _sequences(
        *(
            {name: np.where(at_once, pair[0][name], pair[1][name]) for name in loads}
            for pair in ((loads, _zeros(unit, loads)), (drawn, accumulates))
        )
    )
    return concatenated([sequences, _successions(unit, int(_SUCCESSIONS * count), rng), _every_pair(unit, step, rng)])


def loaded(unit: Mac, step: Inputs) -> Inputs:
    """For each row of `step`, return a LOAD operation, followed by an ACCUMULATE operation whose products are zero.

    The ACCUMULATE operation must not change the sum that the LOAD operation computed.
    """
    loads: Inputs = {"op": np.full(len(step["c"]), MacOp.LOAD), **step}
    return _sequences(loads, _zeros(unit, loads) | {"op": np.full(len(step["c"]), MacOp.ACCUMULATE)})


def class_corner(unit: Mac, rng: np.random.Generator) -> Iterator[Inputs]:
    """Yield operations that combine all operand classes of the two factors and the addend."""
    if unit.products == 1:
        return
    a, b = max(operand_pairs(unit), key=lambda pair: sum(len(classes(operand.format)) for operand in pair))
    x, y, c = crossed(*(_magnitudes(fmt) for fmt in (a.format, b.format, unit.engine.output)))
    factors = np.zeros((2, len(c), unit.products), dtype=np.int64)
    rows, lane = np.arange(len(c)), rng.integers(0, unit.products, len(c))
    factors[:, rows, lane] = x | rng.choice([0, 1 << (a.format.bits - 1)], len(c)), y
    c = c | rng.choice([0, fixed(unit.engine.output).sign_mask], len(c)).astype(np.uint32)
    yield ports(unit, a, b, factors[0], factors[1], c) | scales_of_one(unit, len(c))


def _magnitudes(fmt: Format) -> NDArray[Any]:
    return np.array([code for code in classes(fmt) if code >> (fmt.bits - 1) == 0])


def _sequences(first: Inputs, second: Inputs) -> Inputs:
    return {name: np.stack([first[name], second[name]], axis=1).reshape(-1) for name in first}


def _zeros(unit: Mac, columns: Inputs) -> Inputs:
    # The zero products have the addend's sign, so that an addend of -0 stays -0.
    negative = (columns["c"].astype(np.int64) & fixed(unit.engine.output).sign_mask) != 0
    zeros = {name: np.zeros_like(columns[name]) for operand in "ab" for name in unit.lane_names(operand)}
    signs = np.where(negative, 1 << (unit.a[0].bits - 1), 0)
    zeros |= scales_of_one(unit, len(columns["c"]))
    return columns | zeros | {name: signs.astype(columns[name].dtype) for name in unit.lane_names("a")}


def _successions(unit: Mac, count: int, rng: np.random.Generator) -> Inputs:
    # Pairs of an ordinary product and a product of any operand class. In the second operation, one lane has factors of
    # any class, and all other lanes hold zeros of either sign.
    first, second = ({port.name: drawn_port(port, count, rng) for port in unit.inputs} for _ in range(2))
    first |= {lane: codes for operand in "ab" for lane, codes in _every_lane(unit, first, operand, finite, rng).items()}
    scales = drawn_scales(unit, count, rng)
    first, second = first | scales, second | scales
    near = with_scales(unit, first, near_product(unit, first, rng))
    first |= {"op": np.full(count, MacOp.LOAD), "c": np.where(rng.random(count) < 0.5, 0, near)}
    kind, lane = rng.integers(0, 4, count), rng.integers(0, unit.products, count)
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        others = _every_lane(unit, second, operand, finite, rng)
        special = _every_lane(unit, second, operand, _classes, rng)
        zero = (kind == "ab".index(operand)) | (kind == 2)
        for number, name in enumerate(unit.lane_names(operand)):
            sign = rng.integers(0, 2, count) << (formats[0].bits - 1)
            beside = others[name] if operand == "b" else sign
            second[name] = np.where(lane == number, np.where(zero, sign, special[name]), beside)
    op = rng.choice([MacOp.ACCUMULATE, MacOp.LOAD, MacOp.CLEAR, MacOp.HOLD], count, p=(0.45, 0.45, 0.05, 0.05))
    c = np.where(rng.random(count) < 0.5, near, rng.choice(classes(fixed(unit.engine.output)), count))
    return _sequences(first, second | {"op": op, "c": c.astype(np.uint32)})


def _every_pair(unit: Mac, step: Inputs, rng: np.random.Generator) -> Inputs:
    pairs = np.array(list(itertools.product(unit.operations, repeat=2)) * _EVERY_PAIR, dtype=np.uint32).reshape(-1)
    rows = rng.integers(0, len(step["c"]), len(pairs))
    columns = {"op": pairs, **{name: column[rows] for name, column in step.items()}}
    ordinary = np.arange(len(pairs)) >= len(pairs) // 8
    lanes = (lane for operand in "ab" for lane in unit.lane_names(operand))
    return columns | {lane: columns[lane] * ordinary.astype(np.uint32) for lane in lanes}


def _classes(fmt: Format) -> NDArray[Any]:
    return np.array(classes(fmt))


def _every_lane(unit: Mac, columns: Inputs, operand: str, codes: Any, rng: np.random.Generator) -> Inputs:
    formats = unit.a if operand == "a" else unit.b
    count = len(columns["op"])
    chosen = np.minimum(columns.get(f"{operand}_format", np.zeros(count, np.uint8)), len(formats) - 1)
    lanes = {}
    for name in unit.lane_names(operand):
        drawn = np.stack([rng.choice(codes(fmt), count) for fmt in formats])
        lanes[name] = drawn[chosen, np.arange(count)].astype(np.uint32)
    return lanes


__all__ = ["SPAN", "class_corner", "loaded", "mac_corner"]
