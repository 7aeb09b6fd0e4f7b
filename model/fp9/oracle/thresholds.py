"""Threshold tables of casts: the first source pattern that rounds to each target code.

A slow exact reference model of casts finds the first source pattern of each target code by bisection. A formal proof
compares a cast circuit with the threshold table of the cast.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from fp9.formats import FixedFormat, Format, Kind, Rounding
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags
from fp9.oracle.casts import decode, encode, read


@dataclass(frozen=True, slots=True)
class Step:
    """Row of a threshold table: a cast gives `code` for source patterns from `first` to the start of the next row."""

    first: int
    code: int


@dataclass(frozen=True, slots=True)
class ThresholdTable:
    """Threshold table of a cast, for positive or for negative source numbers.

    A pattern is the code of a source number without the sign bit.
    """

    source: FixedFormat
    target: Format
    policy: CastPolicy
    negative: bool
    steps: tuple[Step, ...]  # in rising order of source patterns, from pattern 0
    exact: tuple[int, ...]  # finite source patterns that the target format represents exactly
    tiny_below: int  # inexact casts of smaller patterns raise underflow
    overflow_from: int  # smallest pattern that overflows
    infinity: int | None
    nan_from: int  # smallest pattern that is a NaN
    infinity_flags: Flags
    nan_flags: Flags

    def __post_init__(self) -> None:
        firsts = [step.first for step in self.steps]
        if firsts[0] != 0 or any(a >= b for a, b in itertools.pairwise(firsts)):
            raise ValueError(f"thresholds to {self.target.name} do not rise from 0; the rounding is not monotone")

    def result(self, pattern: int) -> tuple[int, Flags]:
        index = bisect.bisect_right(self.steps, pattern, key=lambda step: step.first) - 1
        return self.steps[index].code, self._flags(pattern)

    def _flags(self, pattern: int) -> Flags:
        if pattern >= self.nan_from:
            return self.nan_flags
        if pattern == self.infinity:
            return self.infinity_flags
        if pattern >= self.overflow_from:
            return Flags.OVERFLOW | Flags.INEXACT
        if pattern == 0 or pattern in self.exact:
            return Flags(0)
        return Flags.INEXACT | (Flags.UNDERFLOW if pattern < self.tiny_below else Flags(0))


def _steps(cast: Callable[[int], tuple[int, Flags]], candidates: list[int]) -> tuple[Step, ...]:
    codes = [cast(first)[0] for first in candidates]
    changes = zip(candidates, codes, [None, *codes], strict=False)
    return tuple(Step(first, code) for first, code, before in changes if code != before)


@functools.lru_cache(maxsize=256)
def threshold_table(source: FixedFormat, target: Format, policy: CastPolicy, negative: bool) -> ThresholdTable:
    if not policy.rounding_for(target).is_monotone:
        monotone = ", ".join(mode.value for mode in Rounding if mode.is_monotone)
        raise ValueError(f"rounding {policy.rounding_for(target).value} has no thresholds; give one of {monotone}")
    sign = source.sign_mask if negative else 0

    @functools.cache
    def cast(pattern: int) -> tuple[int, Flags]:
        return encode(read(pattern | sign, source, policy), target, policy)

    first_special = source.max_code + 1
    infinity = source.inf_code(False)
    specials = [first_special] if infinity is None else [infinity, infinity + 1]
    firsts, overflow_from = _rank_thresholds(source, target, policy.rounding_for(target), negative)
    candidates = sorted({0, 1, *firsts, *specials})
    table = ThresholdTable(
        source,
        target,
        policy,
        negative,
        _steps(cast, candidates),
        exact_patterns(source, target),
        _tiny_below(cast, first_special),
        overflow_from,
        infinity,
        specials[-1],
        Flags(0) if infinity is None else cast(infinity)[1],
        cast(specials[-1])[1],
    )
    _compare(table, cast)
    return table


def _compare(table: ThresholdTable, cast: Callable[[int], tuple[int, Flags]]) -> None:
    """Compare the threshold table with the slow exact reference `cast` at and near each table entry."""
    points = {*(step.first for step in table.steps), *table.exact, table.tiny_below, table.overflow_from}
    last = table.source.magnitude_mask
    for pattern in sorted({p + offset for p in points for offset in (-1, 0, 1)}):
        if 0 <= pattern <= last and table.result(pattern) != cast(pattern):
            rounding = table.policy.rounding_for(table.target).value
            raise ValueError(
                f"{rounding} from {table.source.name} to {table.target.name} is not monotone at the source magnitude "
                f"{pattern:#x}; no threshold table can state it"
            )


@functools.lru_cache(maxsize=64)
def _rank_thresholds(
    source: FixedFormat, target: Format, rounding: Rounding, negative: bool
) -> tuple[tuple[int, ...], int]:
    ranks = {int(code): rank for rank, code in enumerate(target.ordered_magnitudes())}
    sign, policy = (source.sign_mask if negative else 0), CastPolicy(rounding)

    @functools.cache  # all bisections start with the same patterns
    def rank(pattern: int) -> int:
        code, flags = encode(decode(pattern | sign, source), target, policy)
        return len(ranks) if flags & Flags.OVERFLOW else ranks[_magnitude_code(code, target)]

    end = source.max_code + 1
    firsts = [bisect.bisect_left(range(end), r, lo=1, key=rank) for r in range(1, len(ranks) + 1)]
    return tuple(first for first in firsts if first < end), firsts[-1]


def _magnitude_code(code: int, target: Format) -> int:
    number = decode(code, target)
    return 0 if number.kind is Kind.ZERO else target.code_of(number.magnitude)


def _tiny_below(cast: Callable[[int], tuple[int, Flags]], end: int) -> int:
    def not_tiny(pattern: int) -> bool:
        following = (cast(p)[1] for p in range(pattern, end))
        return not next((flags & Flags.UNDERFLOW for flags in following if flags), Flags(0))

    return bisect.bisect_left(range(end), True, lo=1, key=not_tiny)


@functools.lru_cache(maxsize=64)
def exact_patterns(source: FixedFormat, target: Format) -> tuple[int, ...]:
    """Return the patterns of positive source numbers that the target represents exactly, in rising order."""
    patterns = []
    for code in target.ordered_magnitudes()[1:]:
        magnitude = target.value_of(int(code))
        try:
            patterns.append(source.code_of(magnitude))
        except ValueError:
            continue  # not a number of the source
    return tuple(patterns)
