"""What a coverage model is: groups of points with bins, crosses of points, and the crosses' bins that cannot occur."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeVar

from fp9.formats import Format, Kind, Rounding
from fp9.units import Columns

T = TypeVar("T", int, Fraction)

Bin = Hashable
Facts = tuple[str, dict[str, Bin]]
"""What an operation is at the points of a group; a point that does not concern it is left out."""


@dataclass(frozen=True)
class Cross:
    """The combinations of some points; `impossible` gives the reason why one cannot occur, or None."""

    name: str
    points: tuple[str, ...]
    impossible: Callable[..., str | None] = lambda *bins: None


@dataclass(frozen=True)
class Group:
    """Points, their bins by name, and crosses of them. In its name dots separate groups; the unit's own has none."""

    name: str
    points: Mapping[str, tuple[Bin, ...]]
    crosses: tuple[Cross, ...] = ()

    def within(self, name: str) -> Group:
        """The group as one of another."""
        return replace(self, name=joined(name, self.name))


def joined(*names: str) -> str:
    """A name within others; the empty ones are left out."""
    return ".".join(name for name in names if name)


@dataclass(frozen=True)
class Model:
    """The groups of a unit. `facts` reads operations, as a sequence from reset, and the outputs that a circuit gave."""

    groups: tuple[Group, ...]
    facts: Callable[[Columns, Columns], Iterator[Facts]] = field(compare=False)


CLASSES = ("zero", "subnormal", "smallest normal", "normal", "largest", "infinity", "nan")

POSITIONS = ("exact", "below half", "half", "above half")
"""Where the exact value stands between its neighbours on the result's grid: what guard and sticky bit say."""

FLAGS = ("none", "inexact", "underflow", "overflow", "invalid")
"""The flags together, by the most telling one; underflow and overflow are inexact, too."""

SIGNS = ("+", "-")
LAST_PLACES = ("even", "odd")
FAR = 1 << 12
"""Below its negative there is no exponent of a format."""


def class_of(code: int, fmt: Format) -> str:
    """The class of a code."""
    kind = fmt.kind_of(code)
    magnitude = abs(fmt.value_of(code)) if kind is Kind.FINITE else Fraction(0)
    return class_name(kind, magnitude, Fraction(fmt.smallest_normal), fmt.max_magnitude)


def class_name(kind: Kind, magnitude: T, smallest_normal: T, largest: T) -> str:
    """The class of a number or special, its magnitude and the ends of the normal numbers in the same unit."""
    if kind is not Kind.FINITE:
        return {Kind.ZERO: "zero", Kind.INF: "infinity", Kind.NAN: "nan"}[kind]
    if magnitude == largest:
        return "largest"
    if magnitude == smallest_normal:
        return "smallest normal"
    return "subnormal" if magnitude < smallest_normal else "normal"


def classes_of(*formats: Format) -> tuple[str, ...]:
    """The classes that some formats have."""
    have = {class_of(code, fmt) for fmt in formats for code in _boundary_codes(fmt)}
    return tuple(name for name in CLASSES if name in have)


def _boundary_codes(fmt: Format) -> Iterator[int]:
    """Codes of every class of a format."""
    if fmt.bits <= 8:
        yield from range(1 << fmt.bits)
        return
    yield from (0, 1, fmt.max_code - 1, fmt.max_code, fmt.smallest_code)
    yield from (code for code in (fmt.inf_code(False), fmt.nan_code(False)) if code is not None)
    yield next(c for c in (1 << n for n in range(fmt.bits)) if class_of(c, fmt) == "smallest normal")


def flags_of(flags: int) -> str:
    """The name of a combination of flags."""
    for bit, name in ((16, "invalid"), (4, "overflow"), (2, "underflow"), (1, "inexact")):
        if flags & bit:
            return name
    return "none"


def impossible_rounding(fmt: Format, roundings: Collection[Rounding], result: str, flags: str) -> str | None:
    """Why no rounding of one exact number to a format gives a class of result with some flags; None where one does."""
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
