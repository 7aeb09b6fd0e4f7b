"""Compilation of Numba kernels, and the disk cache of their machine code.

Kernels call functions from several source files, so fp9 recompiles all kernels if a file in `kernels`, `formats` or
`engines` changes.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from fp9.kernels.parts import Part

_SOURCES = ("kernels", "formats", "engines")
"""Folders whose code and constants may be part of a kernel."""


_LOG = logging.getLogger("fp9")


class _Announced(event.Listener):
    """Listener that writes one log message when Numba compiles the first kernel."""

    # The message explains why the first call is slow.

    def on_start(self, _: event.Event) -> None:
        if not self._said:
            self._said = True
            _LOG.info("compiling kernels, once on this machine")

    def on_end(self, _: event.Event) -> None:
        """Do nothing."""

    _said = False


class _Undisturbed(event.Listener):
    """Listener that delays Ctrl-C during a compilation, because LLVM callbacks must not be interrupted."""

    def __init__(self) -> None:
        self._depth, self._asked = 0, False
        self._before: Any = None

    def on_start(self, _: event.Event) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if self._depth == 0:
            self._asked, self._before = False, signal.getsignal(signal.SIGINT)
            if callable(self._before):
                signal.signal(signal.SIGINT, self._keep)
        self._depth += 1

    def _keep(self, number: int, frame: Any) -> None:
        self._asked = True

    def on_end(self, _: event.Event) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth == 0 and callable(self._before):
            signal.signal(signal.SIGINT, self._before)
            if self._asked:
                signal.raise_signal(signal.SIGINT)


event.register("numba:compile", _Announced())  # type: ignore[no-untyped-call]
event.register("numba:compile", _Undisturbed())  # type: ignore[no-untyped-call]


@functools.cache
def _stamp() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source_root in _SOURCES:
        place = package / source_root
        for source in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{source.relative_to(package)}\n".encode() + source.read_bytes())
    return digest.hexdigest()


class _Stored(CompileResultCacheImpl):
    """Cached machine code, valid until a source file of the kernels changes."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        own = self.locator.get_source_stamp()
        self.locator.get_source_stamp = lambda: (own, _stamp())


class _Cache(FunctionCache):
    _impl_class = _Stored


def inlined(function: Callable[..., Any]) -> Any:
    """Decorate a function that the compiler inlines into kernels."""
    return Part(function, forceinline=True)


def called(function: Callable[..., Any]) -> Any:
    """Decorate a function that kernels can call. Unlike `inlined`, `called` does not force the compiler to inline."""
    return Part(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Decorate a kernel. Numba compiles the kernel at its first call, and caches the machine code on disk. The kernel
    releases the GIL while it runs.

    In a kernel, division by zero gives infinity instead of an error.
    """
    compiled = njit(function, nogil=True, error_model="numpy")
    # What `cache=True` sets, with the stamp of all files.
    compiled._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return compiled


class Direct:
    """Kernel that is compiled for the argument types of the first call.

    If a later call passes arguments of other types, the result is undefined.
    """

    # Determining argument types in Numba takes several times as long as a small kernel, so only the first call does it.
    # Types include the dtype, the number of axes and the memory layout.
    __slots__ = ("_entry", "_kernel")

    def __init__(self, kernel: Any) -> None:
        self._kernel, self._entry = kernel, None

    def __call__(self, *arguments: Any) -> Any:
        entry = self._entry
        if entry is None:
            entry = self._entry = self._kernel.compile(tuple(map(self._kernel.typeof_pyval, arguments)))
        return entry(*arguments)
