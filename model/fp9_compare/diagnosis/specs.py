"""Functions that read and change specifications of hardware units."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from fp9.engines import Engine
from fp9.formats import Format
from fp9.formats.blocks import BlockFormat
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import Cast, Dot, Fpu, Mac, Mul, MultiFpu, Quantiser, Unit
from fp9.units.hooks import Hook
from fp9_compare.diagnosis.conversions import Conversion, Narrowed


def replaced(unit: Any, **fields: Any) -> Any:
    return dataclasses.replace(unit, **fields)


def custom(engine: Engine, **fields: Any) -> Engine:
    return engine.changed(name="custom", **fields)


# --- formats --------------------------------------------------------------------------------------------------------


def formats_of(unit: Unit) -> tuple[Format, ...]:
    ports = (*unit.inputs, *unit.outputs)
    return tuple(dict.fromkeys(fmt for port in ports for fmt in port.formats))


def with_format(unit: Any, old: Format, new: Format) -> Any:
    """Return a copy of a unit specification in which `new` replaces the format `old`."""

    def other(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(other(item) for item in value)
        if isinstance(value, Engine):
            promotion = None if value.chunk.promotion is None else other(value.chunk.promotion)
            result = other(value.result.format)
            changed = (result, promotion) != (value.result.format, value.chunk.promotion)
            return custom(value, result=result, promotion=promotion) if changed else value
        if isinstance(value, BlockFormat):
            return dataclasses.replace(value, element=other(value.element))
        if isinstance(value, Unit):
            return with_format(value, old, new)
        return new if value == old else value

    return replaced(unit, **{f.name: other(getattr(unit, f.name)) for f in dataclasses.fields(unit)})


with_targets: Hook[[Mapping[Format, Format]], Any] = Hook(
    "conversion to other formats",
    {
        Cast: lambda unit, targets: replaced(unit, targets=tuple(targets[fmt] for fmt in unit.targets)),
        Conversion: lambda unit, targets: replaced(unit, target=targets[unit.target]),
        Narrowed: lambda unit, targets: replaced(unit, target=targets[unit.target]),
    },
    every_kind=False,
)
"""Return a copy of a specification whose results have other formats."""


def _other_factors(unit: Any, fmt: Format) -> Any:
    return replaced(unit, a=(fmt,), b=(fmt,))


with_factors: Hook[[Format], Any] = Hook(
    "factors of another format",
    {
        Dot: _other_factors,
        Narrowed: lambda unit, fmt: replaced(unit, inner=_other_factors(unit.inner, fmt)),
    },
    every_kind=False,
)
"""Return a copy of a specification whose factors have another format."""


# --- roundings, overflow and engine -----------------------------------------------------------------------------------


roundings_of: Hook[[], tuple[Rounding, ...]] = Hook(
    "roundings to compare",
    {
        Cast: lambda unit: unit.roundings,
        Conversion: lambda unit: (unit.policy.rounding_for(unit.target),),
        Narrowed: lambda unit: (unit.policy.rounding_for(unit.target),),
        Mul: lambda unit: (unit.rounding,),
        Dot: lambda unit: (unit.engine.result.rounding,),
        Fpu: lambda unit: (unit.engine.result.rounding,),
        MultiFpu: lambda unit: unit.roundings,
        Quantiser: lambda unit: (unit.block.rounding,),
    },
    otherwise=lambda unit: (),
)
"""Return the rounding modes that a unit offers, or () for a unit that does not round."""


def _policy(unit: Any, **fields: Any) -> Any:
    policy = dataclasses.replace(unit.policy, **fields)
    policy.check(unit.target)
    return replaced(unit, policy=policy)


with_rounding: Hook[[Rounding], Any] = Hook(
    "rounding to exchange",
    {
        Cast: lambda unit, rounding: replaced(unit, roundings=(rounding,)),
        Conversion: lambda unit, rounding: _policy(unit, rounding=rounding),
        Narrowed: lambda unit, rounding: _policy(unit, rounding=rounding),
        Mul: lambda unit, rounding: replaced(unit, rounding=rounding),
        Dot: lambda unit, rounding: with_engine(unit, rounding=rounding),
        Fpu: lambda unit, rounding: with_engine(unit, rounding=rounding),
        MultiFpu: lambda unit, rounding: replaced(unit, roundings=(rounding,)),
        Quantiser: lambda unit, rounding: with_block(unit, rounding=rounding),
    },
    every_kind=False,
)
"""Return a copy of a unit with one fixed rounding mode."""


def with_block(unit: Quantiser, **fields: Any) -> Quantiser:
    return dataclasses.replace(unit, block=dataclasses.replace(unit.block, **fields))


overflows_of: Hook[[], tuple[Overflow, ...]] = Hook(
    "overflow policies to compare",
    {
        Cast: lambda unit: unit.overflow,
        Conversion: lambda unit: (unit.policy.overflow,),
        Narrowed: lambda unit: (unit.policy.overflow,),
        Mul: lambda unit: (unit.overflow,),
        Dot: lambda unit: (unit.engine.result.overflow,),
        Fpu: lambda unit: (unit.engine.result.overflow,),
        MultiFpu: lambda unit: unit.overflow,
    },
    otherwise=lambda unit: (),
)
"""Return the overflow policies that a unit offers, or () for a unit that cannot overflow."""


with_overflow: Hook[[Overflow], Any] = Hook(
    "overflow policy to exchange",
    {
        Cast: lambda unit, overflow: replaced(unit, overflow=(overflow,)),
        Conversion: lambda unit, overflow: _policy(unit, overflow=overflow),
        Narrowed: lambda unit, overflow: _policy(unit, overflow=overflow),
        Mul: lambda unit, overflow: replaced(unit, overflow=overflow),
        Dot: lambda unit, overflow: with_engine(unit, overflow=overflow),
        Fpu: lambda unit, overflow: with_engine(unit, overflow=overflow),
        MultiFpu: lambda unit, overflow: replaced(unit, overflow=(overflow,)),
    },
    every_kind=False,
)
"""Return a copy of a unit with one fixed overflow policy."""


engine_of: Hook[[], Engine | None] = Hook(
    "engine to compare",
    {
        Dot: lambda unit: unit.engine,
        Fpu: lambda unit: unit.engine,
    },
    otherwise=lambda unit: None,
)
"""Return the accumulator model that computes a unit's sums, or None."""


def with_engine(unit: Any, **fields: Any) -> Any:
    return replaced(unit, engine=custom(unit.engine, **fields))


def targets_of(unit: Unit) -> tuple[Format, ...]:
    return tuple(dict.fromkeys(fmt for port in unit.outputs for fmt in port.formats))


rounded_at_once: Hook[[], bool] = Hook(
    "results rounded at once",
    dict.fromkeys((Mac, Fpu, MultiFpu), lambda unit: False),
    otherwise=lambda unit: bool(roundings_of(unit)),
)
"""Return whether a unit rounds each result separately, so that a result depends only on its operation."""
