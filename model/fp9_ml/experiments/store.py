"""What a long measurement has done so far, so that one that was stopped goes on where it was."""

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

State = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""Arrays by name, and what JSON holds."""


class Store:
    """Finished values and running states in a folder that `clear` removes; without a folder nothing is kept."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def within(self, name: str) -> Store:
        """The store of a part of the measurement."""
        return Store(self._folder and self._folder / _slug(name))

    def values(self, name: str, measure: Callable[[Store], Mapping[str, float]]) -> dict[str, float]:
        """The values of a part: those kept, or else measured now and kept; its running states go then."""
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
        """A running state as it was kept last, or None."""
        path = self._folder and self._folder / f"{_slug(name)}.npz"
        if not path or not path.exists():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            found = {key: arrays[key] for key in arrays.files}
        return found, json.loads(found.pop("_").tobytes())

    def keep(self, name: str, state: State) -> None:
        """Keep a running state, whole or not at all."""
        if not self._folder:
            return
        arrays, rest = state
        buffer = io.BytesIO()
        packed: dict[str, Any] = {**arrays, "_": np.frombuffer(json.dumps(rest).encode(), dtype=np.uint8)}
        np.savez(buffer, **packed)
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / f"{_slug(name)}.npz", buffer.getvalue())

    def clear(self) -> None:
        """Remove what is kept."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-")
