"""Memory that is used again: never while an array lies in it, and by nobody who keeps a result."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fp9
from fp9.engines import ENGINES
from fp9.system import scratch as module
from fp9.system.scratch import KEPT, LARGEST, SMALLEST, scratch, scratch_copy, scratch_full, scratch_zeros

SHAPE = (SMALLEST // 8 + 3,)


def _address(array):
    return array.__array_interface__["data"][0]


def test_the_memory_of_a_dropped_array_is_given_again():
    slabs = module._Slabs()
    first = slabs.give(SMALLEST)[5:]
    place = _address(first)
    del first
    assert _address(slabs.give(SMALLEST)[5:]) == place


@pytest.mark.parametrize("view", [lambda x: x[5:9], lambda x: x.view(np.uint8), lambda x: x.reshape(-1, 1).T])
def test_memory_is_not_given_while_a_view_of_it_is_left(view):
    kept = view(scratch_full(SHAPE, 1.0, np.float64))
    before = kept.copy()
    others = [scratch_full(SHAPE, 2.0, np.float64) for _ in range(3)]
    assert not any(np.shares_memory(kept, other) for other in others)
    np.testing.assert_array_equal(kept, before)


def test_threads_have_memory_of_their_own():
    def work(number):
        for _ in range(200):
            own = scratch_full(SHAPE, number, np.float64)
            assert (own == number).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(16)))


def test_little_memory_is_kept():
    arrays = [scratch((LARGEST,), np.uint8) for _ in range(2 * KEPT // LARGEST)]
    assert len({_address(array) for array in arrays}) == len(arrays)
    assert sum(slab.size for slab in module._SLABS._slabs) <= KEPT


@pytest.mark.every(3)
@pytest.mark.parametrize("size", [0, 1, SMALLEST - 1, SMALLEST, LARGEST, LARGEST + 1])
def test_arrays_are_as_those_of_numpy(size):
    array = scratch((size,), np.uint8)
    assert array.shape == (size,) and array.dtype == np.uint8
    assert array.flags.c_contiguous and array.flags.writeable
    values = np.linspace(-9, 9, size or 1)
    np.testing.assert_array_equal(scratch_copy(values, np.float32), values.astype(np.float32))
    np.testing.assert_array_equal(scratch_full((size,), 7, np.uint8), np.full(size, 7, np.uint8))
    scratch_full((size,), 7, np.uint8)  # leaves memory that is not zero
    np.testing.assert_array_equal(scratch_zeros((size,), np.uint8), np.zeros(size, np.uint8))


@pytest.mark.every(8)
@pytest.mark.parametrize("engine", ENGINES)
def test_results_stay_when_other_products_are_made(engine):
    codes = np.random.default_rng(5).integers(0, 16, (3, 96, 96), dtype=np.uint8)
    left, right = codes[..., :16], codes[:, :16]

    def product(number):
        return fp9.matmul(left[number], right[number], "e2m1", "e2m1", engine)

    first = product(0)
    kept = first.copy()
    product(1)
    product(2)
    np.testing.assert_array_equal(kept, first)
