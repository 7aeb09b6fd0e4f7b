"""Coverage of casts: for each target the classes, every binade, every case of rounding, results and flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fp9 import oracle
from fp9.formats import Format, Kind, floor_log2, pow2
from fp9.units import SCALE_BITS, Cast
from fp9_sim.functional.model import FLAGS, POSITIONS, Cross, Facts, Model, Point, class_of, classes_of, flags_of
from fp9_sim.functional.rounding import rounding_case

_BEYOND = 2
"""Binades that are told apart beyond the ends of a target."""


def cast_model(unit: Cast) -> Model:
    """Points for each target, so that no combination is one of another target's."""
    points: list[Point] = []
    crosses: list[Cross] = []
    for fmt in unit.targets:
        points += _points(unit, fmt)
        crosses += _crosses(unit, fmt)
    return Model(unit, tuple(points), tuple(crosses), lambda inputs, outputs: _facts(unit, inputs, outputs))


def _ends(fmt: Format) -> tuple[int, int]:
    """Exponents of the smallest and of the largest magnitude."""
    return floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.max_magnitude)


def _binades(unit: Cast, fmt: Format) -> tuple[int, int]:
    """The exponents that are told apart: those of the target and a few beyond, as far as the source goes."""
    low, high = _ends(fmt)
    source = floor_log2(unit.source.max_magnitude)
    return low - _BEYOND, high + _BEYOND if unit.scale else min(high + _BEYOND, source)


def _points(unit: Cast, fmt: Format) -> Iterator[Point]:
    low, high = _binades(unit, fmt)
    named = {
        "source": classes_of(unit.source),
        "sign": ("+", "-"),
        "rounding": tuple(r.value for r in unit.roundings),
        "overflow": tuple(o.value for o in unit.overflow),
        "binade": tuple(range(low, high + 1)),
        "position": POSITIONS,
        "last_place": ("even", "odd"),
        "result": classes_of(fmt),
        "flags": FLAGS,
    }
    yield from (Point(f"{unit.name}.{fmt.name}.{name}", bins) for name, bins in named.items())


def _crosses(unit: Cast, fmt: Format) -> Iterator[Cross]:
    def cross(name: str, *points: str, impossible: Callable[..., str | None] = lambda *bins: None) -> Cross:
        group = f"{unit.name}.{fmt.name}"
        return Cross(f"{group}.{name}", tuple(f"{group}.{point}" for point in points), impossible)

    low, _ = _ends(fmt)

    def grid(binade: int, position: str) -> str | None:
        if binade < low and position == "exact":
            return "below the smallest number there is none"
        if binade < low - 1 and position != "below half":
            return "less than half of the smallest number"
        if binade == low - 1 and position == "below half":
            return "half of the smallest number or more"
        return None

    yield cross("rounding_case", "rounding", "sign", "last_place", "position")
    yield cross("grid", "binade", "position", impossible=grid)
    yield cross("classes", "source", "sign", "overflow")
    yield cross("outcome", "result", "flags", impossible=lambda result, flags: _impossible_outcome(fmt, result, flags))


def _impossible_outcome(fmt: Format, result: str, flags: str) -> str | None:
    reasons = {
        "a number is no invalid result, but where infinity saturates": (
            flags == "invalid" and result not in ("largest", "nan")
        )
        or (flags == "invalid" and fmt.has_inf),
        "only results below the normal numbers, or rounded up to them, underflow": flags == "underflow"
        and result not in ("zero", "subnormal", "smallest normal"),
        "overflow saturates, or gives infinity, or NaN where there is none": flags == "overflow"
        and result not in ("largest", "infinity" if fmt.has_inf else "nan"),
        "an inexact result below the normal numbers underflows": flags == "inexact" and result in ("zero", "subnormal"),
        "infinity and NaN are exact, or overflow": flags in ("inexact", "underflow") and result in ("infinity", "nan"),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _facts(unit: Cast, inputs: dict[str, int], outputs: dict[str, int]) -> Iterator[Facts]:
    """The facts of each lane."""
    fmt = unit.targets[min(inputs.get("target", 0), len(unit.targets) - 1)]
    rounding = unit.roundings[min(inputs.get("rounding", 0), len(unit.roundings) - 1)]
    overflow = unit.overflow[min(inputs.get("overflow", 0), len(unit.overflow) - 1)]
    scale = inputs.get("scale", 0)
    scale -= (scale >> (SCALE_BITS - 1)) << SCALE_BITS
    lanes = zip(unit.lane_names("x"), unit.lane_names("result"), unit.lane_names("flags"), strict=True)
    for x, result, flags in lanes:
        facts: Facts = {
            "source": class_of(inputs[x], unit.source),
            "sign": "-" if unit.source.is_negative(inputs[x]) else "+",
            "rounding": rounding.value,
            "overflow": overflow.value,
            "result": class_of(outputs[result], fmt),
            "flags": flags_of(outputs[flags]),
        }
        value = oracle.decode(inputs[x], unit.source)
        if value.kind is Kind.FINITE:
            magnitude = value.magnitude * pow2(scale)
            low, high = _binades(unit, fmt)
            facts["binade"] = max(low, min(floor_log2(magnitude), high))
            if floor_log2(magnitude) <= high:
                facts["position"], facts["last_place"] = rounding_case(magnitude, fmt)
        yield {f"{unit.name}.{fmt.name}.{name}": fact for name, fact in facts.items()}
