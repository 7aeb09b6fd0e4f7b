"""The AXI4-Stream wrapper on both simulators, driven by cocotbext-axi with pauses on both sides."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, Port
from fp9_rtl.export.axis import axi_stream_verilog, tdata_bits
from fp9_rtl.export.interfaces import offsets
from fp9_sim import SIMULATORS
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import build_design
from fp9_sim.simulators.child import run_job

USER_BITS = 5
SIDES = [f"{side}_axis_t{signal}" for side in "sm" for signal in ("data", "last", "valid", "ready", "user")]


def beats(ports: tuple[Port, ...], columns: dict[str, NDArray[Any]], count: int) -> list[str]:
    """The ports of each operation as the bytes of tdata, in hex, the first byte first."""
    words = [sum(int(columns[port.name][i]) << lowest for port, lowest in offsets(ports)) for i in range(count)]
    return [word.to_bytes(tdata_bits(ports) // 8, "little").hex() for word in words]


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_frames_of_any_length_come_back_with_their_results(
    simulator: str, tmp_path: Path, build_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit, count, rng = CATALOGUE["mac_dlfloat16"], 200, random.Random(3)
    inputs = inputs_of(unit, "random", count, seed=1)
    sent, wanted = beats(unit.inputs, inputs, count), beats(unit.outputs, evaluate(unit, inputs), count)
    frames = []
    while sent:
        length = rng.randint(1, 9)
        parts = {"operands": "".join(sent[:length]), "results": "".join(wanted[:length])}
        frames.append({**parts, "user": rng.randrange(1 << USER_BITS)})
        del sent[:length], wanted[:length]
    (tmp_path / "frames.json").write_text(json.dumps(frames))
    top = f"{unit.name}_axis"
    found = tools.find(simulator)
    built = build_design(top, ["aclk", "aresetn", *SIDES], axi_stream_verilog(unit, USER_BITS), found, build_dir)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    settings = {
        "test_module": "axis_bench",
        "hdl_toplevel": top,
        "hdl_toplevel_lang": "verilog",
        "build_dir": str(built.folder),
        "test_dir": str(tmp_path),
        "results_xml": str(tmp_path / "results.xml"),
        "log_file": str(tmp_path / "run.log"),
    }
    status = run_job("test", settings, found, tmp_path, {"AXIS_FOLDER": str(tmp_path)})
    assert status == 0, (tmp_path / "run.log").read_text()
    assert (tmp_path / "checked").read_text() == str(len(frames))
