"""Large arrays in memory that was used before.

A new array's pages come from the operating system one by one, cleared: in a virtual machine that takes some 1.5 us for
4 KiB, of a product of 512 x 512 x 512 as long as its sums. The C library gives memory back as soon as an array is gone.
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
"""Bytes of arrays that are taken from here: smaller ones the C library keeps, larger ones serve longer work."""

KEPT = 1 << 26
"""Bytes that are kept at most."""


def _references(slabs: list[NDArray[np.uint8]], place: int) -> int:
    """How often a slab is referred to: every array in its memory does so as its base."""
    return sys.getrefcount(slabs[place])


_UNUSED = _references([np.empty(1, dtype=np.uint8)], 0)


class _Slabs:
    """Memory that arrays lie in, the last one that was given at the end."""

    def __init__(self) -> None:
        self._slabs: list[NDArray[np.uint8]] = []
        self._lock = threading.Lock()

    def give(self, size: int) -> NDArray[np.uint8]:
        """Memory of at least `size` bytes, and at most twice that, in which no array lies."""
        with self._lock:
            slabs = self._slabs
            fits = (i for i in range(len(slabs)) if size <= slabs[i].size <= 2 * size)
            place = next((i for i in fits if _references(slabs, i) == _UNUSED), None)
            slabs.append(np.empty(size, dtype=np.uint8) if place is None else slabs.pop(place))
            while sum(slab.size for slab in slabs) > KEPT:
                del slabs[0]  # gone when the last array in it is
            return slabs[-1]


_SLABS = _Slabs()


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array with whatever is in its memory, which is free for others when the array and its views are gone."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if not SMALLEST <= size <= LARGEST:
        return np.empty(shape, dtype=kind)
    return _SLABS.give(size)[:size].view(kind).reshape(shape)


def scratch_copy(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """As `array.astype(dtype)`, contiguous."""
    copy = scratch(array.shape, dtype)
    copy[...] = array
    return copy


def scratch_full(shape: tuple[int, ...], value: float, dtype: DTypeLike) -> NDArray[Any]:
    """As `np.full`."""
    array = scratch(shape, dtype)
    array.fill(value)
    return array
