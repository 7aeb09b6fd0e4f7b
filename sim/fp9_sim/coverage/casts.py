"""Coverage model of casts: source classes, binades, rounding cases, results and flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import FixedFormat, Format, Specials, floor_log2
from fp9.formats.rounding import Overflow
from fp9.golden.selects import signed
from fp9.units import SCALE_BITS, Cast, Columns
from fp9_sim.coverage.model import (
    FLAGS,
    LAST_PLACES,
    POSITIONS,
    SIGNS,
    Cross,
    Facts,
    Group,
    Model,
    classes_of,
    flags_of,
    impossible_rounding,
)
from fp9_sim.coverage.values import Codes, Grid, lowest_place

# Number of binades below and above a target's range that have their own bins.
_BEYOND = 2


def cast_model(unit: Cast) -> Model:
    groups = tuple(_group(unit, fmt) for fmt in unit.targets)
    return Model(groups, lambda inputs, outputs: _facts(unit, inputs, outputs))


def _ends(fmt: Format) -> tuple[int, int]:
    return lowest_place(fmt), floor_log2(fmt.max_magnitude)


def binades(unit: Cast, fmt: Format) -> tuple[int, int]:
    """Return the lowest and the highest exponent that have a bin at the cover point `binade`."""
    low, high = _ends(fmt)
    source = floor_log2(unit.source.max_magnitude)
    return low - _BEYOND, high + _BEYOND if unit.scale else min(high + _BEYOND, source)


def _group(unit: Cast, fmt: Format) -> Group:
    low, high = binades(unit, fmt)
    points = {
        "source": classes_of(unit.source),
        "sign": SIGNS,
        "rounding": tuple(r.value for r in unit.roundings),
        "overflow": tuple(o.value for o in unit.overflow),
        "binade": tuple(range(low, high + 1)),
        "position": POSITIONS,
        "last_place": LAST_PLACES,
        "result": classes_of(fmt),
        "flags": tuple(name for name in FLAGS if name != "invalid" or _invalid_results(unit, fmt)),
    }
    smallest, _ = _ends(fmt)

    crosses = (
        Cross("rounding_case", ("rounding", "sign", "last_place", "position")),
        Cross("grid", ("binade", "position"), lambda *at: impossible_position(smallest, *at)),
        Cross("classes", ("source", "sign", "overflow"), lambda source, sign, _: _impossible_sign(unit, source, sign)),
        Cross("outcome", ("result", "flags"), lambda result, flags: _impossible_outcome(unit, fmt, result, flags)),
    )
    return Group(fmt.name, points, crosses)


def impossible_position(smallest: int, binade: int, position: str) -> str | None:
    """Return the reason why a rounding position, such as "below half", cannot occur in a binade, or None."""
    # `position` places a number between two neighbours of the target format, for example "below half". `smallest` is
    # the exponent of the target format's smallest number.
    if binade < smallest and position == "exact":
        return "numbers below the last place are inexact"
    if binade < smallest - 1 and position != "below half":
        return "less than half of the last place"
    if binade == smallest - 1 and position == "below half":
        return "half of the last place or more"
    return None


def _impossible_sign(unit: Cast, source: str, sign: str) -> str | None:
    fmt = unit.source
    codes = {"zero": fmt.code_of(Fraction(0), True), "nan": fmt.nan_code(True)}
    code = codes.get(source)
    return "its sign carries no meaning" if code is not None and sign == "-" and not fmt.is_negative(code) else None


def _beyond_results(unit: Cast, fmt: Format) -> set[str]:
    sides = [(mode, negative) for mode in unit.roundings for negative in (False, True)]
    toward_zero = {"largest"} if any(mode.moves_toward_zero(negative) for mode, negative in sides) else set()
    infinite = {"infinity" if fmt.has_inf else "nan"}
    results = {Overflow.SATURATE: {"largest"}, Overflow.INF: infinite, Overflow.DIRECTED: infinite | toward_zero}
    return set().union(*(results[policy] for policy in unit.overflow))


def _invalid_results(unit: Cast, fmt: Format) -> set[str]:
    if not unit.source.has_inf:
        return set()
    nan_at_zero = isinstance(fmt, FixedFormat) and fmt.specials is Specials.NEGATIVE_ZERO
    return ({"nan"} if nan_at_zero else _beyond_results(unit, fmt)) - {"infinity"}


def _impossible_outcome(unit: Cast, fmt: Format, result: str, flags: str) -> str | None:
    reasons = {
        "overflow saturates, or gives infinity, or NaN where there is none": flags == "overflow"
        and result not in _beyond_results(unit, fmt),
        "only an infinity is invalid, and the result is not an infinity": flags == "invalid"
        and result not in _invalid_results(unit, fmt),
    }
    own = next((reason for reason, holds in reasons.items() if holds), None)
    return own or impossible_rounding(fmt, unit.roundings, result, flags)


@dataclass(frozen=True)
class _Target:
    name: str
    codes: Codes
    grid: Grid
    binades: tuple[int, int]


def _facts(unit: Cast, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    count = len(inputs[unit.lane_names("x")[0]])
    sources = Codes(unit.source)
    lowest_scale = -1 << (SCALE_BITS - 1) if unit.scale else 0
    ulp = lowest_place(unit.source) + lowest_scale
    targets = [_Target(f.name, Codes(f), Grid(f, ulp), binades(unit, f)) for f in unit.targets]

    def choices(port: str, names: tuple[str, ...]) -> list[str]:
        return [names[min(i, len(names) - 1)] for i in inputs[port].tolist()] if port in inputs else [*names] * count

    chosen = [targets[min(i, len(targets) - 1)] for i in inputs["target"].tolist()] if len(targets) > 1 else None
    roundings = choices("rounding", tuple(r.value for r in unit.roundings))
    overflow = choices("overflow", tuple(o.value for o in unit.overflow))
    scales = signed(inputs["scale"], SCALE_BITS).tolist() if unit.scale else [0] * count
    lanes = [
        [columns[name].tolist() for name in unit.lane_names(port)]
        for port, columns in (("x", inputs), ("result", outputs), ("flags", outputs))
    ]
    for i in range(count):
        target = chosen[i] if chosen else targets[0]
        for x, result, flags in zip(*lanes, strict=True):
            source = sources[x[i]]
            facts = {
                "source": source.name,
                "sign": "-" if source.negative else "+",
                "rounding": roundings[i],
                "overflow": overflow[i],
                "result": target.codes[result[i]].name,
                "flags": flags_of(flags[i]),
            }
            if source.is_number and source.units:
                magnitude = abs(source.units) << (scales[i] - lowest_scale)
                yield target.name, facts | _rounded(target, magnitude, ulp)
            else:
                yield target.name, facts


def _rounded(target: _Target, magnitude: int, ulp: int) -> dict[str, object]:
    low, high = target.binades
    exponent = magnitude.bit_length() - 1 + ulp
    facts: dict[str, object] = {"binade": max(low, min(exponent, high))}
    if exponent <= high:
        facts["position"], facts["last_place"] = target.grid.case(magnitude)
    return facts
