"""What can be asked of, and changed in, a spec of any kind: formats, rounding, overflow, engine."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from fp9.engines import Engine
from fp9.formats import Format
from fp9.rounding import Overflow, Rounding
from fp9.scaling import BlockFormat
from fp9.units import Cast, Dot, Fpu, Mac, Quantiser, Unit
from fp9_compare.diagnosis.conversions import Conversion, Narrowed


def replaced(unit: Any, **fields: Any) -> Any:
    """A spec with other fields. Raises ValueError where the spec refuses them."""
    return dataclasses.replace(unit, **fields)


def custom(engine: Engine, **fields: Any) -> Engine:
    """An engine with other fields, under a name of its own. Raises ValueError where they do not fit."""
    return dataclasses.replace(engine, name="custom", **fields)


# --- formats --------------------------------------------------------------------------------------------------------


def formats_of(unit: Unit) -> tuple[Format, ...]:
    """Every format of a unit's ports, once, in the order of the ports."""
    ports = (*unit.inputs, *unit.outputs)
    return tuple(dict.fromkeys(fmt for port in ports for fmt in port.formats))


def with_format(unit: Any, old: Format, new: Format) -> Any:
    """A spec that takes `new` wherever it took `old`. Raises ValueError where the spec refuses it."""

    def other(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(other(item) for item in value)
        if isinstance(value, Engine):
            promotion = None if value.promotion is None else other(value.promotion)
            result = other(value.result)
            changed = (result, promotion) != (value.result, value.promotion)
            return custom(value, result=result, promotion=promotion) if changed else value
        if isinstance(value, BlockFormat):
            return dataclasses.replace(value, element=other(value.element))
        if isinstance(value, Unit):
            return with_format(value, old, new)
        return new if value == old else value

    return replaced(unit, **{f.name: other(getattr(unit, f.name)) for f in dataclasses.fields(unit)})


@functools.singledispatch
def with_targets(unit: Any, targets: Mapping[Format, Format]) -> Any:
    """A conversion to other formats than its own. Raises ValueError for what is none."""
    raise ValueError(f"{unit.name} converts to no format")


with_targets.register(Cast, lambda unit, targets: replaced(unit, targets=tuple(targets[fmt] for fmt in unit.targets)))
with_targets.register(Conversion, lambda unit, targets: replaced(unit, target=targets[unit.target]))
with_targets.register(Narrowed, lambda unit, targets: replaced(unit, target=targets[unit.target]))


# --- roundings, overflow and engine -----------------------------------------------------------------------------------


@functools.singledispatch
def roundings_of(unit: Unit) -> tuple[Rounding, ...]:
    """The roundings that a unit offers; none where nothing is rounded."""
    return ()


roundings_of.register(Cast, lambda unit: unit.roundings)
roundings_of.register(Conversion, lambda unit: (unit.policy.rounding_for(unit.target),))
roundings_of.register(Narrowed, lambda unit: (unit.policy.rounding_for(unit.target),))
roundings_of.register(Dot, lambda unit: (unit.engine.rounding,))
roundings_of.register(Fpu, lambda unit: (unit.engine.rounding,))
roundings_of.register(Quantiser, lambda unit: (unit.block.rounding,))


def _policy(unit: Any, **fields: Any) -> Any:
    policy = dataclasses.replace(unit.policy, **fields)
    policy.check(unit.target)
    return replaced(unit, policy=policy)


@functools.singledispatch
def with_rounding(unit: Any, rounding: Rounding) -> Any:
    """A unit that always rounds so. Raises ValueError for one that does not round, or not so."""
    raise ValueError(f"{unit.name} has no rounding")


with_rounding.register(Cast, lambda unit, rounding: replaced(unit, roundings=(rounding,)))
with_rounding.register(Conversion, lambda unit, rounding: _policy(unit, rounding=rounding))
with_rounding.register(Narrowed, lambda unit, rounding: _policy(unit, rounding=rounding))
with_rounding.register(Dot, lambda unit, rounding: with_engine(unit, rounding=rounding))
with_rounding.register(Fpu, lambda unit, rounding: with_engine(unit, rounding=rounding))
with_rounding.register(Quantiser, lambda unit, rounding: with_block(unit, rounding=rounding))


def with_block(unit: Quantiser, **fields: Any) -> Quantiser:
    """A quantiser of blocks with other fields."""
    return dataclasses.replace(unit, block=dataclasses.replace(unit.block, **fields))


@functools.singledispatch
def overflows_of(unit: Unit) -> tuple[Overflow, ...]:
    """The overflow policies that a unit offers; none where nothing overflows."""
    return ()


overflows_of.register(Cast, lambda unit: unit.overflow)
overflows_of.register(Conversion, lambda unit: (unit.policy.overflow,))
overflows_of.register(Narrowed, lambda unit: (unit.policy.overflow,))
overflows_of.register(Dot, lambda unit: (unit.engine.overflow,))
overflows_of.register(Fpu, lambda unit: (unit.engine.overflow,))


@functools.singledispatch
def with_overflow(unit: Any, overflow: Overflow) -> Any:
    """A unit whose overflow always becomes this. Raises ValueError for one that cannot."""
    raise ValueError(f"{unit.name} has no overflow")


with_overflow.register(Cast, lambda unit, overflow: replaced(unit, overflow=(overflow,)))
with_overflow.register(Conversion, lambda unit, overflow: _policy(unit, overflow=overflow))
with_overflow.register(Narrowed, lambda unit, overflow: _policy(unit, overflow=overflow))
with_overflow.register(Dot, lambda unit, overflow: with_engine(unit, overflow=overflow))
with_overflow.register(Fpu, lambda unit, overflow: with_engine(unit, overflow=overflow))


@functools.singledispatch
def engine_of(unit: Unit) -> Engine | None:
    """The engine that decides a unit's sums; None where there is none, or where it only carries an exact sum."""
    return None


engine_of.register(Dot, lambda unit: unit.engine)
engine_of.register(Fpu, lambda unit: unit.engine)


def with_engine(unit: Any, **fields: Any) -> Any:
    """A unit of an engine with other fields. Raises ValueError where they do not fit."""
    return replaced(unit, engine=custom(unit.engine, **fields))


def targets_of(unit: Unit) -> tuple[Format, ...]:
    """The formats of the results."""
    return tuple(dict.fromkeys(fmt for port in unit.outputs for fmt in port.formats))


def rounded_at_once(unit: Unit) -> bool:
    """Whether a result depends on its own operation alone and is rounded."""
    return bool(roundings_of(unit)) and not isinstance(unit, Mac | Fpu)
