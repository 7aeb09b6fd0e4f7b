"""Array class for the codes of a number format, with optional power-of-two scales."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from fp9.arrays.functions import Held
from fp9.casts.arrays import CastOptions, as_codes, cast, decode, encode
from fp9.casts.sources import as_scale
from fp9.casts.tables import smallest_dtype
from fp9.engines import Engine
from fp9.engines import engine as find_engine
from fp9.formats import Format
from fp9.formats.dtypes import as_dtype, named_or_carried

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

OF_NUMBERS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "clip",
        "cumprod",
        "cumsum",
        "item",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "round",
        "std",
        "sum",
        "tobytes",
        "trace",
        "var",
    ]
)
"""Names of NumPy array methods that compute a result from the numbers of the array."""
OF_CODES = frozenset(["copy", "diagonal", "flatten", "ravel", "repeat", "squeeze", "swapaxes", "take", "transpose"])
"""Names of NumPy array methods that only move elements. The methods return an array of the same format."""


class Array(Held):
    """Array of codes in a number format. An `Array` behaves like an array of the numbers that its codes represent.

    `Array(codes, fmt)` holds an array of unsigned integers without a copy. Omit `fmt` for arrays with an 8-bit dtype of
    ml_dtypes, en_dtypes or torch. Call `array(numbers, fmt)` to round numbers. `scales` holds integer exponents k, in a
    shape that broadcasts to the shape of the codes. Each number is multiplied by 2**k. `accumulator` is the accumulator
    model with which `a @ b` adds products (see `fp9.accumulator`).

    NumPy functions that compute new numbers return plain NumPy arrays: float32, or float64 if float32 is too narrow.
    NumPy functions that only move elements, such as `np.transpose`, return an `Array` in the same format.

    >>> x = Array([50, 142, 64], "hif8")
    >>> x
    Array([0.3125, -1.75, 16.0], hif8)
    >>> x[:2].codes.tolist(), (x * 2).tolist(), x.max().item(), x.astype("e4m3")
    ([50, 142], [0.625, -3.5, 32.0], 16.0, Array([0.3125, -1.75, 16.0], e4m3))

    Raises ValueError for an integer that is not a code of the format, and for an array of another format. Raises
    TypeError for codes that are not integers or have no format.
    """

    __slots__ = ("accumulator", "codes", "format", "scales")

    def __init__(
        self,
        codes: ArrayLike,
        fmt: Format | str | None = None,
        *,
        scales: ArrayLike | None = None,
        accumulator: Engine | str | None = None,
    ) -> None:
        self.format: Any = named_or_carried(codes, fmt)
        self.codes: NDArray[Any] = as_codes(codes, self.format)
        self.scales: NDArray[Any] | None = None
        if scales is not None:
            as_scale(scales, self.codes.shape)
            self.scales = np.asarray(scales, dtype=np.int32)
        self.accumulator = None if accumulator is None else find_engine(accumulator)

    # --- what it holds ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the array."""
        return self.codes.shape

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return self.codes.ndim

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return self.codes.size

    @property
    def nbytes(self) -> int:
        """Return the number of bytes that the codes and scales occupy."""
        return self.codes.nbytes + (0 if self.scales is None else self.scales.nbytes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the NumPy dtype, float32 or float64, that can represent all numbers of the array."""
        span = (0, 0) if self.scales is None or not self.scales.size else (self.scales.min(), self.scales.max())
        return smallest_dtype(self.format, (int(span[0]), int(span[1])))

    @property
    def T(self) -> Any:
        """Return a view with all axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """Return a view with the last two axes exchanged."""
        return self.swapaxes(-1, -2)

    def numbers(self) -> NDArray[Any]:
        """Return the array's numbers, with scales applied, as a NumPy array of `dtype`."""
        return decode(self.codes, self.format, scale=0 if self.scales is None else self.scales)

    def tolist(self) -> Any:
        """Return the array's numbers as Python lists of floats."""
        return self.numbers().tolist()

    def reshape(self, *shape: Any) -> Any:
        """Return the array in another shape."""
        return self.of_codes("reshape", *shape)

    # --- parts -----------------------------------------------------------------------------------------------------

    def of_codes(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Apply a NumPy method that only moves elements, such as `reshape`, to codes and scales. Return an `Array`."""
        return self.moved(lambda array: getattr(array, method)(*arguments, **options))

    def moved(self, change: Callable[[NDArray[Any]], Any]) -> Any:
        """Apply `change`, a function that only moves elements, to codes and scales, and return an `Array`.

        If `change` splits an array into several arrays, as `np.split` does, return a list of `Array` objects.
        """
        codes, scales = change(self.codes), self.scales
        if scales is not None and scales.ndim:
            scales = change(np.broadcast_to(scales, self.shape))
        if isinstance(codes, list | tuple):
            each = scales if isinstance(scales, list | tuple) else [scales] * len(codes)
            return [self._like(*parts) for parts in zip(codes, each, strict=True)]
        return self._like(codes, scales)

    def joined(self, called: Any, arrays: list[Array], arguments: tuple[Any, ...], options: dict[str, Any]) -> Array:
        """Join arrays of one format, with their scales, by a NumPy function such as `np.concatenate`."""
        codes = called([one.codes for one in arrays], *arguments, **options)
        if all(one.scales is None for one in arrays):
            return self._like(codes, None)
        scales = [np.broadcast_to(0 if one.scales is None else one.scales, one.shape) for one in arrays]
        return self._like(codes, called(scales, *arguments, **options))

    def _like(self, codes: NDArray[Any], scales: Any) -> Array:
        return Array(codes, self.format, scales=scales, accumulator=self.accumulator)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, where: Any) -> Any:
        return self.moved(lambda array: np.asarray(array[_plain_index(where)]))

    def __setitem__(self, where: Any, numbers: ArrayLike) -> None:
        """Round numbers to the format, and store their codes in the indexed elements. The scales stay unchanged.

        Numbers are rounded by the default rounding mode of the format, and saturate.
        """
        place = _plain_index(where)
        scale: Any = 0 if self.scales is None else np.broadcast_to(self.scales, self.shape)[place]
        given = (
            np.broadcast_to(np.asarray(numbers), np.shape(self.codes[place])) if self.scales is not None else numbers
        )
        self.codes[place] = encode(given, self.format, scale=scale)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        if name in OF_NUMBERS:
            return getattr(self.numbers(), name)
        if name in OF_CODES:
            return lambda *arguments, **options: self.of_codes(name, *arguments, **options)
        raise AttributeError(
            f"{type(self).__name__} has no {name!r}; use np.asarray(x) for the numbers as a NumPy array"
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *OF_NUMBERS, *OF_CODES})

    # --- as NumPy and other packages have it -----------------------------------------------------------------------

    def __float__(self) -> float:
        return float(self.numbers())

    def __int__(self) -> int:
        return int(self.numbers())

    def __bool__(self) -> bool:
        return bool(self.numbers())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("copy=False given, but decoding needs a copy; read the codes, or allow a copy")
        numbers = self.numbers()
        return numbers if dtype is None else numbers.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numbers().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.codes.__dlpack_device__()

    def __repr__(self) -> str:
        prefix = f"{type(self).__name__}("
        numbers = np.array2string(
            self.numbers(),
            separator=", ",
            prefix=prefix,
            threshold=100,
            formatter={"float_kind": lambda x: repr(float(x))},
        )
        return f"{prefix}{numbers}, {self.format.name}{self._scaled()})"

    def _scaled(self) -> str:
        return "" if self.scales is None else f", scales={np.array2string(self.scales, separator=', ', threshold=8)}"

    # --- to other formats and packages -----------------------------------------------------------------------------

    def astype(self, target: Any, **options: Unpack[CastOptions]) -> Array:
        """Convert the numbers to another format, with one rounding and the options of `fp9.encode`.

        To convert to a NumPy dtype, use `np.asarray`.
        """
        if self.scales is not None:
            return Array(encode(self.numbers(), target, **options), target, accumulator=self.accumulator)
        return Array(cast(self.codes, self.format, target, **options), target, accumulator=self.accumulator)

    def view(self, package: Any = "ml_dtypes") -> Any:
        """Return the codes, without scales, as an array of ml_dtypes or en_dtypes, or as a torch tensor.

        `package` is the name of the package, or the package's dtype for the array's format, such as
        `torch.float8_e5m2`. The returned array or tensor shares its memory with `codes`. Raises ValueError if the
        package has no dtype for the array's format, or if the given dtype has a different format.
        """
        return as_dtype(self.codes, self.format, package)


def _plain_index(where: Any) -> Any:
    if isinstance(where, tuple):
        return tuple(_plain_index(one) for one in where)
    return where.numbers() if isinstance(where, Array) else where
