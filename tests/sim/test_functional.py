"""Functional coverage: the corner suite leaves no bin empty, and the library counts what was met."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from fp9 import vectors
from fp9.units import CATALOGUE
from fp9_sim import functional, regress


@pytest.mark.parametrize("name", ["cast_fp32_ocp_rne", "fma_dlfloat16_hfp8_152"])
def test_the_corner_suite_meets_every_reachable_bin(name: str) -> None:
    made = vectors.generate(name, "corner")
    covered = functional.measure(made.unit, made.inputs, made.expected)
    assert not covered.holes
    assert sum(item.bins for item in covered.items) > 250, "the model has points"


def test_what_is_left_out_is_a_hole() -> None:
    made = vectors.generate("cast_fp32_ocp_rne", "corner")
    magnitude = made.inputs["x"] & 0x7FFFFFFF
    # 1.0625 stands halfway between the codes of 1.0 and 1.125 in E4M3: all ties of that binade are left out.
    kept = ~((magnitude >= 0x3F800000) & (magnitude < 0x40000000) & ((magnitude & 0xFFFFF) == 0x80000))
    inputs, outputs = ({n: c[kept] for n, c in part.items()} for part in (made.inputs, made.expected))
    covered = functional.measure(made.unit, inputs, outputs)
    assert covered.holes == ("cast_fp32_ocp_rne.e4m3.grid: 0 x half",)


def test_bins_that_cannot_occur_do_not_occur() -> None:
    unit = CATALOGUE["fma_dlfloat16_hfp8_152"]
    made = vectors.generate(unit, "random", 3000)
    model = functional.model_of(unit)
    for i in range(len(made)):
        operands = [{n: int(c[i]) for n, c in part.items()} for part in (made.inputs, made.expected)]
        for facts in model.facts(*operands):
            for cross in model.crosses:
                if all(point in facts for point in cross.points):
                    bins = [facts[point] for point in cross.points]
                    assert cross.impossible(*bins) is None, (cross.name, bins)


def test_the_bench_samples_what_the_circuit_gave(tmp_path: Path, build_dir: Path) -> None:
    made = vectors.generate("cast_fp32_ocp_rne", "smoke")
    report = tmp_path / "coverage.xml"
    run = regress(made.unit, made, "icarus", build_dir=build_dir, coverage=report)
    assert run.passed and run.coverage is not None
    assert run.coverage == functional.measure(made.unit, made.inputs, made.expected)
    top = ElementTree.parse(report).getroot()
    assert int(top.attrib["size"]) == sum(item.bins for item in run.coverage.items)


def test_units_without_a_model_are_named() -> None:
    unit = dataclasses.replace(CATALOGUE["decoder_hif8"])
    with pytest.raises(ValueError, match="give a cast, fma or dot"):
        functional.measure(unit, {"code": np.zeros(1, dtype=np.uint8)}, {})
