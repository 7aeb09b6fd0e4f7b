"""Directed roundings stay on their side (IEEE 754-2019 section 4.3.2): down <= x <= up, in every format."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.rosters import TABLED

import fp9
from fp9.formats import Format


@pytest.mark.parametrize("fmt", [fmt for fmt in TABLED if fmt.signed], ids=str)
def test_rounding_up_and_down_encloses_every_half_precision_number(fmt: Format) -> None:
    numbers = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    numbers = numbers[np.isfinite(numbers) & (np.abs(numbers) <= fmt.max)]
    down, up = (fp9.decode(fp9.encode(numbers, fmt, mode), fmt).astype(np.float64) for mode in ("rdn", "rup"))
    assert (down <= numbers).all()
    assert (numbers <= up).all()


def test_the_place_that_zero_took_rounds_up_to_the_smallest_number() -> None:
    """2^-bias is no number of DLFloat16 (zero has its code), nor is anything below it: up is the smallest."""
    place = 2.0**-31
    codes = fp9.encode(np.array([place, place / 2, np.nextafter(place, 1)]), "dlfloat16", "rup")
    assert codes.tolist() == [1, 1, 1]
