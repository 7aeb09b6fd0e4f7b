"""What the committed smoke suites of casts meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.rosters import units

from fp9.casts.arrays import decode_native
from fp9.golden.selects import signed
from fp9.units import SCALE_BITS, Cast
from fp9.vectors import read

FOLDER = Path(__file__).parents[3] / "vectors"


@pytest.mark.parametrize("unit", [u for u in units(Cast) if len(u.roundings) == 1], ids=lambda unit: unit.name)
def test_smoke_meets_both_sides_of_what_overflows(unit: Cast) -> None:
    """In every lane and target: a number that becomes the largest, and one as near to what would be the next."""
    made = read(FOLDER / f"{unit.name}.vec")
    count = len(made)
    target = np.minimum(made.inputs.get("target", np.zeros(count, np.uint8)), len(unit.targets) - 1)
    scale = signed(made.inputs["scale"], SCALE_BITS) if unit.scale else np.zeros(count, np.int64)
    for x in unit.lane_names("x"):
        magnitudes = made.inputs[x] & unit.source.magnitude_mask
        magnitudes[magnitudes > unit.source.max_code] = 0
        numbers = np.ldexp(decode_native(magnitudes.astype(unit.source.dtype), unit.source).astype(np.float64), scale)
        for index, fmt in enumerate(unit.targets):
            largest = float(fmt.max_magnitude)
            half = (largest - fmt.to_float(int(fmt.ordered_magnitudes()[-2]))) / 2
            ours = numbers[target == index]
            assert (np.abs(ours - largest) < half).any(), (x, fmt.name)
            assert ((ours > largest + half) & (ours <= largest + 2 * half)).any(), (x, fmt.name)
