"""Results that were made before, kept by everything that can change them: one JSON file each.

A file is written whole under a name of its own and then renamed, so that concurrent runs cannot disturb one another,
and carries the hash of its content, so that a damaged one is made again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from fp9.system import cache
from fp9.system.files import write_whole


def cache_folder() -> Path:
    """`$FP9_CACHE`/synth where that is set, else ~/.cache/fp9/synth."""
    return cache.folder("synth")


def load(folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """What was kept for a request, None when there is nothing, it is damaged, or is to be measured again."""
    if cache.is_anew():
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
    """Keep a result. Raises OSError, in one sentence, when the folder cannot be written."""
    path = _path(folder, request)
    text = json.dumps({"sha256": _hash(result), "result": result}, indent=1)
    try:
        write_whole(path, text)
        if folder.parent == cache.root():
            cache.keep_within_bound()
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            f"cannot keep results in {folder} ({reason}); set FP9_CACHE to a folder that is writable"
        ) from None


def key(request: dict[str, Any]) -> str:
    """What the result of a request is kept under: SHA-256, as hexadecimal digits."""
    return _hash(request)


def _path(folder: Path, request: dict[str, Any]) -> Path:
    return folder / f"{key(request)}.json"


def _hash(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
