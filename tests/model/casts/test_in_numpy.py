"""Casts by NumPy operations give the codes and flags of the universal kernel, without loading the kernels."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import DETERMINISTIC, TARGETS, overflows

from fp9.casts import in_numpy
from fp9.casts.arrays import decode_to
from fp9.casts.request import NOTHING, Plan, Request, universal
from fp9.formats import Format, floor_log2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import NanSign, Rounding

FLOAT64 = np.dtype(np.float64)


def _numbers(fmt: Format) -> NDArray[np.float64]:
    """Numbers of the format, powers of two near the ends of its range, midpoints, neighbours of these, and specials."""
    count = min(1 << fmt.bits, 1 << 9)
    codes = np.random.default_rng(0).permutation(1 << min(fmt.bits, 20))[:count] << max(fmt.bits - 20, 0)
    held = np.abs(decode_to(codes.astype(fmt.dtype) & ~np.array((1 << fmt.padding) - 1, fmt.dtype), fmt, np.float64))
    lowest, highest = floor_log2(fmt.value_of(fmt.smallest_code)), floor_log2(fmt.max_magnitude)
    places = [lowest, fmt.min_normal_exponent, highest] if fmt.can_underflow else [lowest, highest]
    powers = np.ldexp(1.0, np.concatenate([np.arange(place - 3, place + 4) for place in places]))
    ends = [powers * (1 - 2.0 ** -(fmt.precision + more)) for more in range(3)]
    some = np.unique(np.concatenate([held[np.isfinite(held)], powers, *ends, [0.0, float(fmt.max_magnitude)]]))
    points = np.concatenate([some, (some[1:] + some[:-1]) / 2])
    around = np.concatenate([points, np.nextafter(points, 0), np.nextafter(points, np.inf), [5e-324, 1e308, np.inf]])
    return np.concatenate([around, -around, [np.nan, -np.nan]])


def _encoded(plan: Plan, fmt: Format, numbers: NDArray[np.float64]) -> tuple[NDArray[np.generic], NDArray[np.uint8]]:
    codes, flags = np.empty(numbers.shape, dtype=fmt.dtype), np.empty(numbers.shape, dtype=np.uint8)
    plan.encode(NOTHING, slice(0, numbers.size), numbers, codes, flags)
    return codes, flags


@pytest.mark.parametrize("fmt", TARGETS, ids=str)
def test_numpy_rounds_as_the_kernel(fmt: Format) -> None:
    numbers = _numbers(fmt)
    policies = [CastPolicy(mode, overflow) for mode in DETERMINISTIC for overflow in overflows(fmt)]
    for policy in [*policies, CastPolicy(nan_sign=NanSign.LOST), CastPolicy(Rounding.RDN, nan_to_zero=True)]:
        request = Request(fmt, policy, flags=True)
        found = _encoded(in_numpy.plan_of(request), fmt, numbers)
        expected = _encoded(universal(request, FLOAT64), fmt, numbers)
        for some, others, what in zip(found, expected, ("codes", "flags"), strict=True):
            wrong = some != others
            shown = f"{what} of {numbers[wrong][:4]} by {policy}: {some[wrong][:4]}, {others[wrong][:4]}"
            assert not wrong.any(), shown


def test_numpy_supports_the_rounding_modes_without_random_bits() -> None:
    assert {mode for mode in Rounding if in_numpy.supports(mode)} == set(DETERMINISTIC)


_FIRST_CALLS = """
import sys, numpy as np, fp9
x = np.float32([0.3, -1e9, np.nan, 0.0])
small = [fp9.encode(x, "e4m3", flags=True), fp9.encode(x, "hif8"), fp9.decode(np.uint8([1, 200, 127]), "e4m3")]
assert "numba" not in sys.modules, "small calls load Numba"
fp9.encode(np.zeros(1 << 21, np.float32), "e4m3")
assert "numba" in sys.modules, "large calls load no kernels"
again = [fp9.encode(x, "e4m3", flags=True), fp9.encode(x, "hif8"), fp9.decode(np.uint8([1, 200, 127]), "e4m3")]
assert str(small) == str(again)
"""


def test_kernels_are_loaded_for_large_calls_alone() -> None:
    subprocess.run([sys.executable, "-c", _FIRST_CALLS], check=True)
