"""The signed-off record of a unit's sweeps: `NAME.json`, a list of runs that only grows."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole
from fp9_sim.records import path_of

Record = dict[str, Any]


def add(folder: Path, name: str, record: Record) -> Path:
    """Add a run to the record of a unit; one that is in there already replaces itself. Returns the record's path."""
    path = path_of(folder, name)
    with _locked(folder):
        others = [kept for kept in read(path) if kept["run"] != record["run"]] if path.exists() else []
        write_whole(path, json.dumps([*others, record], indent=1) + "\n")
    return path


def read(path: Path) -> list[Record]:
    """The runs of a record. Raises ValueError for a file that is none, OSError where it cannot be read."""
    try:
        runs = json.loads(path.read_text())
        if all(run.keys() >= _NEEDED for run in runs) and isinstance(runs, list):
            return runs
    except (ValueError, AttributeError, TypeError):
        pass
    raise ValueError(f"{path} is no record of sweeps; remove it or give another folder")


_NEEDED = {"run", "spec", "kind", "space", "shards", "first", "stop", "count", "mismatches", "verilog_sha256"}


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time changes the records of a folder."""
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
