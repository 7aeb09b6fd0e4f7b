"""Exchange of code arrays with ml_dtypes, en_dtypes and torch, without a copy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats import ALIASES, Format, format
from fp9.formats.catalogue import dtype_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _is_torch(thing: object, kind: str) -> bool:
    return type(thing).__module__.partition(".")[0] == "torch" and type(thing).__name__ == kind


def tensor_numbers(x: Any) -> NDArray[Any]:
    if not _is_torch(x, "Tensor"):
        return np.asarray(x)
    tensor = x.detach()
    if dtype_name(tensor.dtype) != "bfloat16":
        return np.asarray(tensor.numpy())
    import ml_dtypes  # slow to load
    import torch

    return np.asarray(tensor.view(torch.uint16).numpy().view(ml_dtypes.bfloat16))


def carried(codes: Any) -> Format | None:
    """Return the format that an array states by its attribute `format` or by its dtype."""
    fmt = getattr(codes, "format", None)
    if fmt is not None and isinstance(fmt, Format):
        return fmt
    name = dtype_name(getattr(codes, "dtype", None))
    return format(name) if name in ALIASES else None


def named_or_carried(codes: Any, fmt: Format | str | None, what: str = "fmt") -> Format:
    found = carried(codes) if fmt is None else format(fmt)
    if found is None:
        raise TypeError(f"plain codes given without their format; give {what}, or an array that has one (fp9.Array)")
    return found


def stored_codes(codes: Any, fmt: Format) -> NDArray[Any]:
    """Return codes as an array of integers."""
    array, name = codes, None
    if not isinstance(codes, np.ndarray) and isinstance(getattr(codes, "format", None), Format):
        if codes.format != fmt:
            raise ValueError(
                f"an array of {codes.format.name} given as codes of {fmt.name}; name its own format, or cast it first"
            )
        return np.asarray(codes.codes)
    if _is_torch(codes, "Tensor"):
        array, name = codes.detach(), dtype_name(codes.dtype)
        array = (array.view(_torch_integer(array)) if array.is_floating_point() else array).numpy()
    array = np.asarray(array)
    if array.dtype.kind in "iu":
        _check_named(name, fmt)
        return array
    if array.dtype in (np.float16, np.float32) and format(array.dtype.name) != fmt:
        return array
    _check_named(array.dtype.name, fmt)
    # The bits of another package's 8-bit floats are reinterpreted as integers.
    return array.view(fmt.dtype) if ALIASES.get(array.dtype.name) == fmt.name else array


def _torch_integer(tensor: Any) -> Any:
    import torch  # optional

    return {1: torch.uint8, 2: torch.uint16, 4: torch.uint32}[tensor.element_size()]


def _check_named(name: str | None, fmt: Format) -> None:
    if name in ALIASES and format(name) != fmt:
        raise ValueError(
            f"an array of {name} given as codes of {fmt.name}; name its own format, {ALIASES[name]}, or view it as "
            "unsigned integers"
        )


def as_dtype(codes: NDArray[Any], fmt: Format | str, package: Any = "ml_dtypes") -> Any:
    """Return codes as an ml_dtypes array, an en_dtypes array or a torch tensor, without a copy.

    `package` is a package name or the package's dtype for the format, such as `torch.float8_e5m2`.
    """
    target = format(fmt)
    package = package if isinstance(package, str) else _package_of(package, target)
    if package not in ("ml_dtypes", "en_dtypes", "torch"):
        raise ValueError(f"package {package!r} is not known; choose ml_dtypes, en_dtypes or torch")
    module = importlib.import_module(package)
    names = [alias for alias, name in ALIASES.items() if name == target.name and hasattr(module, alias)]
    if not names:
        raise ValueError(f"{package} has no type for {target.name}")
    if package == "torch":
        return module.from_numpy(codes).view(getattr(module, names[0]))
    return codes.view(getattr(module, names[0]))


def _package_of(dtype: Any, fmt: Format) -> str:
    name = dtype_name(dtype)
    if name is None:
        raise TypeError(f"package of type {type(dtype).__name__} given; give its name, such as 'torch', or a dtype")
    if ALIASES.get(name) != fmt.name:
        raise ValueError(f"dtype {name} given to view an array of {fmt.name}; call astype first, or name a package")
    scalar = dtype.type if isinstance(dtype, np.dtype) else dtype
    return str(getattr(scalar, "__module__", type(scalar).__module__)).partition(".")[0]
