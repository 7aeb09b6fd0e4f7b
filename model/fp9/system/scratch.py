"""Pool of reused memory for large NumPy arrays.

The operating system clears each page of a new array, which takes about 1.5 us for 4 KiB in a virtual machine. For a
matrix product of 512 x 512 x 512, clearing memory takes as long as the sums. Without reuse, every array is cleared,
because the C library returns freed memory to the system.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

SMALLEST, LARGEST = 1 << 16, 1 << 25
"""Smallest and largest size, in bytes, of arrays in the pool.

The C library itself reuses the memory of smaller arrays. For larger arrays, reuse saves little of the total time.
"""

KEPT = 1 << 26
"""Largest number of bytes in the pool."""


def _references(slabs: list[NDArray[np.uint8]], place: int) -> int:
    """Return the reference count of a memory slab, which is the base of every array in the slab."""
    return sys.getrefcount(slabs[place])


_UNUSED = _references([np.empty(1, dtype=np.uint8)], 0)


class _Slabs:
    """Pool of memory blocks (slabs), with the most recently used slab last."""

    def __init__(self) -> None:
        self._slabs: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def give(self, size: int) -> NDArray[np.uint8]:
        with self._lock:
            slabs = self._slabs
            fits = (i for i in range(len(slabs)) if size <= slabs[i].size <= 2 * size)
            place = next((i for i in fits if _references(slabs, i) == _UNUSED), None)
            slabs.append(np.empty(size, dtype=np.uint8) if place is None else slabs.pop(place))
            while sum(slab.size for slab in slabs) > KEPT:
                del slabs[0]  # freed with the last array in the slab
            return slabs[-1]


_SLABS = _Slabs()


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array in reused memory.

    The pool reuses the memory after the array and all its views are freed.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if not SMALLEST <= size <= LARGEST:
        return np.empty(shape, dtype=kind)
    return _SLABS.give(size)[:size].view(kind).reshape(shape)


def scratch_copy(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return a contiguous copy of an array in reused memory, like `array.astype(dtype)`."""
    copy = scratch(array.shape, dtype)
    copy[...] = array
    return copy


def scratch_full(shape: tuple[int, ...], value: float, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array in reused memory that is filled with a value, like `np.full`."""
    array = scratch(shape, dtype)
    array.fill(value)
    return array
