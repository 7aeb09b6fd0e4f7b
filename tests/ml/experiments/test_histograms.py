"""Pictures of the rules are made of their record, and the record of the package's model."""

from __future__ import annotations

import numpy as np

from fp9_ml.experiments.histograms import HIGHEST, LOWEST, panel


def test_a_histogram_counts_binades_and_zeros() -> None:
    series = panel("", None, some_numbers=np.float32([0, 1, 1.5, -0.25]))["series"]["some numbers"]
    assert series["zeros"] == 25.0
    assert {b: s for b, s in zip(range(LOWEST, HIGHEST + 1), series["shares"], strict=True) if s} == {0: 50.0, -2: 25.0}
