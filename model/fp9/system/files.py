"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path | str, content: str | bytes) -> None:
    """Write a file under a temporary name in its folder, which is made if need be, and rename it.

    Raises OSError, with the file's own name, where the folder does not take it.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_and_rename(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _write_and_rename(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
