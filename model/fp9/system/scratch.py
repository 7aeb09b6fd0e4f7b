"""Pool of reused memory for large NumPy arrays.

Without the pool, the operating system would clear the memory of every new array. For a matrix product of 512 x 512 x
512, clearing the memory takes as long as the computation.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

# Bytes. The C library reuses the memory of smaller arrays. For larger arrays, reuse saves little of the total time.
SMALLEST, LARGEST = 1 << 16, 1 << 25

# Largest number of bytes in the pool.
KEPT = 1 << 26


def _references(slabs: list[NDArray[np.uint8]], place: int) -> int:
    # Every array in the slab's memory adds one reference.
    return sys.getrefcount(slabs[place])


_UNUSED = _references([np.empty(1, dtype=np.uint8)], 0)


class _Slabs:
    """Pool of memory blocks (slabs)."""

    def __init__(self) -> None:
        # The most recently used slab is last.
        self._slabs: list[NDArray[np.uint8]] = []
        self._sizes: list[int] = []
        self._lock = threading.Lock()

    def give(self, size: int) -> NDArray[np.uint8]:
        with self._lock:
            place = self._unused(size)
            if place is None:
                slab = np.empty(size, dtype=np.uint8)
                while self._sizes and sum(self._sizes) + size > KEPT:
                    del self._slabs[0], self._sizes[0]  # freed with the last array in the slab
            else:
                slab = self._slabs.pop(place)
                del self._sizes[place]
            self._slabs.append(slab)
            self._sizes.append(slab.size)
            return slab

    def _unused(self, size: int) -> int | None:
        for place, own in enumerate(self._sizes):
            if size <= own <= 2 * size and _references(self._slabs, place) == _UNUSED:
                return place
        return None


_SLABS = _Slabs()


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array, whose memory is reused after the array and all its views are freed."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if not SMALLEST <= size <= LARGEST:
        return np.empty(shape, dtype=kind)
    return _SLABS.give(size)[:size].view(kind).reshape(shape)


def scratch_copy(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    copy = scratch(array.shape, dtype)
    copy[...] = array
    return copy


def scratch_full(shape: tuple[int, ...], value: float, dtype: DTypeLike) -> NDArray[Any]:
    array = scratch(shape, dtype)
    array.fill(value)
    return array


def scratch_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    if math.prod(shape) * np.dtype(dtype).itemsize > LARGEST:
        # Such a large array takes memory only where it is written.
        return np.zeros(shape, dtype)
    return scratch_full(shape, 0, dtype)
