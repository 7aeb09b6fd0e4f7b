"""Third-party Verilog is fitted: which engine a dot product unit is, whatever its mapping says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fp9.engines import MacOp
from fp9.golden import evaluate
from fp9.units import HANDSHAKE, Dot, unit
from fp9_compare.identify import fit
from fp9_rtl import verilog
from fp9_sim.third_party.box import box


def mapping(folder: Path, name: str, claimed: str) -> Path:
    """Verilog of one unit, said to be another."""
    (folder / "acme.v").write_text(verilog(unit(name)))
    path = folder / "acme.toml"
    path.write_text(f'files = ["acme.v"]\ntop = "{name}"\nlatency = 0\nunit = "{claimed}"\n')
    return path


@pytest.mark.slow
def test_the_engine_of_verilog_is_found(tmp_path: Path) -> None:
    """A window of 13 bits and truncation; what the mapping claims, exact sums to nearest, is not looked at."""
    found = fit(box(mapping(tmp_path, "dot4_e8m13_ocp", "dot4_fp32_ocp")))
    assert found.engine is not None
    assert (found.engine.window.width, found.engine.result.format.name) == (13, "e8m13")
    assert found.engine.step.products >= found.interface.depth == 4
    assert found.engine.result.rounding.value == "rtz"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mac_fp32", "mac4_e8m13_ocp"])
def test_every_sum_of_a_mac_is_asked_alone(tmp_path: Path, name: str) -> None:
    """What the box gives for random sums is what the engine gives, whatever stands in the accumulator."""
    spec = unit(name)
    assert isinstance(spec, Dot)
    (tmp_path / "acme.v").write_text(verilog(spec))
    path = tmp_path / "acme.toml"
    pins = "".join(f'{pin} = "{pin}"\n' for pin in HANDSHAKE)
    path.write_text(
        f'files = ["acme.v"]\ntop = "{name}"\nunit = "{name}"\nlatency = {spec.stages}\n'
        f'[clock]\nport = "clk"\n[reset]\nport = "rst"\n[handshake]\n{pins}'
    )
    asked, rng = box(path), np.random.default_rng(1)
    a, b = rng.integers(0, 256, (2, 200, spec.products), dtype=np.uint8)
    c = rng.integers(0, 1 << spec.engine.output.bits, 200, dtype=np.uint32)
    mac = evaluate(spec, {port.name: np.zeros(200, np.uint8) for port in spec.inputs} | _columns(spec, a, b, c))
    assert np.array_equal(asked.ask(a, b, c), mac["result"])


def _columns(spec: Dot, a: Any, b: Any, c: Any) -> dict[str, Any]:
    lanes = [*zip(spec.lane_names("a"), a.T, strict=True), *zip(spec.lane_names("b"), b.T, strict=True)]
    return {**dict(lanes), "c": c, "op": np.full(len(c), MacOp.LOAD)}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("[held]\nc = 0.0\n", "the design has no c; give a unit with all operands"),
        ('without = ["result"]\n', "the design has no result"),
    ],
)
def test_a_unit_that_lacks_an_operand_is_one_sentence(tmp_path: Path, more: str, says: str) -> None:
    path = mapping(tmp_path, "fma_fp32_e5m2", "fma_fp32_e5m2")
    path.write_text(path.read_text() + more)
    with pytest.raises(ValueError, match=says):
        box(path)


def test_a_unit_without_sums_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a unit of kind cast given; give one of kind dot, fma or mac"):
        box(mapping(tmp_path, "cast_fp32", "cast_fp32"))
