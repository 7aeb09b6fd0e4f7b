"""Cache folder of limited size, for results that can be recomputed, such as compiled units.

The cache folder is `$FP9_CACHE` if this variable is set, and otherwise `~/.cache/fp9`. A cache entry is written
atomically. The name of an incomplete cache entry starts with a dot.
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
"""Size limit in megabytes (2^20 bytes) if `$FP9_CACHE_MB` is not set."""

KINDS = {
    "verilog": "Verilog of units, by the source that writes it",
    "suites": "digests of vectors, by the model that computes them",
    "regressions": "simulations of the demo that passed",
    "proofs": "verdicts on cases of proofs, by the input of the solver",
    "cases": "solved parts of comparisons of two circuits, by their clauses",
    "synth": "measured area and delay of circuits",
    "verilated": "units compiled for sweeps and proofs by simulation",
    "durations": "how long commands took",
}

# Seconds for which a cache entry counts as in use after its creation or last use.
_IN_USE = 3600.0

# Seconds between two measurements of the cache's size, because a measurement reads the size of every file.
_PERIOD = 60.0
_MEASURED = ".measured"

_FORCED: ContextVar[bool] = ContextVar("fp9 recomputes", default=False)


@dataclass(frozen=True)
class Entry:
    path: Path
    size: int  # bytes
    used: float  # time of last use, in seconds since the epoch


def root() -> Path:
    place = os.environ.get(PLACE)
    return Path(place) if place else Path.home() / ".cache" / "fp9"


def folder(kind: str) -> Path:
    return root() / kind


def bound() -> int:
    """Return the size limit of the cache in bytes."""
    text = os.environ.get(BOUND, str(DEFAULT_BOUND))
    if not text.isdecimal():
        raise ValueError(f"{BOUND}={text} given; give a number of megabytes, such as {BOUND}={DEFAULT_BOUND}")
    return int(text) << 20


def entries(kind: str) -> list[Entry]:
    """Return all complete cache entries of a kind, least recently used first."""
    with contextlib.suppress(FileNotFoundError):
        found = [_entry(path) for path in folder(kind).iterdir() if not path.name.startswith(".")]
        return sorted((entry for entry in found if entry is not None), key=lambda entry: (entry.used, entry.path))
    return []


def _entry(path: Path) -> Entry | None:
    try:
        parts = [path, *path.rglob("*")] if path.is_dir() else [path]
        return Entry(path, sum(part.stat().st_size for part in parts if part.is_file()), path.stat().st_mtime)
    except FileNotFoundError:
        return None


def touch(path: Path) -> None:
    # The cache may be read-only.
    with contextlib.suppress(OSError):
        os.utime(path)


def clear(kinds: tuple[str, ...] = tuple(KINDS)) -> list[Entry]:
    removed = [entry for kind in kinds for entry in entries(kind)]
    for entry in removed:
        _remove(entry.path)
    return removed


def keep_within_bound() -> list[Entry]:
    """Remove the least recently used cache entries until the cache is within its size limit."""
    limit, now, removed = bound(), time.time(), list[Entry]()
    measured = root() / _MEASURED
    # Remove nothing if any process measured the cache's size in the last minute.
    if measured.exists() and abs(now - measured.stat().st_mtime) < _PERIOD:
        return removed
    measured.touch()
    kept = sorted((entry for kind in KINDS for entry in entries(kind)), key=lambda entry: entry.used)
    surplus = sum(entry.size for entry in kept) - limit
    for entry in kept:
        # Another process may be about to read an entry that was used in the last hour.
        if surplus <= 0 or now - entry.used < _IN_USE:
            break
        _remove(entry.path)
        surplus -= entry.size
        removed.append(entry)
    return removed


def _remove(path: Path) -> None:
    # Rename the entry first, so that no process reads a partly removed entry.
    gone = path.with_name(f".{path.name}.{os.getpid()}.gone")
    with contextlib.suppress(FileNotFoundError):
        path.rename(gone)
        if gone.is_dir():
            shutil.rmtree(gone)
        else:
            gone.unlink()


# --- recomputing ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def recomputing(wanted: bool = True) -> Iterator[None]:
    """Make fp9 recompute and replace cached results."""
    token = _FORCED.set(wanted)
    try:
        yield
    finally:
        _FORCED.reset(token)


def is_forced() -> bool:
    return _FORCED.get()
