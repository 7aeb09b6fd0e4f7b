"""NumPy functions and operators for `fp9.Array`, an array of codes in a number format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOVING = frozenset(
    {
        np.broadcast_to, np.copy, np.delete, np.diagonal, np.expand_dims, np.flip, np.fliplr, np.flipud, np.moveaxis,
        np.ravel, np.repeat, np.reshape, np.resize, np.roll, np.rollaxis, np.rot90, np.squeeze, np.swapaxes, np.take,
        np.take_along_axis, np.tile, np.transpose, np.matrix_transpose, np.unstack,
        np.array_split, np.split, np.hsplit, np.vsplit, np.dsplit, np.atleast_1d, np.atleast_2d, np.atleast_3d,
    }
)  # fmt: skip
"""NumPy functions that only move the elements of one array."""
JOINING = frozenset({np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack})
"""NumPy functions that join a sequence of arrays."""
SUMMING = frozenset({np.inner, np.vdot, np.tensordot, np.einsum, np.outer, np.kron, np.linalg.multi_dot})
"""NumPy functions that sum products in an undefined order. A call with an `fp9.Array` raises TypeError."""


class Held(NDArrayOperatorsMixin):
    """Base class of `fp9.Array` that implements NumPy's protocols for functions and operators."""

    __slots__ = ()

    product: ClassVar[Callable[..., Any]]
    """Function for matrix products and dot products. The module `fp9.arrays.products` sets the attribute."""

    def numbers(self) -> NDArray[Any]:
        raise NotImplementedError

    def moved(self, change: Callable[[NDArray[Any]], Any]) -> Any:
        raise NotImplementedError

    def joined(self, called: Any, arrays: list[Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return _ufunc(function, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return _function(function, arguments, options)


def numbers_of(given: Any) -> Any:
    """Replace every `Array` by its numbers, also inside lists, tuples and dictionaries."""
    if isinstance(given, Held):
        return given.numbers()
    if isinstance(given, list | tuple):
        return type(given)(numbers_of(one) for one in given)
    if isinstance(given, dict):
        return {key: numbers_of(value) for key, value in given.items()}
    return given


def _ufunc(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if function in _PRODUCTS and method == "__call__":
        return _product(function.__name__, *inputs, **options)
    targets = options.pop("out", None)
    result = getattr(function, method)(*numbers_of(inputs), **numbers_of(options))
    if targets is None:
        return result
    for target, numbers in zip(targets, result if isinstance(result, tuple) else (result,), strict=True):
        target[...] = numbers
    return targets[0] if len(targets) == 1 else targets


def _function(called: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if called is np.dot or called in SUMMING:
        return _product(called.__name__, *arguments, **options)
    if called in MOVING and isinstance(arguments[0], Held):
        return arguments[0].moved(lambda array: called(array, *arguments[1:], **options))
    if called in JOINING and all(isinstance(one, Held) for one in arguments[0]):
        return _joined(called, list(arguments[0]), arguments[1:], options)
    return called(*numbers_of(arguments), **numbers_of(options))


def _joined(called: Callable[..., Any], arrays: list[Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    first = arrays[0]
    for other in arrays[1:]:
        if type(other) is not type(first) or other.format != first.format:
            raise ValueError(
                f"arrays of {first.format.name} and {other.format.name} given to {called.__name__}; bring them to one "
                "format with astype, or join their numbers"
            )
    return first.joined(called, arrays, arguments, options)


_PRODUCTS = frozenset({np.matmul} | {getattr(np, name) for name in ("vecdot", "matvec", "vecmat") if hasattr(np, name)})


def _product(name: str, *inputs: Any, **options: Any) -> Any:
    if name not in ("matmul", "dot", "vecdot"):
        raise TypeError(f"np.{name} of fp9 arrays given; call fp9.matmul or fp9.dot, or np.{name} of np.asarray(x)")
    if options or len(inputs) != 2:
        raise TypeError(f"np.{name} of fp9 arrays given with {', '.join(options) or 'out'}; call fp9.matmul or fp9.dot")
    for place, one in zip(("left", "right"), inputs, strict=True):
        if not isinstance(one, Held):
            raise TypeError(
                f"{type(one).__name__} given as {place} factor of a product of fp9 arrays; call fp9.array(x, format) "
                "or fp9.quantise(x, format) for it, or multiply np.asarray of both"
            )
    return Held.product(*inputs, matrices=name == "matmul" or (name == "dot" and inputs[1].ndim > 1))
