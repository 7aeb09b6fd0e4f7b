"""Ways in which an implementation may use a wrong number format."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fp9.formats import FAMILIES, NAMED, FixedFormat, Format, Specials
from fp9.units import Columns, Unit
from fp9_compare.diagnosis.difference import Difference, Topic
from fp9_compare.diagnosis.specs import formats_of, with_format

_OTHER_BIASES = (-2, -1, 1, 2)


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield possible mistakes in a design: another format of equal width, or an inverted format-select input."""
    for fmt in formats_of(unit):
        for other in alike(fmt):
            yield Difference(Topic.FORMAT, in_words(fmt, other), functools.partial(with_format, old=fmt, new=other))
    for port in unit.inputs:
        if len(port.choices) == 2:
            yield Difference(
                Topic.SELECT,
                f"its select {port.name} has 0 and 1 exchanged: 0 means {port.choices[1]}, 1 {port.choices[0]}",
                operands=functools.partial(_exchanged, port.name),
            )


def _exchanged(name: str, unit: Unit, inputs: Columns) -> dict[str, Any]:
    return {**inputs, name: inputs[name] ^ 1}


def alike(fmt: Format) -> Iterator[Format]:
    """Yield the formats that an implementer may have used by mistake instead of `fmt`, known formats first."""
    # Every yielded format has as many bits as `fmt`.
    seen = {_facts(fmt)}
    for other in (*_catalogue(fmt), *_one_fact_changed(fmt)):
        if other.bits == fmt.bits and _facts(other) not in seen:
            seen.add(_facts(other))
            yield other


def _facts(fmt: Format) -> tuple[Any, ...]:
    if not isinstance(fmt, FixedFormat):
        return (fmt.name,)
    specials = (fmt.specials, fmt.padding) if fmt.specials is not Specials.FINITE else (Specials.FINITE, fmt.padding)
    return (fmt.exponent_bits, fmt.fraction_bits, fmt.bias, fmt.subnormals, *specials)


def _catalogue(fmt: Format) -> Iterator[Format]:
    every = (*NAMED.values(), *(family() for family in FAMILIES.values()))
    fields = _fields(fmt)
    yield from sorted(every, key=lambda other: _fields(other) != fields)


def _fields(fmt: Format) -> tuple[int, int] | None:
    return (fmt.exponent_bits, fmt.fraction_bits) if isinstance(fmt, FixedFormat) else None


def _one_fact_changed(fmt: Format) -> Iterator[Format]:
    if not isinstance(fmt, FixedFormat):
        return
    changes: list[dict[str, Any]] = [{"subnormals": not fmt.subnormals}]
    if fmt.bits < 16:
        changes += [{"specials": specials} for specials in Specials]
        changes += [{"subnormals": False, "specials": Specials.FINITE}]
        changes += [{"bias": fmt.bias + step} for step in _OTHER_BIASES]
    for change in changes:
        try:
            yield dataclasses.replace(fmt, name=_changed_name(fmt, change), **change)
        except ValueError:  # the changed format is invalid
            continue


def _changed_name(fmt: FixedFormat, change: Mapping[str, Any]) -> str:
    return f"{fmt.name} {' and '.join(_WORDS[field](value) for field, value in change.items())}"


_WORDS: dict[str, Callable[[Any], str]] = {
    "subnormals": lambda value: "with subnormals" if value else "without subnormals",
    "specials": lambda value: f"with specials {value.name.lower()}",
    "bias": lambda value: f"with bias {value}",
}


def in_words(expected: Format, seen: Format) -> str:
    facts = [f"its largest number is {seen.max:g}, not {expected.max:g}"] if seen.max != expected.max else []
    if isinstance(expected, FixedFormat) and isinstance(seen, FixedFormat):
        if _fields(expected) != _fields(seen):
            facts.append(f"{seen.exponent_bits} exponent and {seen.fraction_bits} fraction bits")
        elif seen.bias != expected.bias:
            facts.append(f"bias {seen.bias}, not {expected.bias}")
        if seen.specials is not expected.specials:
            facts.append(seen.specials.value)
        if seen.subnormals is not expected.subnormals:
            facts.append("subnormals" if seen.subnormals else "no subnormals: exponent 0 is an ordinary binade")
    return f"it takes {seen.name} for {expected.name}" + (f" ({'; '.join(facts)})" if facts else "")
