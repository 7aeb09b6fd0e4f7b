"""Digests of Python source files, which tell whether a stored result is still valid."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

_TYPES_ALONE = re.compile(r"^if TYPE_CHECKING:\n(?:[ ]+.*\n|\n)+", re.MULTILINE)
_IMPORTS = re.compile(r"^\s*from ([\w.]+) import (\((?:[^)]*)\)|.*)|^\s*import ([\w.]+)", re.MULTILINE)


def digest(package: Path, sources: Iterable[Path]) -> str:
    """Return a SHA-256 digest of source files and of their paths relative to the package."""
    found = hashlib.sha256()
    for source in sorted(sources):
        found.update(f"{source.relative_to(package)}\n".encode() + source.read_bytes())
    return found.hexdigest()


def imported(module: str, packages: Iterable[str]) -> dict[str, Path]:
    """Return the files of a module and of all modules that it imports, directly or indirectly, by module name."""
    folders = {name: Path(spec.origin).parent for name in packages if (spec := find_spec(name)) and spec.origin}
    found: dict[str, Path] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        path = _file(name, folders)
        if path is not None and name not in found:
            found[name] = path
            pending += [name.rpartition(".")[0], *_imports(path.read_text())]
    return found


def _file(module: str, folders: dict[str, Path]) -> Path | None:
    top, *inner = module.split(".")
    if top not in folders:
        return None
    place = folders[top].joinpath(*inner)
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)


def _imports(text: str) -> Iterator[str]:
    # The result includes imports inside functions, but not imports under `if TYPE_CHECKING` or of modules named by a
    # string, as in `importlib.import_module`.
    # An imported name may be a module.
    for module, names, whole in _IMPORTS.findall(_TYPES_ALONE.sub("", text)):
        yield module or whole
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))
