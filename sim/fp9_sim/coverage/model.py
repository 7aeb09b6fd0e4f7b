"""Coverage models: groups of cover points with bins, crosses, and impossible bins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from fp9.formats import Format, Kind, Rounding
from fp9.units import Columns

T = TypeVar("T", int, Fraction)

Bin = Hashable
# Name of a group, and the bin that an operation hits at each cover point, if the cover point applies.
Facts = tuple[str, dict[str, Bin]]


@dataclass(frozen=True)
class Cross:
    """Cross coverage: all combinations of the bins of several cover points."""

    name: str
    points: tuple[str, ...]
    # The function takes one bin for each cover point, and returns why the bins cannot occur together, or None.
    impossible: Callable[..., str | None] = lambda *bins: None


@dataclass(frozen=True)
class Group:
    """Named cover points with their bins, and crosses of the cover points."""

    # Dots separate nested groups. The group with the empty name covers the unit as a whole.
    name: str
    points: Mapping[str, tuple[Bin, ...]]
    crosses: tuple[Cross, ...] = ()

    def within(self, name: str) -> Group:
        return replace(self, name=joined(name, self.name))


def joined(*names: str) -> str:
    return ".".join(name for name in names if name)


@dataclass(frozen=True)
class Model:
    """Groups of cover points, and a function that yields the bins hit by operations."""

    groups: tuple[Group, ...]
    # The arguments are the inputs and the circuit's outputs of a sequence of operations after a reset.
    facts: Callable[[Columns, Columns], Iterator[Facts]] = field(compare=False)


CLASSES = ("zero", "subnormal", "smallest normal", "normal", "largest", "infinity", "nan")

# Position of the exact value between two neighbouring results, as the guard and sticky bits indicate it.
POSITIONS = ("exact", "below half", "half", "above half")

# Flag combinations, each named by its most significant flag. Underflow and overflow imply inexact.
FLAGS = ("none", "inexact", "underflow", "overflow", "invalid")

SIGNS = ("+", "-")
LAST_PLACES = ("even", "odd")
# No format has an exponent below -FAR.
FAR = 1 << 12


def class_of(code: int, fmt: Format) -> str:
    kind = fmt.kind_of(code)
    magnitude = abs(fmt.value_of(code)) if kind is Kind.FINITE else Fraction(0)
    return class_name(kind, magnitude, Fraction(fmt.smallest_normal), fmt.max_magnitude)


def class_name(kind: Kind, magnitude: T, smallest_normal: T, largest: T) -> str:
    # `magnitude`, `smallest_normal` and `largest` must be in the same unit.
    if kind is not Kind.FINITE:
        return {Kind.ZERO: "zero", Kind.INF: "infinity", Kind.NAN: "nan"}[kind]
    if magnitude == largest:
        return "largest"
    if magnitude == smallest_normal:
        return "smallest normal"
    return "subnormal" if magnitude < smallest_normal else "normal"


def classes_of(*formats: Format) -> tuple[str, ...]:
    """Return the value classes, such as "subnormal" or "nan", that occur in at least one of the formats."""
    have = {class_of(code, fmt) for fmt in formats for code in _boundary_codes(fmt)}
    return tuple(name for name in CLASSES if name in have)


def _boundary_codes(fmt: Format) -> Iterator[int]:
    if fmt.bits <= 8:
        yield from range(1 << fmt.bits)
        return
    yield from (0, 1, fmt.max_code - 1, fmt.max_code, fmt.smallest_code)
    yield from (code for code in (fmt.inf_code(False), fmt.nan_code(False)) if code is not None)
    yield next(c for c in (1 << n for n in range(fmt.bits)) if class_of(c, fmt) == "smallest normal")


def flags_of(flags: int) -> str:
    """Return the name of the highest flag bit that is set, such as "overflow", or "none" if no bit is set."""
    for bit, name in ((16, "invalid"), (4, "overflow"), (2, "underflow"), (1, "inexact")):
        if flags & bit:
            return name
    return "none"


def impossible_rounding(fmt: Format, roundings: Collection[Rounding], result: str, flags: str) -> str | None:
    """Return why the result class cannot occur together with the flag, or None."""
    reasons = {
        "only results below the normal numbers, or rounded up to them, underflow": flags == "underflow"
        and result not in ("zero", "subnormal", "smallest normal"),
        "nothing is rounded up to the normal numbers": (flags, result) == ("underflow", "smallest normal")
        and all(rounding is Rounding.RTZ for rounding in roundings),
        "without subnormal numbers, what is rounded to the smallest number is not below it": (
            (flags, result) == ("underflow", "smallest normal")
            and fmt.flushes
            and not any(rounding.keeps_nonzero(negative) for rounding in roundings for negative in (False, True))
        ),
        "an inexact result below the normal numbers underflows": flags == "inexact" and result in ("zero", "subnormal"),
        "infinity and NaN are exact, or overflow": flags in ("inexact", "underflow") and result in ("infinity", "nan"),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
