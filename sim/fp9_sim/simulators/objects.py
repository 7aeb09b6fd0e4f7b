"""Share the object files of Verilator's runtime between builds.

The object files do not depend on the design, and compiling them takes most of the time of a small build.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fp9.system.cache import folder, keep_within_bound, touch

_OBJECTS = "verilated*.o"
_AHEAD = 3600.0
"""Seconds by which the dates of copied object files lie in the future, longer than any build takes.

`make` would recompile an object file that is older than the makefile, which Verilator writes during the build.
"""


def shared(name: str, options: list[str], make: Callable[[Path], None]) -> Path:
    """Return the folder of the cache entry for `name` and `options`. Call `make` to fill a new folder."""
    final = _place(name, options)
    if not final.is_dir():
        with _alone(final):
            if not final.is_dir():
                _filled(final, make)
    touch(final)
    return final


@contextlib.contextmanager
def library(options: list[str], working: Path) -> Iterator[None]:
    """Copy cached object files into the build folder `working`, and cache new object files after the build."""
    final = _place("verilator-library", options)
    with contextlib.ExitStack() as until_made:
        if not final.is_dir():
            with contextlib.suppress(OSError):
                until_made.enter_context(_alone(final))
        if final.is_dir():
            until_made.close()
            _copy(final, working)
        yield
        with contextlib.suppress(OSError):
            if final.is_dir():
                _add(working, final)
            else:
                _filled(final, lambda copies: _copy(working, copies))


def _copy(source: Path, target: Path) -> None:
    touch(source)
    for kept in source.glob(_OBJECTS):
        shutil.copyfile(kept, target / kept.name)
        os.utime(target / kept.name, (time.time() + _AHEAD,) * 2)


def _add(working: Path, final: Path) -> None:
    for made in working.glob(_OBJECTS):
        if not (final / made.name).exists():
            with tempfile.NamedTemporaryFile(dir=final, prefix=f".{made.name}.", delete=False) as copy:
                copy.write(made.read_bytes())
            Path(copy.name).rename(final / made.name)


def _filled(final: Path, make: Callable[[Path], None]) -> None:
    working = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}."))
    try:
        make(working)
        if any(working.iterdir()):
            publish(working, final)
            keep_within_bound()
    finally:
        shutil.rmtree(working, ignore_errors=True)


def publish(working: Path, final: Path) -> None:
    """Rename a finished build folder, or discard it if another process has published the same build."""
    try:
        working.rename(final)
    except OSError:
        if not final.is_dir():
            raise
        shutil.rmtree(working)


@contextlib.contextmanager
def _alone(final: Path) -> Iterator[None]:
    final.parent.mkdir(parents=True, exist_ok=True)
    with (final.parent / f".{final.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _place(name: str, options: list[str]) -> Path:
    return folder("verilated") / f"{name}-{hashlib.sha256(repr(options).encode()).hexdigest()[:16]}"
