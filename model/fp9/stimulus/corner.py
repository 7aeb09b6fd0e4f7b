"""The corner suite: systematic operations of a unit by its kind."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from fp9.stimulus.casts import cast_corner
from fp9.stimulus.chunks import chunk_corner
from fp9.stimulus.columns import Inputs, concatenated, drawn_port, every_value, fixed, table_columns, walking_codes
from fp9.stimulus.sums import sum_corner
from fp9.units import Cast, Decoder, Dot, Fpu, Mac, MacOp, Unit, Upcast


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
corner.register(Dot, sum_corner)


@corner.register
def _(unit: Mac, rng: np.random.Generator) -> Inputs:
    """The sums' corners as LOAD, each followed by a drawn operation on what it left behind; with chunks, as `chunks`
    says."""
    step = sum_corner(unit, rng)
    if unit.chunk_steps:
        return chunk_corner(unit, step, rng)
    count = len(step["c"])
    columns: Inputs = {"op": np.full(count, MacOp.LOAD, dtype=np.uint8), **step}
    following = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    return {name: np.stack([columns[name], following[name]], axis=1).reshape(-1) for name in columns}


@corner.register
def _(unit: Fpu, rng: np.random.Generator) -> Inputs:
    """Walking 16-bit operands in every position under every operation, the other ports drawn."""
    codes = walking_codes(fixed(unit.engine.result))
    parts = []
    for operation, moved in itertools.product(range(len(unit.operations)), ("a", "b", "c")):
        part = {port.name: drawn_port(port, len(codes), rng) for port in unit.inputs}
        parts.append(part | {"op": np.full(len(codes), operation), moved: codes})
    return concatenated(parts)
