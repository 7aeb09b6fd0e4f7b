"""What sources are, as one number: what was made by them holds as long as none of them changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest(package: Path, sources: Iterable[Path]) -> str:
    """SHA-256 of Python sources and of their places in a package.

    Raises OSError where one cannot be read.
    """
    found = hashlib.sha256()
    for source in sorted(sources):
        found.update(f"{source.relative_to(package)}\n".encode() + source.read_bytes())
    return found.hexdigest()
