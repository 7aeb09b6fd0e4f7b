"""A trace shows the operation that was asked for, and the first field that differs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units.toml import load
from fp9_rtl import verilog
from fp9_sim.bench import Golden
from fp9_sim.trace import traced

pytestmark = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")

ONE_PLUS = {"a": 0x39, "a_format": 0, "b": 0x3C, "b_format": 1, "c": 0x3F800001}


@pytest.mark.parametrize("settings", [[], ["stages=1"], ["stages=4"], ["stages=2", "reset=async_low", "enable=true"]])
def test_a_circuit_of_any_depth_shows_the_operation_in_every_stage(settings: list[str]) -> None:
    found = traced(load("fma_fp32_ocp", settings), [{**ONE_PLUS, "c": 0}, ONE_PLUS])
    assert ("product 0", "1.125 = 9 * 2^-3") in found.terms
    assert ("exact sum - result", "0.5 of the distance to the next number") in found.terms
    assert found.first_difference is None
    assert f"{17825793 << 3:028b}" in {field.model for field in found.fields}  # the sum, with three more bits


def test_an_accumulator_has_the_value_before_the_operation() -> None:
    unit = load("mac_dlfloat16")
    golden = Golden(unit)
    load_one = {"op": 1, "a": 0x38, "a_format": 0, "b": 0x38, "b_format": 0, "c": 0x3E00}
    add = {**load_one, "op": 0, "a": 0x39}
    expected = [golden.step(**operation) for operation in (load_one, add, add)]
    found = traced(unit, [load_one, add, add])
    assert found.first_difference is None
    assert int(found.outputs[0].model, 2) == expected[-1]["result"]
    assert dict(found.terms)["exact sum"].startswith("4.25 = ")


def test_the_first_difference_is_the_planted_one(tmp_path: Path) -> None:
    text = verilog(load("cast_fp32_ocp_rne"))
    good = "sign ? 8'hff : 8'h7f"
    assert good in text
    (tmp_path / "cast.v").write_text(text.replace(good, "sign ? 8'h7f : 8'h7f"))
    arguments = ["trace", "cast_fp32_ocp_rne", "x=0xff800001", "--verilog", str(tmp_path / "cast.v")]
    done = CliRunner().invoke(main, [*arguments, "--waves", str(tmp_path / "t.vcd")])
    assert done.exit_code == 0, done.output
    assert re.search(r"encode +result_term +8 +0xff +0x7f +<- first difference", done.stdout)
    assert "$scope module u_encode" in (tmp_path / "t.vcd").read_text()
    layout = (tmp_path / "t.gtkw").read_text()
    assert "cast_fp32_ocp_rne.x[31:0]" in layout
    assert "^1 t.result.txt\ncast_fp32_ocp_rne.result[7:0]" in layout
    assert "7e e4m3_448_=_7_*_2^6" in (tmp_path / "t.result.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["decoder_ocp", "kode=1"], "kode=1 given; give a code of code, code_format"),
        (["decoder_ocp", "code=one"], "give code as a code such as code=0x3c"),
        (["decoder_ocp", "--at", "99999"], "--at 99999 given; there are"),
    ],
)
def test_bad_input_gets_one_sentence(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(main, ["trace", *arguments])
    assert done.exit_code == 2
    assert sentence in " ".join(done.stderr.split())
