"""The corner suite: systematic operations of a unit by its kind."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from fp9.formats import Rounding
from fp9.policy import Overflow
from fp9.stimulus.casts import cast_corner
from fp9.stimulus.chunks import chunk_corner
from fp9.stimulus.columns import Inputs, concatenated, drawn_port, every_value, fixed, table_columns
from fp9.stimulus.exact import exact_corner, kulisch_corner
from fp9.stimulus.sums import OPERATIONS, sum_corner
from fp9.stimulus.wide import wide_corner
from fp9.units import Cast, Decoder, Dot, Fpu, FpuOp, Mac, MacOp, Unit, Upcast


@functools.singledispatch
def corner(unit: Unit, rng: np.random.Generator) -> Inputs:
    """Columns of the corner suite, shape (n,) each. Raises ValueError for a kind of unit that has none."""
    raise ValueError(f"there is no corner suite for units of kind {unit.kind}; use random")


@corner.register(Decoder)
@corner.register(Upcast)
def _(unit: Decoder | Upcast, rng: np.random.Generator) -> Inputs:
    """Every code under every format select and every bias."""
    return table_columns(unit, list(itertools.product(*(every_value(port) for port in unit.inputs))))


corner.register(Cast, cast_corner)


@corner.register
def _(unit: Dot, rng: np.random.Generator) -> Inputs:
    """The sums' corners; where several products are summed exactly, those of `exact` as well."""
    several = unit.engine.window is None and unit.engine.products > 1
    return concatenated([sum_corner(unit, rng), *([exact_corner(unit, rng)] if several else [])])


@corner.register
def _(unit: Mac, rng: np.random.Generator) -> Inputs:
    """The sums' corners in pairs: as LOAD, with a drawn operation on what it left behind; and its addend as LOAD of
    zeros, with the products as ACCUMULATE. Then operations in every order. With chunks, as `chunks` says, and for a
    Kulisch accumulator, as `exact`."""
    if unit.engine.whole:
        return kulisch_corner(unit, rng)
    if unit.chunk_steps:
        return chunk_corner(unit, sum_corner(unit, rng, 1 / 3), rng)
    step = sum_corner(unit, rng, 1 / 2)
    count = len(step["c"])
    drawn = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    loads: Inputs = {"op": np.full(count, MacOp.LOAD), **step}
    accumulates: Inputs = loads | {"op": np.full(count, MacOp.ACCUMULATE), "c": drawn["c"]}
    factors = {name for operand in ("a", "b") for name in unit.lane_names(operand)}
    zeros = {name: np.zeros_like(column) if name in factors else column for name, column in loads.items()}
    at_once = np.arange(count) % 2 == 0
    first, second = (
        {name: np.where(at_once, pair[0][name], pair[1][name]) for name in loads}
        for pair in ((loads, zeros), (drawn, accumulates))
    )
    pairs = {name: np.stack([first[name], second[name]], axis=1).reshape(-1) for name in loads}
    return concatenated([pairs, _every_pair(unit, step, rng)])


_EVERY_PAIR = 64
"""Times that every operation of an accumulator stands behind every other."""


def _every_pair(unit: Mac, step: Inputs, rng: np.random.Generator) -> Inputs:
    """Every operation behind every other, with operands drawn from the sums' corners."""
    pairs = np.array(list(itertools.product(unit.operations, repeat=2)) * _EVERY_PAIR, dtype=np.uint32).reshape(-1)
    rows = rng.integers(0, len(step["c"]), len(pairs))
    return {"op": pairs, **{name: column[rows] for name, column in step.items()}}


@corner.register
def _(unit: Fpu, rng: np.random.Generator) -> Inputs:
    """The sums' corners of two 8-bit products and of a 16-bit one, the casts' corners both ways; the rest is drawn."""
    pair = Dot(unit.name, unit.a, unit.b, unit.engine)
    parts = [(FpuOp.FMMA, _packed(sum_corner(pair, rng, 1 / 2)))]
    wide = fixed(unit.engine.result)
    parts.append((FpuOp.FMA, dict(zip("abc", wide_corner(wide, OPERATIONS // 2, rng), strict=True))))
    if unit.casts:
        codes = np.array(list(itertools.product(range(2), range(256))))
        parts.append((FpuOp.UPCAST, {"a_format": codes[:, 0], "a": codes[:, 1] | rng.integers(0, 256, 512) << 8}))
        cast = Cast(unit.name, wide, unit.a, (Rounding.RNE,), (Overflow.SATURATE,))
        down = cast_corner(cast, rng)
        parts.append((FpuOp.DOWNCAST, {"c": down["x"], "a_format": down.get("target", np.zeros(len(down["x"])))}))
    return concatenated([_operation(unit, op, columns, rng) for op, columns in parts])


def _packed(lanes: Inputs) -> Inputs:
    """Two 8-bit operands in the halves of a 16-bit one."""
    both = {name: lanes[f"{name}0"] | lanes[f"{name}1"] << 8 for name in ("a", "b")}
    return both | {name: column for name, column in lanes.items() if name[0] not in "ab" or name.endswith("_format")}


def _operation(unit: Fpu, op: FpuOp, columns: Inputs, rng: np.random.Generator) -> Inputs:
    """All ports of operations of one kind; what they do not read is drawn."""
    count = len(next(iter(columns.values())))
    ports = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    return ports | {name: column for name, column in columns.items() if name in ports} | {"op": np.full(count, op)}
