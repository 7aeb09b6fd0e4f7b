"""Find reference data outside the repository, or skip the test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("FP9_REFERENCES", Path(__file__).parents[3] / "shared"))
"""Folder that holds `chips` and `isa`: FP9_REFERENCES, or `shared` beside the checkout."""


def reference(*parts: str) -> Path:
    """Return a file or folder of reference data. Skips the test if the data are absent."""
    path = FOLDER.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not there; FP9_REFERENCES names the folder that holds it")
    return path
