"""Atomic file writes. Pipes, devices and standard output (`-`) are written directly, without a temporary file."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import tempfile
from pathlib import Path

STANDARD_OUTPUT = "-"
"""Path that means standard output, for every command that writes a file."""

_DESCRIPTOR = re.compile(r"(/proc/[^/]+/fd|/dev/fd)/\d+")
_LINKS = 40


def write_whole(path: Path | str, content: str | bytes) -> None:
    """Write a file atomically: write a temporary file in the same folder, and then rename it."""
    data = content.encode() if isinstance(content, str) else content
    path = Path(path)
    try:
        if str(path) == STANDARD_OUTPUT:
            _write_to_standard_output(data)
        elif _is_written_through(path):
            # Pipes, devices and open descriptors cannot be replaced by a renamed file.
            with path.open("ab", buffering=0) as file:
                _write_all(file.fileno(), data)
        else:
            # A symbolic link stays, and the file to which the link points is written.
            target = Path(os.path.realpath(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_and_rename(target, data)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _write_to_standard_output(data: bytes) -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "Standard output is closed")
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        sys.stdout.write(data.decode())
    else:
        binary.write(data)
    sys.stdout.flush()


def _is_written_through(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or _is_descriptor(path)


def _is_descriptor(path: Path) -> bool:
    step = path.absolute()
    for _ in range(_LINKS):
        if _DESCRIPTOR.fullmatch(str(step)):
            return True
        if not step.is_symlink():
            return False
        step = Path(os.path.normpath(step.parent / step.readlink()))
    return False


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _write_and_rename(path: Path, data: bytes) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            _take_place(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _take_place(temporary: Path, path: Path) -> None:
    # An existing file keeps its mode and owner, and a new file gets the default mode.
    try:
        before = path.stat()
    except FileNotFoundError:
        temporary.chmod(0o666 & ~_umask())
    else:
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "Permission denied")
        _keep_owner(temporary, before)
        temporary.chmod(stat.S_IMODE(before.st_mode))
    temporary.replace(path)


def _keep_owner(temporary: Path, before: os.stat_result) -> None:
    made = temporary.stat()
    if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(temporary, before.st_uid, before.st_gid)
        except PermissionError:
            return  # another user's file in a shared folder gets our owner, as after any rename


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
