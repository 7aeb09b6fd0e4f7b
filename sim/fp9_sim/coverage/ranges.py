"""Classes of numbers, such as subnormal or largest, that a rounded sum of products can have."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from fp9.formats import Format, pow2
from fp9.units import ProductRange
from fp9_sim.coverage.model import classes_of


def reached_classes(fmt: Format, sums: ProductRange, operands: Iterable[Format]) -> tuple[str, ...]:
    """Return the value classes, such as "subnormal", that can occur if sums of products are rounded to `fmt`."""
    # The exact sums are multiples of 2^`sums.ulp`, and their magnitudes are at most `sums.largest`.
    operands = tuple(operands)
    overflows = sums.largest > fmt.max_magnitude
    infinite = overflows or any(operand.has_inf for operand in operands)
    smallest, normal = pow2(sums.ulp), Fraction(fmt.smallest_normal)
    reached = {
        "subnormal": smallest < normal,
        "smallest normal": normal % smallest == 0 and normal <= sums.largest,
        "largest": fmt.max_magnitude <= sums.largest,
        "infinity": infinite,
        "nan": any(operand.has_nan for operand in operands) or infinite,
    }
    return tuple(name for name in classes_of(fmt) if reached.get(name, True))
