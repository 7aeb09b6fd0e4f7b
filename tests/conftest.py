"""Before the first test: compiled kernels that are older than a source they are built from are thrown away.

Numba looks at the file of a cached function alone, and not at those of the functions that are inlined into it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import fp9


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    package = Path(fp9.__file__).parent
    newest = max(source.stat().st_mtime for source in package.rglob("*.py"))
    for compiled in package.rglob("*.nb[ic]"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink(missing_ok=True)
