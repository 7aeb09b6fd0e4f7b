"""Pictures of the rules are made of their record, and the record of the package's model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from fp9_ml.experiments.histograms import HIGHEST, LOWEST, PICTURE, PICTURES, RECORD, panel


def test_a_histogram_counts_binades_and_zeros() -> None:
    series = panel("", None, some_numbers=np.float32([0, 1, 1.5, -0.25]))["series"]["some numbers"]
    assert series["zeros"] == 25.0
    assert {b: s for b, s in zip(range(LOWEST, HIGHEST + 1), series["shares"], strict=True) if s} == {0: 50.0, -2: 25.0}


def test_the_record_has_every_picture() -> None:
    record = json.loads((Path(__file__).parents[3] / "records" / "recipes" / RECORD).read_text())
    assert tuple(PICTURE.format(name) for name in record) == PICTURES
