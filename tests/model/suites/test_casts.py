"""What the corner and smoke suites of casts meet."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import EVERY_FORMAT, units

from fp9.casts.arrays import decode_native
from fp9.formats import FixedFormat, Kind, format
from fp9.golden.selects import signed
from fp9.suites.corner import corner
from fp9.suites.rounding_boundaries import outside, special_codes
from fp9.units import SCALE_BITS, Cast
from fp9.units.toml import build
from fp9.vectors import VectorSet, generate

CASTS = pytest.mark.parametrize("unit", units(Cast), ids=lambda unit: unit.name)


def chosen(made: VectorSet, select: str, choices: int) -> NDArray[np.int64]:
    """The choices of a select, shape (n,)."""
    return np.minimum(made.inputs.get(select, np.zeros(len(made), np.uint8)), choices - 1)


def lanes(unit: Cast, made: VectorSet) -> list[NDArray[np.float64]]:
    """The magnitudes of each lane's finite sources, scaled; of all others zero. Shape (n,) each."""
    scale = signed(made.inputs["scale"], SCALE_BITS) if unit.scale else np.zeros(len(made), np.int64)
    magnitudes = (made.inputs[x] & unit.source.magnitude_mask for x in unit.lane_names("x"))
    finite = (np.where(codes > unit.source.max_code, 0, codes).astype(unit.source.dtype) for codes in magnitudes)
    return [np.ldexp(decode_native(codes, unit.source).astype(np.float64), scale) for codes in finite]


@CASTS
def test_smoke_meets_both_sides_of_what_overflows(unit: Cast) -> None:
    """In every lane, target and rounding: a number that becomes the largest, one as near to what would be the next, and
    one of the binade behind, where the source has such."""
    made = generate(unit, "smoke")
    target, rounding = (
        chosen(made, select, len(choices))
        for select, choices in (("target", unit.targets), ("rounding", unit.roundings))
    )
    for numbers in lanes(unit, made):
        for (index, fmt), mode in itertools.product(enumerate(unit.targets), range(len(unit.roundings))):
            largest = float(fmt.max_magnitude)
            half = (largest - fmt.to_float(int(fmt.ordered_magnitudes()[-2]))) / 2
            ours = numbers[(target == index) & (rounding == mode)]
            what = fmt.name, unit.roundings[mode]
            assert (np.abs(ours - largest) < half).any(), what
            assert ((ours > largest + half) & (ours < largest + 2 * half)).any(), what
            behind = np.frexp(largest)[1] + 1
            assert (np.frexp(ours)[1] == behind).any() or np.frexp(unit.source.max)[1] < behind, what


@CASTS
def test_smoke_meets_both_sides_of_the_smallest_numbers_and_ties(unit: Cast) -> None:
    """Under every rounding: below the smallest normal number, rounded to it and tiny or not; above and below half of
    the smallest number; a tie above an even number and above an odd one."""
    made = generate(unit, "smoke")
    target, rounding = (
        chosen(made, select, len(choices))
        for select, choices in (("target", unit.targets), ("rounding", unit.roundings))
    )
    for numbers in lanes(unit, made):
        for (index, fmt), mode in itertools.product(enumerate(unit.targets), range(len(unit.roundings))):
            ours = numbers[(target == index) & (rounding == mode)]
            what = fmt.name, unit.roundings[mode]
            magnitudes = np.array([fmt.to_float(int(code)) for code in fmt.ordered_magnitudes()])
            step = fmt.smallest_normal - magnitudes[magnitudes < fmt.smallest_normal].max()
            below = (fmt.smallest_normal - ours) / step
            assert ((below > 0) & (below < 1 / 4)).any(), what
            assert ((below > 1 / 4) & (below < 1 / 2)).any(), what
            assert ((ours > fmt.smallest / 2) & (ours < fmt.smallest)).any(), what
            assert ((ours > fmt.smallest / 8) & (ours < fmt.smallest / 2)).any(), what
            ties = (magnitudes[1:] + magnitudes[:-1]) / 2
            assert np.isin(ties[::2], ours).any() and np.isin(ties[1::2], ours).any(), what


@CASTS
def test_smoke_has_every_kind_of_source_under_every_overflow(unit: Cast) -> None:
    """In every lane and target: zero, a subnormal number where there are such, the largest, infinity and NaN."""
    made = generate(unit, "smoke")
    source: FixedFormat = unit.source
    target, overflow = (
        chosen(made, select, len(choices))
        for select, choices in (("target", unit.targets), ("overflow", unit.overflow))
    )
    for x in unit.lane_names("x"):
        codes = made.inputs[x].astype(np.int64)
        kinds = np.array([source.kind_of(int(code)) for code in codes])
        found = {kind: kinds == kind for kind in (Kind.ZERO, Kind.NAN, *([Kind.INF] if source.has_inf else []))}
        tests: list[NDArray[np.bool_]] = [*found.values(), (codes & source.magnitude_mask) == source.max_code]
        if source.subnormals:
            tests.append((kinds == Kind.FINITE) & ((codes & source.magnitude_mask) < 1 << source.fraction_bits))
        for index, policy in itertools.product(range(len(unit.targets)), range(len(unit.overflow))):
            assert all((test & (target == index) & (overflow == policy)).any() for test in tests), (x, index, policy)


@pytest.mark.parametrize("unit", [u for u in units(Cast) if u.scale], ids=lambda unit: unit.name)
def test_with_a_scale_every_special_source_meets_every_choice(unit: Cast) -> None:
    """Of both signs; with a scale of one, and with another."""
    made = generate(unit, "corner").inputs
    ports = ("x", *(port.name for port in unit.inputs if port.choices))
    magnitudes = special_codes(unit.source)
    codes = [*magnitudes, *(magnitudes | unit.source.sign_mask)]
    choices = (range(len(port.choices)) for port in unit.inputs if port.choices)
    wanted = {*itertools.product(map(int, codes), *choices)}
    for scaled in (made["scale"] == 0, made["scale"] != 0):
        assert wanted <= {*zip(*(made[name][scaled].tolist() for name in ports), strict=True)}


def test_half_of_the_last_place_is_beside_the_numbers_of_formats_without_subnormals() -> None:
    """It is the highest number that every rounding to nearest takes down to zero, far below their smallest."""
    source = format("fp32")
    assert isinstance(source, FixedFormat)
    fixed = [fmt for fmt in map(format, EVERY_FORMAT) if isinstance(fmt, FixedFormat) and not fmt.subnormals]
    assert fixed
    for fmt in fixed:
        half = int(np.float32(2.0 ** (fmt.quantum(fmt.min_normal_exponent) - 1)).view(np.uint32))
        assert {half - 1, half, half + 1} <= {*outside(source, fmt).tolist()}, fmt.name


def test_random_bits_are_chosen_for_finite_sources_alone() -> None:
    """An infinity in the largest numbers' binade has no tail, which gave undefined random bits and a warning."""
    unit = build(
        {
            "kind": "cast",
            "name": "unit",
            "source": "1.6.11,b=32,specials=p3109",
            "targets": ["f161(bias=31)"],
            "roundings": ["sr"],
            "random_bits": 4,
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        columns = corner(unit, np.random.default_rng(0))
    assert len(columns["x"]) > 1000
