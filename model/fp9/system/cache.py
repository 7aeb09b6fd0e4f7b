"""The folder of what need not be made twice, measured circuits and compiled units, and its bound.

It is `$FP9_CACHE` where that is set, else `~/.cache/fp9`, with a folder for each kind. An entry is a file or a folder
in it that appears whole under its name; entries that begin with a dot are under way.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

PLACE = "FP9_CACHE"
BOUND = "FP9_CACHE_MB"
DEFAULT_BOUND = 1024
"""Megabytes (2^20 bytes) that are kept where `$FP9_CACHE_MB` says nothing else."""

KINDS = {
    "verilog": "Verilog of units, by the source that writes it",
    "suites": "digests of vectors, by the model that makes them",
    "regressions": "simulations of the main job that passed",
    "proofs": "verdicts on the cases of proofs, by what the solver was asked",
    "cases": "parts of what is asked of two circuits that are compared, by their clauses",
    "synth": "area and delay of circuits that were measured",
    "verilated": "units compiled for sweeps and proofs by simulation",
    "durations": "how long commands took",
}
"""Folders of the cache, and what they hold."""

_IN_USE = 3600.0
"""Seconds for which an entry counts as in use after it was made or asked for."""

_ANEW: ContextVar[bool] = ContextVar("fp9 measures again", default=False)


@dataclass(frozen=True)
class Entry:
    """Something kept: its place, its bytes, and when it was last made or asked for (seconds since the epoch)."""

    path: Path
    size: int
    used: float


def root() -> Path:
    """The cache's folder."""
    place = os.environ.get(PLACE)
    return Path(place) if place else Path.home() / ".cache" / "fp9"


def folder(kind: str) -> Path:
    """The folder of a kind of `KINDS`."""
    return root() / kind


def bound() -> int:
    """Bytes that the cache may hold. Raises ValueError where `$FP9_CACHE_MB` is no number of megabytes."""
    text = os.environ.get(BOUND, str(DEFAULT_BOUND))
    if not text.isdecimal():
        raise ValueError(f"{BOUND}={text} given; give a number of megabytes, such as {BOUND}={DEFAULT_BOUND}")
    return int(text) << 20


def entries(kind: str) -> list[Entry]:
    """What is kept of a kind, the one that was not used for the longest time first; what is under way is left out."""
    with contextlib.suppress(FileNotFoundError):
        found = [_entry(path) for path in folder(kind).iterdir() if not path.name.startswith(".")]
        return sorted((entry for entry in found if entry is not None), key=lambda entry: (entry.used, entry.path))
    return []


def _entry(path: Path) -> Entry | None:
    """The entry at a path; None where another process removed it meanwhile."""
    try:
        parts = [path, *path.rglob("*")] if path.is_dir() else [path]
        return Entry(path, sum(part.stat().st_size for part in parts if part.is_file()), path.stat().st_mtime)
    except FileNotFoundError:
        return None


def touch(path: Path) -> None:
    """Note that an entry was asked for; a cache that cannot be written stays as it is."""
    with contextlib.suppress(OSError):
        os.utime(path)


def clear(kinds: tuple[str, ...] = tuple(KINDS)) -> list[Entry]:
    """Remove what is kept of these kinds, and return it. Raises OSError where it cannot be removed."""
    removed = [entry for kind in kinds for entry in entries(kind)]
    for entry in removed:
        _remove(entry.path)
    return removed


def keep_within_bound() -> list[Entry]:
    """Remove what was not used for the longest time until the cache is within its bound, and return it.

    What was used within the last hour stays: another process may be about to read it.
    """
    kept = sorted((entry for kind in KINDS for entry in entries(kind)), key=lambda entry: entry.used)
    surplus, now, removed = sum(entry.size for entry in kept) - bound(), time.time(), []
    for entry in kept:
        if surplus <= 0 or now - entry.used < _IN_USE:
            break
        _remove(entry.path)
        surplus -= entry.size
        removed.append(entry)
    return removed


def _remove(path: Path) -> None:
    """Remove an entry; it loses its name first, so that nobody takes half of it for the whole."""
    gone = path.with_name(f".{path.name}.{os.getpid()}.gone")
    with contextlib.suppress(FileNotFoundError):
        path.rename(gone)
        if gone.is_dir():
            shutil.rmtree(gone)
        else:
            gone.unlink()


# --- measuring again ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def recomputing(wanted: bool = True) -> Iterator[None]:
    """Within it what was kept is not read, but made again and kept in its place."""
    token = _ANEW.set(wanted)
    try:
        yield
    finally:
        _ANEW.reset(token)


def is_anew() -> bool:
    """Whether what was kept is to be made again."""
    return _ANEW.get()
