"""Object files of Verilator's own library, compiled once for each set of options and lent to every build.

They take most of the time of a small build and do not depend on the design. `make` leaves an object file alone that is
newer than the makefile, which Verilator writes afterwards; so the copies are dated ahead.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from fp9.system.cache import touch

_OBJECTS = "verilated*.o"
_AHEAD = 3600.0
"""Seconds; longer than any build."""


def lend(store: Path, options: list[str], working: Path) -> None:
    """Copy the object files for these options into the folder of a build, when there are any."""
    touch(_folder(store, options))
    for kept in _folder(store, options).glob(_OBJECTS):
        shutil.copyfile(kept, working / kept.name)
        os.utime(working / kept.name, (time.time() + _AHEAD,) * 2)


def keep(store: Path, options: list[str], working: Path) -> None:
    """Keep the object files of a finished build, unless they are kept already."""
    final = _folder(store, options)
    made = list(working.glob(_OBJECTS))
    if final.is_dir() or not made:
        return
    copies = Path(tempfile.mkdtemp(dir=store, prefix=f".{final.name}."))
    for path in made:
        shutil.copyfile(path, copies / path.name)
    publish(copies, final)


def publish(working: Path, final: Path) -> None:
    """Give a finished folder its name; where somebody else made the same in the meantime, theirs stays."""
    try:
        working.rename(final)
    except OSError:
        if not final.is_dir():
            raise
        shutil.rmtree(working)


def _folder(store: Path, options: list[str]) -> Path:
    return store / f"verilator-runtime-{hashlib.sha256(repr(options).encode()).hexdigest()[:16]}"
