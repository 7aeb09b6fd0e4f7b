"""Cache of results as JSON files, whose keys contain everything that can change a result.

A cache file is written under a temporary name and then renamed, so that concurrent runs do not disturb each other.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from fp9.system import cache
from fp9.system.files import write_whole


def cache_folder() -> Path:
    return cache.folder("synth")


def load(folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the cached result of a request, or None if the result is missing or damaged, or must be recomputed."""
    if cache.is_forced():
        return None
    path = _path(folder, request)
    try:
        kept = json.loads(path.read_bytes())
        result: dict[str, Any] = kept["result"]
        if kept["sha256"] != _hash(result):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    cache.touch(path)
    return result


def store(folder: Path, request: dict[str, Any], result: dict[str, Any]) -> None:
    path = _path(folder, request)
    text = json.dumps({"sha256": _hash(result), "result": result}, indent=1)
    try:
        write_whole(path, text)
        if folder.parent == cache.root():
            cache.keep_within_bound()
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            f"cannot cache results in {folder} ({reason}); set FP9_CACHE to a folder that is writable"
        ) from None


def key(request: dict[str, Any]) -> str:
    return _hash(request)


def _path(folder: Path, request: dict[str, Any]) -> Path:
    return folder / f"{key(request)}.json"


def _hash(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
