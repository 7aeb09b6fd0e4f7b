"""The commands that check on every input and check third-party Verilog."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fp9.cli import main
from fp9.units import CATALOGUE
from fp9_rtl import verilog


def fp9(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in arguments])


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """Verilog of a decoder whose sign is wrong for one code."""
    path = tmp_path / "faulty.v"
    text = verilog(CATALOGUE["decoder_hif8"])
    assert "output sign,\n" in text
    renamed = text.replace("module decoder_hif8(", "module inner(")
    wrapper = """
module decoder_hif8(code, sign, exponent, significand, zero, inf, nan);
  input [7:0] code; output sign, zero, inf, nan; output [5:0] exponent; output [3:0] significand;
  wire right;
  assign sign = right ^ (code[6:5] == 2'd3 && code[0]);
  inner unit(.code(code), .sign(right), .exponent(exponent), .significand(significand),
             .zero(zero), .inf(inf), .nan(nan));
endmodule
"""
    path.write_text(renamed + wrapper)
    return path


@pytest.mark.slow
def test_a_failing_sweep_prints_a_command_that_fails_alone(faulty: Path, tmp_path: Path) -> None:
    done = fp9("sweep", "decoder_hif8", "--verilog", faulty, "--records", tmp_path, "--jobs", "1", "--json")
    assert done.exit_code == 1, done.output
    record = json.loads(done.stdout)
    assert record["mismatches"] == 32
    command, *words = shlex.split(record["reproducer"])
    assert (command, words[-1]) == ("fp9", "code=0x61")
    again = fp9(*words)
    assert again.exit_code == 1
    assert "sign expected 0x0 (0), got 0x1 (1)" in again.output
    assert fp9(*words[:-1], "code=0x60").exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sweep", "decoder_hif8", "--shards", "5:9"], "shards '5:9' given; give FIRST:STOP within 0:1"),
        (["sweep", "decoder_hif8", "--only", "code=256"], "'code=256' given for --only; give PORT=VALUE"),
        (["sweep", "decoder_hif8", "--only", "x"], "'x' given for --only"),
        (["check-rtl", "no_such.toml"], "no_such.toml: no such file"),
        (["check-rtl", "no_such.toml", "--library", "osu018"], "libraries given without --area"),
        (["records", "status", "--claims", "shape"], "claims 'shape' given; give function, form, all, sweep, proof, "),
    ],
)
def test_wrong_arguments_are_one_sentence(words: list[str], says: str) -> None:
    done = fp9(*words)
    assert done.exit_code == 2
    assert done.output.startswith(f"fp9: {says}")


@pytest.mark.slow
def test_other_peoples_verilog_is_checked_from_the_command_line(faulty: Path) -> None:
    mapping = faulty.with_name("theirs.toml")
    mapping.write_text('files = ["theirs.v"]\ntop = "theirs"\nunit = "decoder_hif8"\n')
    text = faulty.read_text().replace("module decoder_hif8(", "module theirs(")
    faulty.with_name("theirs.v").write_text(text)
    done = fp9("check-rtl", mapping, "--json", "--count", "100")
    assert done.exit_code == 1
    record = json.loads(done.stdout)
    assert record["total_mismatches"] > 0
    assert record["mismatches"][0]["inputs"]["code"]["hex"] == "61"
    faulty.with_name("theirs.v").write_text(text.replace("right ^", "right; //"))
    assert fp9("check-rtl", mapping, "--count", "100").exit_code == 0
