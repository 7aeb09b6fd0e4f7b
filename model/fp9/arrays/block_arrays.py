"""Arrays in a block format, stored as element codes, block scales and a tensor scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.arrays.array import Array
from fp9.blocks import BlockFormat, block_format, dequantise
from fp9.blocks.arrays import layout_of
from fp9.casts.arrays import CastOptions, as_codes, encode
from fp9.engines import Engine
from fp9.engines import engine as find_engine

if TYPE_CHECKING:
    from typing import Unpack

    from numpy.typing import ArrayLike, NDArray


class BlockArray(Array):
    """Array in a block format, stored as element codes and block scales.

    A `BlockArray` behaves like an array of the numbers that it represents, which are exact in float64. `codes` holds
    the element codes in the shape of the array. `scales` holds a scale code for every block. Blocks lie along `axis`,
    or over the last two axes if `square` is true. `tensor_scale` multiplies all numbers. An integer index on the axis
    of the blocks gives float64 numbers instead of a `BlockArray`. A slice or a reshape that splits a block raises an
    error.

    >>> import fp9
    >>> x = fp9.quantise(np.float32([[1.0, -0.3, 500.0, 3.0]]), "mxfp8_e4m3")
    >>> x, x.scales.tolist(), x.format.scale.name
    (BlockArray([[1.0, -0.3125, 448.0, 3.0]], mxfp8_e4m3), [[127]], 'e8m0')

    Raises ValueError if the shapes do not match, or if a code does not exist in its format.
    """

    __slots__ = ("axis", "square", "tensor_scale")

    def __init__(
        self,
        codes: ArrayLike,
        scales: ArrayLike,
        fmt: BlockFormat | str,
        axis: int = -1,
        *,
        tensor_scale: float | None = None,
        square: bool = False,
        accumulator: Engine | str | None = None,
    ) -> None:
        self.format = block_format(fmt)
        self.codes = as_codes(codes, self.format.element)
        self.scales: Any = np.asarray(scales)
        self.axis = axis % max(self.codes.ndim, 1)
        self.square, self.tensor_scale = square, tensor_scale
        self.accumulator = None if accumulator is None else find_engine(accumulator)
        layout = layout_of(self.codes.shape, self.format, self.axis if not square else -1, square)
        if self.scales.shape != layout.scales_shape:
            raise ValueError(
                f"scales of shape {self.scales.shape} given for elements of shape {self.codes.shape}; "
                f"{self.format.name} has {layout.scales_shape} of them"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return float64, the dtype of the numbers."""
        return np.dtype(np.float64)

    @property
    def blocked(self) -> tuple[int, ...]:
        """Return the axes along which a block's elements lie."""
        return (self.ndim - 2, self.ndim - 1) if self.square else (self.axis,)

    def numbers(self) -> NDArray[Any]:
        """Return the exact numbers in float64: element times block scale times tensor scale."""
        how: Any = {"tensor_scale": self.tensor_scale, "square": self.square}
        return dequantise(self.codes, self.scales, self.format, self.axis, **how)

    def reshape(self, *shape: Any) -> BlockArray:
        """Return the array in another shape.

        Blocks must lie along the last axis. A reshape must keep the length of the last axis, unless the old and the new
        length are multiples of the block length.
        """
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        codes, length = self.codes.reshape(given), self.format.length
        last = codes.shape[-1] if codes.ndim else 0
        same = last == self.shape[-1] or not (last % length or self.shape[-1] % length)
        if self.square or self.axis != self.ndim - 1 or not codes.ndim or not same:
            raise ValueError(
                f"shape {codes.shape} given for blocks of {length} in an array of shape {self.shape}; keep the blocks "
                "whole along the last axis, or reshape np.asarray(x)"
            )
        return self._at(codes, self.scales.reshape(*codes.shape[:-1], -(-last // length)), codes.ndim - 1)

    def of_codes(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Apply a NumPy method that keeps the elements of a block together, such as `transpose`, to codes and scales.

        Raises TypeError for NumPy methods that could separate elements of the same block, such as `repeat`.
        """
        if method in ("reshape", "ravel"):
            return self.reshape(*arguments or (-1,))
        if method == "flatten":
            return self.reshape(-1).copy()
        if method not in ("swapaxes", "transpose", "copy"):
            raise TypeError(f"{method} of blocks of {self.format.name} asked for; call np.asarray(x).{method}")
        return self._permuted(lambda array: getattr(array, method)(*arguments, **options))

    def moved(self, change: Callable[[NDArray[Any]], Any]) -> Any:
        """Apply a function that exchanges axes, such as `np.transpose`, to the element codes and to the scales."""
        return self._permuted(change)

    def _permuted(self, change: Callable[[NDArray[Any]], Any]) -> BlockArray:
        # Find the permutation of axes: apply `change` to a small array whose axes have distinct lengths.
        lengths = range(2, self.ndim + 2)
        marker = np.arange(math.prod(lengths)).reshape(*lengths)
        moved = change(marker)
        order = [length - 2 for length in moved.shape] if isinstance(moved, np.ndarray) else []
        if sorted(order) != list(range(self.ndim)) or not np.array_equal(moved, marker.transpose(order)):
            raise TypeError(
                f"an operation that splits blocks of {self.format.name} given; exchange, join or index whole blocks, "
                "or use np.asarray(x)"
            )
        axis = order.index(self.axis)
        if self.square and {order.index(a) for a in self.blocked} != {self.ndim - 2, self.ndim - 1}:
            raise ValueError(
                "square blocks given; the last two axes hold them, so exchange these two axes only with each other"
            )
        return self._at(change(self.codes), change(self.scales), self.ndim - 1 if self.square else axis)

    def _at(self, codes: NDArray[Any], scales: NDArray[Any], axis: int) -> BlockArray:
        how: Any = {"tensor_scale": self.tensor_scale, "square": self.square, "accumulator": self.accumulator}
        return BlockArray(codes, scales, self.format, axis, **how)

    def __getitem__(self, where: Any) -> Any:
        index = _expanded(where, self.ndim)
        along = [one for one in index if one is not None]
        if any(not isinstance(along[axis], slice) for axis in self.blocked):
            return self.numbers()[where]
        own, axis, place = [], -1, 0
        for one in index:
            if one is not None and place in self.blocked:
                own.append(self._of_blocks(one, place))
                axis = sum(isinstance(i, slice) or i is None for i in index[: len(own) - 1])
            else:
                own.append(one)
            place += one is not None
        return self._at(self.codes[tuple(index)], self.scales[tuple(own)], axis)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numbers()) if 0 in self.blocked else super().__iter__()

    def _of_blocks(self, one: slice, axis: int) -> slice:
        length, size = self.format.length, self.shape[axis]
        start, stop, step = one.indices(size)
        if step == 1 and start % length == 0 and (stop % length == 0 or stop == size):
            return slice(start // length, -(-stop // length))
        raise IndexError(
            f"index {one} of axis {axis} given, and the axis has blocks of {length}; give a slice between multiples of "
            f"{length}, or index np.asarray(x)"
        )

    def __setitem__(self, where: Any, numbers: ArrayLike) -> None:
        raise TypeError(
            f"an element of {self.format.name} assigned; elements of a block share a scale: quantise the numbers again"
        )

    def joined(self, called: Any, arrays: list[Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> BlockArray:
        """Concatenate or stack arrays of one block format.

        If the joined axis is divided into blocks, every array except the last must consist of complete blocks.
        """
        known = called in (np.concatenate, np.stack)
        axis = options.get("axis", arguments[0] if arguments else 0) if known else None
        same = {(one.axis, one.square, one.tensor_scale, one.ndim) for one in arrays}
        if axis is None or len(same) > 1:
            raise ValueError(
                f"blocks of {self.format.name} joined by {called.__name__}; call np.concatenate or np.stack along an "
                "axis, of arrays with blocks along the same axis and one tensor_scale"
            )
        if called is np.stack:
            return self._stacked(arrays, axis % (self.ndim + 1))
        axis %= self.ndim
        if axis in self.blocked and any(one.shape[axis] % self.format.length for one in arrays[:-1]):
            raise ValueError(
                f"blocks of {self.format.length} joined along axis {axis}, and one array ends within a block; join the "
                "numbers, and quantise them again"
            )
        codes, scales = (np.concatenate([getattr(one, n) for one in arrays], axis) for n in ("codes", "scales"))
        return self._at(codes, scales, self.axis)

    def _stacked(self, arrays: list[Any], axis: int) -> BlockArray:
        if self.square and axis > self.ndim - 2:
            raise ValueError(f"square blocks stacked along axis {axis}; the last two axes hold them: give axis=0")
        codes, scales = (np.stack([getattr(one, n) for one in arrays], axis) for n in ("codes", "scales"))
        return self._at(codes, scales, self.axis + (axis <= self.axis))

    def astype(self, target: Any, **options: Unpack[CastOptions]) -> Array:
        """Convert the numbers to another format, with one rounding and the options of `fp9.encode`."""
        return Array(encode(self.numbers(), target, **options), target, accumulator=self.accumulator)

    def _scaled(self) -> str:
        return "" if self.tensor_scale is None else f", tensor_scale={float(self.tensor_scale)!r}"


def _expanded(where: Any, dimensions: int) -> list[Any]:
    index = list(where) if isinstance(where, tuple) else [where]
    if any(not isinstance(one, int | np.integer | slice) and one is not None and one is not ... for one in index):
        raise IndexError(
            "an array of blocks takes integers, slices and None as index; for other indices, use np.asarray(x)"
        )
    missing = dimensions - sum(one is not None and one is not ... for one in index)
    if missing < 0 or sum(one is ... for one in index) > 1:
        raise IndexError(f"index {where} given for an array of {dimensions} axes")
    place = next((i for i, one in enumerate(index) if one is ...), None)
    rest = [slice(None)] * missing
    return [*index, *rest] if place is None else [*index[:place], *rest, *index[place + 1 :]]
