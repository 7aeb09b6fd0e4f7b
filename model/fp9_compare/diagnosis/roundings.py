"""Ways in which an implementation may round, scale or overflow differently from its specification."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import fp9
from fp9.formats import FixedFormat, Format, fixed_format
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import Cast, Columns, Quantiser, Unit
from fp9.units.hooks import Hook
from fp9_compare.diagnosis.classes import operands_of
from fp9_compare.diagnosis.conversions import Conversion
from fp9_compare.diagnosis.difference import Difference, Topic
from fp9_compare.diagnosis.specs import overflows_of, replaced, roundings_of, targets_of, with_overflow, with_rounding

DETERMINISTIC = tuple(rounding for rounding in Rounding if rounding.is_monotone)


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield possible differences of an implementation from its specification.

    An implementation may use a different scale rule, rounding mode or overflow policy, or may round a result twice.
    """
    yield from _rules(unit)
    yield from _roundings(unit)
    yield from _overflows(unit)
    yield from _double_roundings(unit)


def _roundings(unit: Unit) -> Iterator[Difference]:
    offered = roundings_of(unit)
    if not offered:
        return
    expected = " or ".join(mode.words for mode in offered)
    for rounding in DETERMINISTIC:
        if offered != (rounding,):
            says = f"it rounds {rounding.words}; expected {expected}"
            yield Difference(Topic.ROUNDING, says, with_rounding.given(rounding))


def _rules_of_quantiser(unit: Quantiser) -> Iterator[Difference]:
    expected = " or ".join(rule.name for rule in unit.rules)
    for name in unit.block.rules:
        rule = unit.block.rule(name)
        if unit.rules != (rule,):
            says = f"its scales are those of the rule {name}; expected {expected}"
            yield Difference(Topic.SCALE, says, functools.partial(replaced, rules=(rule,)))


_rules: Hook[[], Iterator[Difference]] = Hook(
    "other rules of a scale", {Quantiser: _rules_of_quantiser}, otherwise=lambda unit: iter(())
)


def _overflows(unit: Unit) -> Iterator[Difference]:
    offered = overflows_of(unit)
    for overflow in Overflow if offered else ():
        if offered != (overflow,):
            yield Difference(Topic.OVERFLOW, _OVERFLOW_WORDS[overflow](unit), with_overflow.given(overflow))


def _overflows_to(unit: Unit) -> str:
    return "; ".join(
        f"{_name(fmt)} overflows to {beyond(fmt)}; expected saturation to {fmt.max:g}" for fmt in targets_of(unit)
    )


def _limits(unit: Unit) -> str:
    return ", ".join(f"{_name(fmt)} saturates to {fmt.max:g}" for fmt in targets_of(unit))


def _name(fmt: Format) -> str:
    return fmt.name.upper()


def beyond(fmt: Format) -> str:
    # The result of an overflow in the given format, in words.
    return "infinity" if fmt.has_inf else "NaN"


_OVERFLOW_WORDS: dict[Overflow, Callable[[Unit], str]] = {
    Overflow.INF: _overflows_to,
    Overflow.SATURATE: lambda unit: f"it saturates ({_limits(unit)}); expected infinity or NaN",
    Overflow.DIRECTED: lambda unit: "its overflow depends on the direction of rounding (IEEE 754-2019, 7.4)",
    Overflow.PROPAGATE: lambda unit: f"it saturates finite numbers ({_limits(unit)}), not infinities",
    Overflow.SAT_NONE: lambda unit: "it overflows as SatNone of P3109 does",
}


def _rounded_twice(unit: Cast | Conversion) -> Iterator[Difference]:
    if any(mode.reads_source for mode in roundings_of(unit)):
        return
    for name in ("fp16", "bf16"):
        middle = fixed_format(name)
        if unit.source.bits > middle.bits:
            yield Difference(
                Topic.SUM,
                f"double rounding: it rounds to {name} first, and then to the target",
                spec=functools.partial(replaced, source=middle),
                operands=functools.partial(_narrowed, middle),
            )


_double_roundings: Hook[[], Iterator[Difference]] = Hook(
    "double rounding", dict.fromkeys((Cast, Conversion), _rounded_twice), otherwise=lambda unit: iter(())
)


def _narrowed(middle: FixedFormat, unit: Any, inputs: Columns) -> dict[str, Any]:
    ports = operands_of(unit)
    lanes = {port.name: fp9.cast(inputs[port.name], unit.source, middle, overflow="inf") for port in ports}
    return {**inputs, **lanes}
