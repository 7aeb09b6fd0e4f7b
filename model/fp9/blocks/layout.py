"""Division of an array into blocks along an axis, or into square blocks; the last blocks can be shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of blocks: `length` elements along `axis`, or `length` x `length` squares over the last two axes."""

    shape: tuple[int, ...]
    length: int
    axis: int
    square: bool

    def __post_init__(self) -> None:
        dimensions = len(self.shape)
        if self.square and dimensions < 2:
            raise ValueError(f"square blocks of an array of shape {self.shape} asked for; give two axes or more")
        if isinstance(self.axis, bool) or not isinstance(self.axis, int | np.integer):
            raise TypeError(f"axis of type {type(self.axis).__name__} given; give an integer, such as -1")
        if not -dimensions <= self.axis < dimensions:
            raise ValueError(f"axis {self.axis} given for an array of shape {self.shape}; give one of its axes")
        if self.square and self.axis not in (-1, dimensions - 1):
            raise ValueError(f"axis {self.axis} given with square blocks; they lie over the last two axes")

    @property
    def scales_shape(self) -> tuple[int, ...]:
        axes = range(len(self.shape))
        blocked = (len(self.shape) - 2, len(self.shape) - 1) if self.square else (self.axis % len(self.shape),)
        return tuple(-(-n // self.length) if axis in blocked else n for axis, n in zip(axes, self.shape, strict=True))

    @property
    def block_size(self) -> int:
        return self.length**2 if self.square else self.length

    @property
    def divides(self) -> bool:
        """Return whether all blocks are contiguous and have the full length."""
        return not self.square and self.axis in (-1, len(self.shape) - 1) and self.shape[-1] % self.length == 0

    def blocks(self, array: NDArray[Any]) -> NDArray[Any]:
        """Rearrange an array to contiguous blocks (blocks, block_size), padded with zeros."""
        if self.divides:
            return np.ascontiguousarray(array).reshape(-1, self.length)
        moved = array if self.square else np.moveaxis(array, self.axis, -1)
        counts = self._counts()
        widths = [(0, 0)] * moved.ndim
        for back, count in enumerate(counts, start=1):
            widths[-back] = (0, count * self.length - moved.shape[-back])
        padded = np.pad(moved, widths)
        if not self.square:
            return np.ascontiguousarray(padded).reshape(-1, self.length)
        parted = padded.reshape(*moved.shape[:-2], counts[1], self.length, counts[0], self.length)
        return np.ascontiguousarray(parted.swapaxes(-3, -2)).reshape(-1, self.block_size)

    def elements(self, blocks: NDArray[Any]) -> NDArray[Any]:
        if self.divides:
            return blocks.reshape(self.shape)
        counts = self._counts()
        if self.square:
            parted = blocks.reshape(*self.shape[:-2], counts[1], counts[0], self.length, self.length).swapaxes(-3, -2)
            whole = parted.reshape(*self.shape[:-2], counts[1] * self.length, counts[0] * self.length)
            return np.ascontiguousarray(whole[..., : self.shape[-2], : self.shape[-1]])
        outer = np.moveaxis(np.empty(self.shape, dtype=np.bool_), self.axis, -1).shape
        whole = blocks.reshape(*outer[:-1], counts[0] * self.length)[..., : outer[-1]]
        return np.ascontiguousarray(np.moveaxis(whole, -1, self.axis))

    def scales(self, one_a_block: NDArray[Any]) -> NDArray[Any]:
        if self.square or self.divides:
            return one_a_block.reshape(self.scales_shape)
        moved = list(self.scales_shape)
        moved.append(moved.pop(self.axis))
        return np.ascontiguousarray(np.moveaxis(one_a_block.reshape(moved), -1, self.axis))

    def of_blocks(self, scales: NDArray[Any]) -> NDArray[Any]:
        moved = scales if self.square else np.moveaxis(scales, self.axis, -1)
        return np.ascontiguousarray(moved).reshape(-1)

    def _counts(self) -> tuple[int, ...]:
        if self.square:
            return self.scales_shape[-1], self.scales_shape[-2]
        return (self.scales_shape[self.axis],)
