"""Array operations of scaled matrix products, with an implementation for NumPy arrays."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from fp9.arrays.array import Array
from fp9.casts.arrays import as_codes, decode_to, encode
from fp9.engines import Engine
from fp9.formats import Format
from fp9.formats.dtypes import tensor_numbers
from fp9.sums import products
from fp9.sums.operands import as_operand


class Backend(Protocol):
    """Array operations of a scaled matrix product, implemented separately for NumPy arrays and for device tensors."""

    def operand(self, side: str, given: Any, fmt: Format | str | None) -> Any:
        """Return an object with the attributes `codes`, `format`, `shape` and `ndim`."""

    def numbers(self, name: str, given: Any) -> Any:
        """Return an argument as FP32 numbers. Raise TypeError if the argument is not a number or an array."""

    def scale_codes(self, given: Any, fmt: Format) -> Any:
        """Convert scales to an array of codes of the format `fmt`, for the arguments `scales` of `multiply`."""

    def multiply(self, a: Any, b: Any, engine: Engine, some: Any = None, **scales: Any) -> Any:
        """Return the product of a (m, k) and b (k, n) as FP32 numbers.

        `some` is a slice or an array of indices along the axis k, and selects the products to add. If `some` is None,
        the method adds all products.
        """

    def zeros(self, rows: int, columns: int) -> Any:
        """Return a matrix of FP32 zeros."""

    def encode(self, numbers: Any, fmt: Format) -> Any:
        """Round FP32 numbers to the nearest numbers of `fmt`, and return the result codes in a new array."""


class NumpyBackend:
    """Operations of a scaled matrix product on NumPy arrays, with the kernels of fp9."""

    def operand(self, side: str, given: Any, fmt: Format | str | None) -> Any:
        return as_operand(side, given, fmt)

    def numbers(self, name: str, given: Any) -> Any:
        array = tensor_numbers(decode_to(given.codes, given.format, np.float32) if isinstance(given, Array) else given)
        if array.dtype.kind in "OSUcb":
            raise TypeError(f"{name} of type {type(given).__name__} given; give a number or an array of numbers")
        return array.astype(np.float32)

    def scale_codes(self, given: Any, fmt: Format) -> Any:
        return as_codes(given, fmt)

    def multiply(self, a: Any, b: Any, engine: Engine, some: Any = None, **scales: Any) -> Any:
        x, y = (a, b) if some is None else (a.codes[:, some], b.codes[some])
        codes = products.matmul(x, y, a.format, b.format, engine, **scales)
        return decode_to(codes, engine.output, np.float32)

    def zeros(self, rows: int, columns: int) -> Any:
        return np.zeros((rows, columns), np.float32)

    def encode(self, numbers: Any, fmt: Format) -> Any:
        return np.array(encode(numbers, fmt, "rne", overflow="inf"))
