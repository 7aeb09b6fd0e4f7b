"""Exact values of codes as integers, and positions of values between a format's numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from fp9.engines import alignment_exponent
from fp9.formats import Format, Kind
from fp9.oracle import casts as oracle
from fp9_sim.coverage.model import FAR, class_name


class Code(NamedTuple):
    """A code with its class, sign, value and exponent."""

    name: str
    is_number: bool
    negative: bool
    # Value as an integer multiple of a fixed power of two.
    units: int
    # Exponent with which the alignment window aligns the value, or 0 for zero.
    exponent: int
    code: int


class Codes(dict[int, Code]):
    """Dictionary from a format's codes to `Code` records, which are computed on first use."""

    # The values in the records are integers in units of 2^`ulp`.

    def __init__(self, fmt: Format, ulp: int | None = None) -> None:
        super().__init__()
        self.format, self.mask = fmt, (1 << fmt.bits) - 1
        self.ulp = lowest_place(fmt) if ulp is None else ulp
        self._ends = self._units(Fraction(fmt.smallest_normal)), self._units(fmt.max_magnitude)

    def _units(self, value: Fraction) -> int:
        units, rest = divmod(value.numerator << max(0, -self.ulp), value.denominator << max(0, self.ulp))
        assert not rest, "every number is a multiple of the unit"
        return units

    def __missing__(self, code: int) -> Code:
        value = oracle.decode(code, self.format)
        is_number = value.kind in (Kind.ZERO, Kind.FINITE)
        # The magnitude of a NaN is its payload, which can lie below the format's last place.
        units = self._units(value.magnitude) if is_number else 0
        name = class_name(value.kind, units, *self._ends)
        exponent = alignment_exponent(self.format, units.bit_length() - 1 + self.ulp) if units else 0
        self[code] = found = Code(name, is_number, value.negative, -units if value.negative else units, exponent, code)
        return found


def lowest_place(fmt: Format) -> int:
    return fmt.quantum(-FAR)


class Grid:
    """Locate an exact magnitude, an integer multiple of 2^`ulp`, between two neighbouring numbers of a format."""

    def __init__(self, fmt: Format, ulp: int) -> None:
        self._format, self._ulp = fmt, ulp
        self._dropped: dict[int, int] = {}

    def case(self, magnitude: int) -> tuple[str, str]:
        """Return a magnitude's position between two neighbouring numbers, and the lower number's parity."""
        # A magnitude above the format's largest number is rounded as if the exponent were unbounded.
        length = magnitude.bit_length()
        if length not in self._dropped:
            self._dropped[length] = self._format.quantum(length - 1 + self._ulp) - self._ulp
        dropped = self._dropped[length]
        if dropped <= 0:
            return "exact", "odd" if dropped == 0 and magnitude & 1 else "even"
        rest, half = magnitude & ((1 << dropped) - 1), 1 << (dropped - 1)
        position = "exact" if not rest else "half" if rest == half else "below half" if rest < half else "above half"
        return position, "odd" if magnitude >> dropped & 1 else "even"
