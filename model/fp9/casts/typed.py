"""Arrays that know their format: codes with their meaning, for formats that no other package has a dtype for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from fp9.casts.arrays import CastOptions, as_codes, cast, decode, encode
from fp9.formats import Format
from fp9.formats.dtypes import as_dtype, named_or_carried

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Array(NDArrayOperatorsMixin):
    """Codes of a format, as an array of the numbers that they stand for.

    `Array(codes, fmt)` takes codes without a copy: unsigned integers of the format, or an array of ml_dtypes, en_dtypes
    or torch, which needs no format named; `array(numbers, fmt)` rounds numbers. NumPy sees the numbers (float32, or
    float64 where float32 cannot hold them), so that functions and operators of NumPy give plain arrays; fp9's functions
    see the codes, and need no format with them.

    >>> x = array([0.3, -1.7, 16.0], "hif8")
    >>> x
    Array([0.3125, -1.75, 16.0], hif8)
    >>> x.codes.tolist(), (x * 2).tolist(), x.astype("e4m3")
    ([50, 142, 64], [0.625, -3.5, 32.0], Array([0.3125, -1.75, 16.0], e4m3))

    Raises ValueError for codes that the format does not have and for arrays of another format, TypeError for codes that
    are no integers or have no format.
    """

    __slots__ = ("codes", "format")

    def __init__(self, codes: ArrayLike, fmt: Format | str | None = None) -> None:
        self.format = named_or_carried(codes, fmt)
        self.codes: NDArray[Any] = as_codes(codes, self.format)

    # --- as NumPy has it -------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the codes."""
        return self.codes.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.codes.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.codes.size

    @property
    def nbytes(self) -> int:
        """Bytes of the codes."""
        return self.codes.nbytes

    @property
    def T(self) -> Array:
        """All axes in the other order, a view."""
        return Array(self.codes.T, self.format)

    @property
    def mT(self) -> Array:
        """The last two axes exchanged, a view."""
        return Array(self.codes.mT, self.format)

    def reshape(self, *shape: int) -> Array:
        """The same codes in another shape."""
        return Array(self.codes.reshape(*shape), self.format)

    def tolist(self) -> Any:
        """The numbers as Python's lists and floats."""
        return np.asarray(self).tolist()

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, where: Any) -> Array:
        return Array(self.codes[where], self.format)

    def __setitem__(self, where: Any, numbers: ArrayLike) -> None:
        """Numbers rounded by the format's own rounding, saturating."""
        self.codes[where] = encode(numbers, self.format)

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(np.asarray(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("numbers without a copy asked for; take the codes, or allow a copy")
        numbers = decode(self.codes, self.format)
        return numbers if dtype is None else numbers.astype(dtype)

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's function of the numbers."""
        given = [np.asarray(one) if isinstance(one, Array) else one for one in inputs]
        return getattr(function, method)(*given, **options)

    def __repr__(self) -> str:
        prefix = f"{type(self).__name__}("
        numbers = np.array2string(
            np.asarray(self),
            separator=", ",
            prefix=prefix,
            threshold=100,
            formatter={"float_kind": lambda x: repr(float(x))},
        )
        return f"{prefix}{numbers}, {self.format.name})"

    # --- to other formats and packages -----------------------------------------------------------------------------

    def astype(self, target: Any, **options: Unpack[CastOptions]) -> Array:
        """The numbers in another format, rounded once; options as `encode`. For NumPy's own dtypes: `np.asarray`."""
        return Array(cast(self.codes, self.format, target, **options), target)

    def view(self, package: str = "ml_dtypes") -> Any:
        """The same memory as an array of ml_dtypes or en_dtypes, or as a torch tensor.

        Raises ValueError where the package has no type for the format.
        """
        return as_dtype(self.codes, self.format, package)


def array(x: ArrayLike, fmt: Format | str, **options: Unpack[CastOptions]) -> Array:
    """Numbers as an array of a format; rounding, overflow and all else as `encode`.

    >>> array([[1.0, 1e9]], "e5m2", overflow="inf")
    Array([[1.0, inf]], e5m2)
    """
    return Array(encode(x, fmt, **options), fmt)
