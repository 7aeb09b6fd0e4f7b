"""Results that were measured before, kept by everything that can change them: one JSON file each.

A file is written whole under a name of its own and then renamed, so that concurrent runs cannot disturb one another,
and carries the hash of its content, so that a damaged one is measured again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole


def cache_folder() -> Path:
    """`$FP9_CACHE`/synth where that is set, else ~/.cache/fp9/synth."""
    root = os.environ.get("FP9_CACHE")
    return (Path(root) if root else Path.home() / ".cache" / "fp9") / "synth"


def load(folder: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """What was kept for a request, None when there is nothing or it is damaged."""
    try:
        kept = json.loads(_path(folder, request).read_bytes())
        result: dict[str, Any] = kept["result"]
        return result if kept["sha256"] == _hash(result) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(folder: Path, request: dict[str, Any], result: dict[str, Any]) -> None:
    """Keep a result. Raises OSError, in one sentence, when the folder cannot be written."""
    path = _path(folder, request)
    text = json.dumps({"sha256": _hash(result), "result": result}, indent=1)
    try:
        write_whole(path, text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            f"cannot keep results in {folder} ({reason}); set FP9_CACHE to a folder that is writable"
        ) from None


def _path(folder: Path, request: dict[str, Any]) -> Path:
    return folder / f"{_hash(request)}.json"


def _hash(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
