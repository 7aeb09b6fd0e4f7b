"""The word in which the lanes of a multi-format FPU add."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.multi_fpus import SEVERAL

from fp9.units import FpuGroup, MultiFpu
from fp9_rtl.fpu.lanes import lanes_of
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.fpu.word import CARRY, SharedWord

ADDING = [unit for unit in SEVERAL if SharedWord(unit, lanes_of(unit)).fit]


@pytest.mark.parametrize("unit", ADDING, ids=lambda unit: unit.name)
def test_lanes_of_one_width_divide_the_word(unit: MultiFpu) -> None:
    word = SharedWord(unit, lanes_of(unit))
    for mode, lanes in enumerate(word.active):
        bits = [bit for lane in reversed(lanes) for bit in range(word.segment(lane, mode).start, word.end(lane))]
        assert bits == list(range(word.bits))
        assert all(word.owner(word.cell(bit), mode) == lane for lane in lanes for bit in word.segment(lane, mode))


@pytest.mark.parametrize("unit", ADDING, ids=lambda unit: unit.name)
def test_each_lane_has_room_for_its_exact_sum(unit: MultiFpu) -> None:
    lanes = lanes_of(unit)
    word = SharedWord(unit, lanes)
    for lane in word.lanes:
        scale = Scale.of(lanes[lane])
        width = unit.lane_places[lane][1]
        mode = (unit.word, *unit.lane_widths).index(width)
        own = 2 * scale.precision + scale.extra_bits
        assert len(word.segment(lane, mode)) >= own + CARRY
        assert all(
            len(bits) >= CARRY + 2 * max((fmt.precision for fmt in unit.narrow), default=0)
            for bits in word.segments(lane)
        )


@pytest.mark.parametrize("unit", ADDING, ids=lambda unit: unit.name)
@given(data=st.data())
def test_a_shift_takes_bits_from_the_same_lane(unit: MultiFpu, data: st.DataObject) -> None:
    word = SharedWord(unit, lanes_of(unit))
    step = data.draw(st.integers(-word.bits, word.bits).filter(bool))
    bits = data.draw(st.sets(st.integers(0, word.bits - 1)))
    found: list[int] = []
    for run, same in word.runs(bits, step):
        found.extend(run)
        for bit in run:
            for mode in word.modes:
                source = range(word.bits)[bit + step : bit + step + 1] if bit + step >= 0 else ()
                owners = {word.owner(word.cell(each), mode) for each in (bit, *source)}
                assert same[mode] == (len(source) == 1 and len(owners) == 1)
    assert found == sorted(bits)


def test_lanes_with_division_or_dot_products_have_their_own_adders() -> None:
    assert ADDING
    assert not any(unit.dot_products or FpuGroup.DIVSQRT in unit.groups for unit in ADDING)
