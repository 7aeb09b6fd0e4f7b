"""A recorded training step through the Verilog of a unit that its recipe names, on both simulators."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fp9.recipes import Product, Recording, recipe
from fp9.units import CATALOGUE
from fp9.vectors.recorded import from_recording
from fp9_sim import SIMULATORS, compare


def test_a_training_step_gives_the_same_bits_in_model_and_verilog(build_dir: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    spec, run = recipe("hfp8"), Recording()
    y, saved = spec.linear(rng.normal(size=(16, 40)), rng.normal(size=(12, 40)))
    run.forward("fc", saved)
    run.backward("fc", saved, spec.linear_backward(rng.normal(size=y.shape), saved))
    run.save(tmp_path / "run.npz")
    unit = CATALOGUE["fma_dlfloat16_hfp8"]
    assert all(unit.name in spec.units()[product.value] for product in Product)
    vectors = from_recording(unit, tmp_path / "run.npz")
    result = compare(unit, vectors, build_dir=build_dir)
    assert [regression.simulator for regression in result.runs] == list(SIMULATORS)
    assert all(regression.checked == len(vectors) == 16 * (40 + 12 + 16) for regression in result.runs)
    assert all(regression.total_mismatches == 0 and not regression.violations for regression in result.runs)
