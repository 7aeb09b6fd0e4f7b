"""What a coverage model is: points with bins, crosses of points, and the crosses' bins that cannot occur."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from fp9.formats import Format, Kind
from fp9.units import Unit

Bin = Hashable
Facts = dict[str, Bin]
"""What one operation is at each point; a point that does not concern it is left out."""


@dataclass(frozen=True)
class Point:
    """A named property of operations and its values. In its name, dots separate groups."""

    name: str
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Cross:
    """The combinations of some points; `impossible` gives the reason why one cannot occur, or None."""

    name: str
    points: tuple[str, ...]
    impossible: Callable[..., str | None] = lambda *bins: None


@dataclass(frozen=True)
class Model:
    """Points and crosses of a unit; `facts` reads operations and the outputs that the circuit gave."""

    unit: Unit
    points: tuple[Point, ...]
    crosses: tuple[Cross, ...]
    facts: Callable[[dict[str, int], dict[str, int]], Iterable[Facts]] = field(compare=False)


CLASSES = ("zero", "subnormal", "smallest normal", "normal", "largest", "infinity", "nan")

POSITIONS = ("exact", "below half", "half", "above half")
"""Where the exact value stands between its neighbours on the result's grid: what guard and sticky bit say."""

FLAGS = ("none", "inexact", "underflow", "overflow", "invalid")
"""The flags together, by the most telling one; underflow and overflow are inexact, too."""


def class_of(code: int, fmt: Format) -> str:
    """The class of a code."""
    kind = fmt.kind_of(code)
    if kind is not Kind.FINITE:
        return {Kind.ZERO: "zero", Kind.INF: "infinity", Kind.NAN: "nan"}[kind]
    magnitude = abs(fmt.value_of(code))
    if magnitude == fmt.max_magnitude:
        return "largest"
    if magnitude == fmt.smallest_normal:
        return "smallest normal"
    return "subnormal" if magnitude < fmt.smallest_normal else "normal"


def classes_of(fmt: Format) -> tuple[str, ...]:
    """The classes that a format has."""
    have = {class_of(code, fmt) for code in _boundary_codes(fmt)}
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
