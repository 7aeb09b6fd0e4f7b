"""A recorded training step through the Verilog of a unit that its recipe names, on both simulators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fp9.units import CATALOGUE, Cast
from fp9_ml.recipes import Product, Recording, Role, recipe
from fp9_ml.recorded import from_recording
from fp9_sim import SIMULATORS, compare


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "operations"), [("fma_dlfloat16_hfp8", 16 * (40 + 12 + 16)), ("cast_fp32_hfp8", 3 * 256)]
)
def test_a_training_step_gives_the_same_bits_in_model_and_verilog(
    name: str, operations: int, build_dir: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    spec, run = recipe("hfp8"), Recording()
    x, w = rng.normal(size=(16, 40)), rng.normal(size=(12, 40))
    y, saved = spec.linear(x, w)
    run.forward("fc", saved, x, w)
    g = rng.normal(size=y.shape)
    run.backward("fc", saved, spec.linear_backward(g, saved), g)
    run.save(tmp_path / "run.npz")
    unit, kinds = CATALOGUE[name], Role if isinstance(CATALOGUE[name], Cast) else Product
    assert all(unit.name in spec.units()[kind.value] for kind in kinds)
    vectors = from_recording(unit, tmp_path / "run.npz")
    result = compare(unit, vectors, build_dir=build_dir)
    assert [regression.simulator for regression in result.runs] == list(SIMULATORS)
    assert all(regression.checked == len(vectors) == operations for regression in result.runs)
    assert all(regression.total_mismatches == 0 and not regression.violations for regression in result.runs)
