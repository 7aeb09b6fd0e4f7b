"""Reference data that stay outside the repository: where tests look for them, and how they say that they are absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("FP9_REFERENCES", Path(__file__).parents[3] / "shared"))
"""Holds `chips` and `isa`; beside the checkout, or where FP9_REFERENCES says."""


def reference(*parts: str) -> Path:
    """A file or folder of reference data; the test is skipped, with a reason, where it is absent."""
    path = FOLDER.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not there; FP9_REFERENCES names the folder that holds it")
    return path
