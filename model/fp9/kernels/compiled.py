"""How kernels are compiled and kept on disk.

Numba keeps what it compiled until the file of the cached function changes. Kernels inline functions of other files, and
constants of the records below them: their stamp is that of all of these files, so that an edit anywhere in them leads
to a new compilation in every process that follows.
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

_SOURCES = ("kernels", "formats", "engines", "rounding.py")
"""Folders and files that kernels are compiled from: this package and the packages that it may import."""


_LOG = logging.getLogger("fp9")


class _Announced(event.Listener):
    """Says once a process that kernels are compiled, which makes a first call slow."""

    def on_start(self, _: event.Event) -> None:
        if not self._said:
            self._said = True
            _LOG.info("compiling kernels, once on this machine")

    def on_end(self, _: event.Event) -> None:
        """Nothing to say."""

    _said = False


class _Undisturbed(event.Listener):
    """Keeps Ctrl-C until a compilation ends: LLVM calls back, and an interrupt there is lost and breaks its work."""

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
    """SHA-256 of every source that can end up in a compiled kernel."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source_root in _SOURCES:
        place = package / source_root
        for source in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{source.relative_to(package)}\n".encode() + source.read_bytes())
    return digest.hexdigest()


class _Stored(CompileResultCacheImpl):
    """Where a kernel is kept; its own file's stamp counts, too, as the file may lie in another package."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        own = self.locator.get_source_stamp()
        self.locator.get_source_stamp = lambda: (own, _stamp())


class _Cache(FunctionCache):
    _impl_class = _Stored


def inlined(function: Callable[..., Any]) -> Any:
    """A part of kernels that is written out wherever it is called."""
    return Part(function, forceinline=True)


def called(function: Callable[..., Any]) -> Any:
    """A part of kernels that stays a function."""
    return Part(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compiled on the first call, kept on disk, free of the interpreter's lock; dividing by zero gives infinity."""
    compiled = njit(function, nogil=True, error_model="numpy")
    # What `cache=True` sets, with the stamp of all files.
    compiled._cache = _Cache(function)  # type: ignore[no-untyped-call]
    return compiled
