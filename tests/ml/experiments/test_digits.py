"""The digits, read without their package."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from fp9.system.missing import MissingTool
from fp9_ml.experiments.networks.digits import images_and_labels

pytestmark = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")


def test_they_are_those_of_the_published_set() -> None:
    """Shape, range and classes as scikit-learn's page of the data set states them; its first image is a zero."""
    images, labels = images_and_labels()
    assert images.shape == (1797, 64)
    assert (images.min(), images.max()) == (0, 16)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert labels[:10].tolist() == list(range(10))
    assert images[0, :8].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


def test_they_are_what_the_package_gives() -> None:
    datasets = pytest.importorskip("sklearn.datasets", exc_type=ImportError)
    images, labels = datasets.load_digits(return_X_y=True)
    assert np.array_equal(images, images_and_labels()[0])
    assert np.array_equal(labels, images_and_labels()[1])


def test_the_package_is_not_imported() -> None:
    program = (
        "import sys; from fp9_ml.experiments.networks.digits import images_and_labels; images_and_labels(); "
        "print('sklearn' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"


def test_without_the_package_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingTool, match=r"scikit-learn is not installed; install it with: pip install .*\[demo\]"):
        images_and_labels()
