"""Other people's Verilog is fitted: which engine a dot product unit is, whatever its mapping says."""

from __future__ import annotations

from pathlib import Path

import pytest

from fp9.fit import fit
from fp9.units import unit
from fp9_rtl import verilog
from fp9_sim.foreign.box import box


def mapping(folder: Path, name: str, claimed: str) -> Path:
    """Verilog of one unit, said to be another."""
    (folder / "stranger.v").write_text(verilog(unit(name)))
    path = folder / "stranger.toml"
    path.write_text(f'files = ["stranger.v"]\ntop = "{name}"\nlatency = 0\nunit = "{claimed}"\n')
    return path


def test_the_engine_of_verilog_is_found(tmp_path: Path) -> None:
    """A window of 13 bits and truncation; what the mapping claims, exact sums to nearest, is not looked at."""
    found = fit(box(mapping(tmp_path, "dot4_e8m13_ocp", "dot4_fp32_ocp")))
    assert found.engine is not None
    assert (found.engine.window, found.engine.result.name) == (13, "e8m13")
    assert found.engine.products >= found.interface.depth == 4
    assert found.engine.rounding.value == "rtz"


def test_a_unit_without_sums_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a unit of kind cast given; give one of kind dot or fma"):
        box(mapping(tmp_path, "cast_fp32", "cast_fp32"))
