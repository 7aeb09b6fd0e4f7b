"""Cover points for the sum of two terms: alignment, cancellation and rounding."""

from __future__ import annotations

from fp9.formats import FixedFormat, pow2
from fp9_sim.coverage.model import LAST_PLACES, POSITIONS, SIGNS, Bin, Cross
from fp9_sim.coverage.values import Grid


class Meeting:
    """Cover points for the addition of two fixed-point terms, and for the rounding of the sum."""

    # The terms are integers in units of 2^`ulp`. Every number of cancelled bits up to `longest` has a separate bin.

    def __init__(self, fmt: FixedFormat, ulp: int, longest: int) -> None:
        self.far = fmt.fraction_bits + 3
        self.longest = longest
        self._grid = Grid(fmt, ulp)
        self.limit = (2 * fmt.max_magnitude / pow2(ulp)).numerator

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        # `difference` is the second term's exponent minus the first term's exponent.
        return {
            "effective": ("same signs", "opposed signs"),
            "difference": tuple(range(-self.far, self.far + 2)),
            "cancelled": (-1, *range(self.longest + 1), "all"),
            "sign": SIGNS,
            "position": POSITIONS,
            "last_place": LAST_PLACES,
        }

    def crosses(self, more: tuple[str, ...] = ()) -> tuple[Cross, ...]:
        # The crosses of alignment and rounding also include the cover points `more`.
        return (
            Cross("alignment", (*more, "difference", "effective")),
            Cross("cancellation", ("effective", "cancelled"), _impossible_cancellation),
            Cross("rounding_case", (*more, "sign", "last_place", "position")),
        )

    def facts(self, first: int, second: int) -> dict[str, Bin]:
        # The rounding case is omitted for sums of more than twice the format's largest number.
        facts: dict[str, Bin] = {}
        total = first + second
        if total:
            facts["sign"] = SIGNS[total < 0]
            if abs(total) <= self.limit:
                facts["position"], facts["last_place"] = self._grid.case(abs(total))
        if first and second:
            difference = second.bit_length() - first.bit_length()
            highest = max(first.bit_length(), second.bit_length())
            facts["difference"] = max(-self.far, min(difference, self.far + 1))
            facts["effective"] = "same signs" if (first < 0) == (second < 0) else "opposed signs"
            facts["cancelled"] = min(highest - total.bit_length(), self.longest) if total else "all"
        return facts


def _impossible_cancellation(effective: str, cancelled: Bin) -> str | None:
    if effective == "opposed signs" and cancelled == -1:
        return "a difference has no carry into a higher bit"
    return "terms of equal sign do not cancel" if effective == "same signs" and cancelled not in (-1, 0) else None
