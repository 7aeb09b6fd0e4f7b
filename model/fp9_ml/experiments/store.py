"""Files of partial results, from which an interrupted measurement continues."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.system.files import write_whole

# Arrays by name, and further data that can be written as JSON.
State = tuple[dict[str, NDArray[Any]], dict[str, Any]]


class Store:
    """Folder for partial results of a measurement. A store without a folder stores nothing."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def within(self, name: str) -> Store:
        return Store(self._folder and self._folder / _slug(name))

    def values(self, name: str, measure: Callable[[Store], Mapping[str, float]]) -> dict[str, float]:
        path = self._folder and self._folder / f"{_slug(name)}.json"
        if path and path.exists():
            kept: dict[str, float] = json.loads(path.read_text())
            return kept
        part = self.within(name)
        found = dict(measure(part))
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps(found))
            part.clear()
        return found

    def state(self, name: str) -> State | None:
        path = self._folder and self._folder / f"{_slug(name)}.npz"
        if not path or not path.exists():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
        return found, json.loads(found.pop("_").tobytes())

    def keep(self, name: str, state: State) -> None:
        if not self._folder:
            return
        arrays, rest = state
        buffer = io.BytesIO()
        packed: dict[str, Any] = {**arrays, "_": np.frombuffer(json.dumps(rest).encode(), dtype=np.uint8)}
        np.savez(buffer, **packed)
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / f"{_slug(name)}.npz", buffer.getvalue())

    def clear(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-")
