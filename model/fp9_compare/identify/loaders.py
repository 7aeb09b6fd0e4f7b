"""Loads the implementation to be identified: a Python function or a shared library's function."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.system.callables import named
from fp9.system.plugins import plugin
from fp9_compare.identify.box import Ask, Box
from fp9_compare.identify.interface import Interface

# `PATH:SYMBOL`, the path of a shared library and one of its symbols.
LIBRARY = re.compile(r"(?P<path>.+\.(?:so|dylib|dll)(?:\.\d+)*):(?P<symbol>\w+)")

# A loader maps the path of a file with a certain suffix to a `Box`. Packages in higher layers register loaders in this
# entry point group.
LOADERS = "fp9.boxes"

SIGNATURE = "void f(size_t n, size_t k, const A *a, const B *b, const R *c, R *d)"
"""C signature of a library function, with the smallest unsigned types A, B and R that hold a code."""


def load_box(target: str, interface: Interface, values: bool = False) -> Box:
    """Load the implementation named by a text `module:function` or `library.so:symbol`.

    Raises ValueError if the function or symbol does not exist.
    """
    library = LIBRARY.fullmatch(target)
    if library is None:
        return Box(target, interface, named(target), values)
    if values:
        raise ValueError(f"{target}: a library is asked codes; leave out --values")
    return Box(target, interface, _function(Path(library["path"]), library["symbol"], interface))


def loader_of(suffix: str) -> Any:
    return plugin(LOADERS, suffix.removeprefix("."))


def _function(path: Path, symbol: str, interface: Interface) -> Ask:
    try:
        library = ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        raise ValueError(f"{path} cannot be loaded: {error}; give a shared library") from None
    if not hasattr(library, symbol):
        raise ValueError(f"{path} has no {symbol}; export it as {SIGNATURE.replace(' f(', f' {symbol}(')}")
    function = getattr(library, symbol)
    function.restype = None
    function.argtypes = [ctypes.c_size_t, ctypes.c_size_t, *[ctypes.c_void_p] * 4]

    def ask(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        arrays = [np.ascontiguousarray(array) for array in (a, b, c)]
        results = np.zeros(len(c), dtype=interface.output.dtype)
        function(*a.shape, *(array.ctypes.data for array in (*arrays, results)))
        return results

    return ask
