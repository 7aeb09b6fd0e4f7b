"""Pictures of the rules are made of their record, and the record of the package's model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fp9_ml.experiments.histograms import HIGHEST, LOWEST, RECORD, draw, measured, panel
from fp9_ml.experiments.train import load

FOLDER = Path(__file__).parents[3] / "docs" / "recipes"


def test_a_histogram_counts_binades_and_zeros() -> None:
    series = panel("", None, some_numbers=np.float32([0, 1, 1.5, -0.25]))["series"]["some numbers"]
    assert series["zeros"] == 25.0
    assert {b: s for b, s in zip(range(LOWEST, HIGHEST + 1), series["shares"], strict=True) if s} == {0: 50.0, -2: 25.0}


@pytest.mark.slow
def test_pictures_are_drawn_from_the_record_and_the_record_is_of_the_model() -> None:
    pytest.importorskip("matplotlib")
    record = json.loads((FOLDER / RECORD).read_text())
    for name, panels in record.items():
        assert (FOLDER / f"rules-{name}.svg").read_text() == draw(panels)
    for name, panels in measured(load()).items():
        for found, kept in zip(panels, record[name], strict=True):
            assert {k: found[k] for k in ("title", "format")} == {k: kept[k] for k in ("title", "format")}
            for series, values in found["series"].items():
                if "steps" in found:
                    assert values == pytest.approx(kept["series"][series], abs=1) and found["steps"] == kept["steps"]
                    continue
                assert values["shares"] == pytest.approx(kept["series"][series]["shares"], abs=0.5)
