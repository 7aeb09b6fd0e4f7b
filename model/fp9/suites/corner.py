"""The corner suite: systematic operations of a unit by its kind."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from fp9.formats import Rounding
from fp9.rounding import Overflow
from fp9.suites.accumulators import SPAN, class_corner, loaded, mac_corner
from fp9.suites.apart import apart_corner
from fp9.suites.behind import behind_corner
from fp9.suites.beyond import beyond_corner
from fp9.suites.casts import cast_corner
from fp9.suites.chunks import chunk_corner
from fp9.suites.columns import Inputs, classes, concatenated, drawn_port, every_value, fixed, table_columns
from fp9.suites.exact import exact_corner, kulisch_corner
from fp9.suites.far import far_corner
from fp9.suites.full import full_corner
from fp9.suites.gone import gone_corner
from fp9.suites.infinite import infinite_corner
from fp9.suites.left import left_corner
from fp9.suites.lost import lost_addend_corner, lost_corner, lost_sum_corner
from fp9.suites.low import low_corner
from fp9.suites.quantisers import quantiser_corner
from fp9.suites.reaching import reaching_corner
from fp9.suites.scaled import paired_corner, scaled_corner
from fp9.suites.steps import steps_corner
from fp9.suites.sums import OPERATIONS, sum_corner
from fp9.suites.wide import wide_corner
from fp9.units import Cast, Decoder, Dot, Fpu, FpuOp, Mac, Quantiser, Unit, Upcast

_SPECIAL = 1 / 16
"""Share of what operations do not read that is zero, infinity, NaN or an end of the numbers of 16 bits."""


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
corner.register(Quantiser, quantiser_corner)


@corner.register
def _(unit: Dot, rng: np.random.Generator) -> Inputs:
    """The sums' corners and those of several products; what is `beyond` the largest result, `behind` what a step keeps,
    beside the `infinite`; pairs of scales; what is `lost` below a window; what is `left` of large products; what is
    `gone` but for a flag, and what is `reaching` the normal numbers; then those of `_LATER`."""
    parts = [sum_corner(unit, rng), *_of_families((_several_corner, *_FURTHER), unit, rng)]
    return concatenated([*parts, *_of_families(_LATER, unit, rng.spawn(1)[0])])


def _of_families(
    families: Iterable[Callable[[Any, np.random.Generator], Iterator[Inputs]]], unit: Dot, rng: np.random.Generator
) -> Iterator[Inputs]:
    return (columns for family in families for columns in family(unit, rng))


def _several_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    """Where several products are summed exactly, the operations of `exact`; where scales multiply them, of `scaled`."""
    if unit.products > 1 and unit.engine.window is None:
        yield exact_corner(unit, rng)
    if unit.products > 1 and unit.scale is not None:
        yield scaled_corner(unit, rng)


_FURTHER = (
    beyond_corner,
    behind_corner,
    infinite_corner,
    paired_corner,
    lost_corner,
    lost_addend_corner,
    lost_sum_corner,
    left_corner,
    gone_corner,
    reaching_corner,
)
"""Families of the dot products whose engines call for them."""

_LATER = full_corner, steps_corner, low_corner, apart_corner
"""Further ones, which stand behind all others and draw apart from them, so that these stay what they are."""

_LATER_OF_ACCUMULATORS = full_corner, class_corner
"""The same of accumulators without chunks."""


@corner.register
def _(unit: Mac, rng: np.random.Generator) -> Inputs:
    """Sequences around the sums' corners, those of several products, pairs of scales, what is `far`, and what is
    `reaching` the normal numbers, then those of `_LATER_OF_ACCUMULATORS`; with chunks as `chunks` says, and for a
    Kulisch accumulator as `exact`."""
    if unit.engine.whole:
        return kulisch_corner(unit, rng)
    if unit.chunk_steps:
        return chunk_corner(unit, sum_corner(unit, rng, 1 / 3 if unit.products == 1 else 1 / 6), rng)
    step = sum_corner(unit, rng, 1 / SPAN)
    families = (_several_corner, paired_corner, far_corner, reaching_corner)
    further = (_shuffled(part, rng) for part in _of_families(families, unit, rng))
    sequences = mac_corner(unit, concatenated([step, *further]), rng)
    later = _of_families(_LATER_OF_ACCUMULATORS, unit, rng.spawn(1)[0])
    return concatenated([sequences, *(loaded(unit, part) for part in later)])


def _shuffled(columns: Inputs, rng: np.random.Generator) -> Inputs:
    """The operations in a drawn order, so that what a family does in turn meets all that their places decide."""
    order = rng.permutation(len(columns["c"]))
    return {name: column[order] for name, column in columns.items()}


@corner.register
def _(unit: Fpu, rng: np.random.Generator) -> Inputs:
    """The sums' corners of two 8-bit products and of a 16-bit one, the casts' corners both ways; the rest is drawn."""
    pair = Dot(unit.name, unit.a, unit.b, unit.engine)
    parts = [(FpuOp.FMMA, _packed(sum_corner(pair, rng)))]
    wide = fixed(unit.engine.result)
    parts.append((FpuOp.FMA, dict(zip("abc", wide_corner(wide, 2 * OPERATIONS, rng), strict=True))))
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
    """All ports of operations of one kind; what they do not read is drawn, some of it a special operand of others."""
    count = len(next(iter(columns.values())))
    ports = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    for name in "abc":
        special = rng.choice(classes(unit.engine.result), count).astype(np.uint32)
        ports[name] = np.where(rng.random(count) < _SPECIAL, special, ports[name])
    return ports | {name: column for name, column in columns.items() if name in ports} | {"op": np.full(count, op)}
