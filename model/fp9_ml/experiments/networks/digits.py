"""Handwritten digits of scikit-learn: the test part of UCI's optical recognition data set."""

# The images are read from scikit-learn's files without importing it, so SciPy is not needed.

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.system.missing import MissingTool, install_hint


def images_and_labels() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return images (1797, 64) with values in 0..16, and their classes 0..9."""
    rows: NDArray[Any] = np.loadtxt(data_set("data", "digits.csv.gz"), delimiter=",")
    return rows[:, :-1], rows[:, -1].astype(np.int64)


def data_set(*parts: str) -> Path:
    package = importlib.util.find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingTool(f"scikit-learn is not installed; install it with: {install_hint('demo')}")
    return Path(package.origin).parent.joinpath("datasets", *parts)
