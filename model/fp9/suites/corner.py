"""Corner suites: systematic stimulus for each kind of unit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from fp9.formats import Rounding
from fp9.formats.rounding import Overflow
from fp9.suites.accumulators.chunk_ends import chunk_corner
from fp9.suites.accumulators.sequences import SPAN, class_corner, loaded, mac_corner
from fp9.suites.casts.cast_corner import cast_corner
from fp9.suites.columns import Inputs, classes, concatenated, drawn_port, every_value, fixed, table_columns
from fp9.suites.multi_fpus import multi_corner
from fp9.suites.quantisers.quantiser_corner import quantiser_corner
from fp9.suites.rounded_products import product_corner
from fp9.suites.sums.alignment_loss import (
    alignment_loss_corner,
    alignment_loss_of_addend_corner,
    alignment_loss_of_sum_corner,
)
from fp9.suites.sums.bit_far_below_result import bit_far_below_corner
from fp9.suites.sums.cancellation_in_steps import cancellation_in_steps_corner
from fp9.suites.sums.cancelled_infinity import cancelled_infinity_corner
from fp9.suites.sums.carry_into_normal import carry_into_normal_corner
from fp9.suites.sums.carry_out import carry_out_corner
from fp9.suites.sums.exact import exact_corner, kulisch_corner
from fp9.suites.sums.loss_before_last_step import loss_before_last_step_corner
from fp9.suites.sums.overflowing_products import overflowing_products_corner
from fp9.suites.sums.residue_of_cancellation import residue_corner
from fp9.suites.sums.rounded_up_to_normal import rounded_up_to_normal_corner
from fp9.suites.sums.scaled import paired_corner, scaled_corner
from fp9.suites.sums.second_block_after_cancellation import second_block_corner
from fp9.suites.sums.sum_corner import OPERATIONS, sum_corner
from fp9.suites.sums.underflowed_chunk import underflowed_chunk_corner
from fp9.suites.sums.wide_product import wide_corner
from fp9.units import Cast, Decoder, Dot, Fpu, FpuOp, Mac, Mul, MultiFpu, Quantiser, Unit, Upcast
from fp9.units.hooks import Hook

# Share of unread operands that hold zero, infinity, NaN or an end of the 16-bit format's range.
_SPECIAL = 1 / 16


def _every_code(unit: Decoder | Upcast, rng: np.random.Generator) -> Inputs:
    return table_columns(unit, list(itertools.product(*(every_value(port) for port in unit.inputs))))


def _dot_corner(unit: Dot, rng: np.random.Generator) -> Inputs:
    return concatenated([sum_corner(unit, rng), *_of_families(DOT_FAMILIES, unit, rng)])


def _of_families(streams: Iterable[Iterable[Family]], unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    for number, families in enumerate(streams):
        stream = rng.spawn(1)[0] if number else rng
        for family in families:
            yield from family(unit, stream)


def _several_corner(unit: Dot, rng: np.random.Generator) -> Iterator[Inputs]:
    if unit.products > 1 and unit.engine.window.width is None:
        yield exact_corner(unit, rng)
    if unit.products > 1 and unit.scale is not None:
        yield scaled_corner(unit, rng)


# Yields nothing if the unit does not have the corner case.
Family = Callable[[Any, np.random.Generator], Iterator[Inputs]]

# The cases of a group share one stream of random numbers. Put a new case into a new group, so that the operations of
# existing cases stay the same.
DOT_FAMILIES: tuple[tuple[Family, ...], ...] = (
    (
        _several_corner,
        overflowing_products_corner,
        loss_before_last_step_corner,
        cancelled_infinity_corner,
        paired_corner,
        alignment_loss_corner,
        alignment_loss_of_addend_corner,
        alignment_loss_of_sum_corner,
        residue_corner,
        underflowed_chunk_corner,
        rounded_up_to_normal_corner,
    ),
    (carry_out_corner, cancellation_in_steps_corner, carry_into_normal_corner, second_block_corner),
)

# Corner cases in which each step adds to the previous total, for accumulators without chunks.
STEP_FAMILIES = _several_corner, paired_corner, bit_far_below_corner, rounded_up_to_normal_corner

# Corner cases that first load the addend, for accumulators without chunks.
LOADED_FAMILIES = carry_out_corner, class_corner


def _accumulator_corner(unit: Mac, rng: np.random.Generator) -> Inputs:
    if unit.engine.step.exact:
        return kulisch_corner(unit, rng)
    if unit.chunk_steps:
        return chunk_corner(unit, sum_corner(unit, rng, 1 / 3 if unit.products == 1 else 1 / 6), rng)
    step = sum_corner(unit, rng, 1 / SPAN)
    further = (_shuffled(part, rng) for part in _of_families((STEP_FAMILIES,), unit, rng))
    sequences = mac_corner(unit, concatenated([step, *further]), rng)
    loads = _of_families((LOADED_FAMILIES,), unit, rng.spawn(1)[0])
    return concatenated([sequences, *(loaded(unit, part) for part in loads)])


def _shuffled(columns: Inputs, rng: np.random.Generator) -> Inputs:
    order = rng.permutation(len(columns["c"]))
    return {name: column[order] for name, column in columns.items()}


def _fpu_corner(unit: Fpu, rng: np.random.Generator) -> Inputs:
    pair = Dot(unit.name, unit.a, unit.b, unit.engine)
    parts = [(FpuOp.FMMA, _packed(sum_corner(pair, rng)))]
    wide = fixed(unit.engine.result.format)
    parts.append((FpuOp.FMA, dict(zip("abc", wide_corner(wide, 2 * OPERATIONS, rng), strict=True))))
    if unit.casts:
        codes = np.array(list(itertools.product(range(2), range(256))))
        parts.append((FpuOp.UPCAST, {"a_format": codes[:, 0], "a": codes[:, 1] | rng.integers(0, 256, 512) << 8}))
        cast = Cast(unit.name, wide, unit.a, (Rounding.RNE,), (Overflow.SATURATE,))
        down = cast_corner(cast, rng)
        parts.append((FpuOp.DOWNCAST, {"c": down["x"], "a_format": down.get("target", np.zeros(len(down["x"])))}))
    return concatenated([_operation(unit, op, columns, rng) for op, columns in parts])


def _packed(lanes: Inputs) -> Inputs:
    both = {name: lanes[f"{name}0"] | lanes[f"{name}1"] << 8 for name in ("a", "b")}
    return both | {name: column for name, column in lanes.items() if name[0] not in "ab" or name.endswith("_format")}


def _operation(unit: Fpu, op: FpuOp, columns: Inputs, rng: np.random.Generator) -> Inputs:
    # Ports that the operation does not read hold random values, and sometimes special codes.
    count = len(next(iter(columns.values())))
    ports = {port.name: drawn_port(port, count, rng) for port in unit.inputs}
    for name in "abc":
        special = rng.choice(classes(unit.engine.result.format), count).astype(np.uint32)
        ports[name] = np.where(rng.random(count) < _SPECIAL, special, ports[name])
    return ports | {name: column for name, column in columns.items() if name in ports} | {"op": np.full(count, op)}


corner: Hook[[np.random.Generator], Inputs] = Hook(
    "corner suite",
    {
        Decoder: _every_code,
        Upcast: _every_code,
        Cast: cast_corner,
        Quantiser: quantiser_corner,
        Mul: product_corner,
        Dot: _dot_corner,
        Mac: _accumulator_corner,
        Fpu: _fpu_corner,
        MultiFpu: multi_corner,
    },
)
"""Return the columns of a unit's corner suite, each of shape (n,)."""


def is_complete(unit: Unit) -> bool:
    return corner.of(type(unit)) is _every_code
