"""The factors of all lanes of a multi-format FPU in one multiplier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.multi_fpus import SEVERAL

from fp9.units import MultiFpu
from fp9_rtl.fpu.lanes import lanes_of
from fp9_rtl.fpu.products import SharedFactors

SHARED = [unit for unit in SEVERAL if SharedFactors(unit, lanes_of(unit)).fit]


@pytest.mark.parametrize("unit", SHARED, ids=lambda unit: unit.name)
@given(data=st.data())
def test_each_lane_finds_its_own_product(unit: MultiFpu, data: st.DataObject) -> None:
    factors = SharedFactors(unit, lanes_of(unit))
    mode = data.draw(st.integers(0, len(factors.modes) - 1))
    used = factors.used(factors.modes[mode])
    pairs = {lane: [data.draw(st.integers(0, (1 << len(bits)) - 1)) for _ in "ab"] for lane, bits in used.items()}
    a, b = (sum(pair[side] << used[lane].start for lane, pair in pairs.items()) for side in (0, 1))
    product = 0
    for rows, masks in factors.rows():
        product += (a & masks[mode]) * (b >> rows.start & (1 << len(rows)) - 1) << rows.start
    elsewhere = product
    for lane, (own_a, own_b) in pairs.items():
        place = factors.place(lane)
        field = product >> 2 * place.start & factors.product_masks(lane)[mode] & (1 << 2 * len(place)) - 1
        assert field == own_a * own_b << 2 * (used[lane].start - place.start)
        elsewhere -= own_a * own_b << 2 * used[lane].start
    assert elsewhere == 0


def test_most_units_with_lanes_share_a_multiplier() -> None:
    assert len(SHARED) > len(SEVERAL) / 2


def test_lanes_of_wide_significands_have_their_own_multipliers() -> None:
    unit = next(unit for unit in SEVERAL if unit.name == "wide_lanes")
    assert not SharedFactors(unit, lanes_of(unit)).fit
