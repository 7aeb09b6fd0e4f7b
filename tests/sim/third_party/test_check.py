"""Third-party RTL: `check_rtl` explains every fault that is inserted into a design."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.sim.third_party.acme import acme_design

from fp9.formats import Rounding, format
from fp9.units import Cast, Mul
from fp9_rtl import verilog
from fp9_sim.third_party import check_rtl, design_proof, load


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({"up": "half"}, "it rounds to nearest, ties away from zero; expected to nearest, ties to even"),
        ({"overflow": "7'h7f", "nan": "7'h7f"}, "E4M3 overflows to NaN; expected saturation to 448"),
        ({"flush": "!big && e < 8'd121"}, "it flushes to zero before it rounds"),
        ({"zero_sign": "1'b0"}, "wrong sign of zero: it gives +0"),
    ],
)
def test_an_error_of_third_party_rtl_is_explained(tmp_path: Path, faults: dict[str, str], says: str) -> None:
    verdict = check_rtl(load(acme_design(tmp_path, **faults)), count=2000)
    assert not verdict.passed
    assert says in verdict.explanations[0].says
    assert verdict.explanations[0].explains == verdict.total_mismatches
    assert not verdict.explanations[0].contradicts


@pytest.mark.parametrize(("up", "state"), [("half && (sticky || kept[0])", "passed"), ("half", "failed")])
def test_a_proof_covers_the_outputs_that_the_design_has(tmp_path: Path, up: str, state: str) -> None:
    (check,) = design_proof(load(acme_design(tmp_path, up=up)), 60, True)  # no flags, and an asynchronous reset
    assert check.state.value == state, check.findings


@pytest.mark.slow
def test_icarus_runs_every_operation_of_two_8_bit_operands(tmp_path: Path) -> None:
    unit = Mul("mul", (format("e4m3"),), (format("e4m3"),), format("fp16"))
    (tmp_path / "mul.v").write_text(verilog(unit))
    mapping = 'files = ["mul.v"]\ntop = "mul"\nlatency = 0\n[unit]\nkind = "mul"\na = ["e4m3"]\nb = ["e4m3"]\n'
    (tmp_path / "mul.toml").write_text(f'{mapping}result = "fp16"\n')
    verdict = check_rtl(load(tmp_path / "mul.toml"), "icarus", count=1)
    assert verdict.passed and verdict.checked == 1 << 16


@pytest.mark.slow
def test_generated_verilog_of_another_spec_is_explained(tmp_path: Path) -> None:
    cast = Cast("theirs", format("fp16"), (format("hif8"),), (Rounding.RTZ,))
    (tmp_path / "theirs.v").write_text(verilog(cast))
    mapping = tmp_path / "theirs.toml"
    mapping.write_text(
        'files = ["theirs.v"]\ntop = "theirs"\n'
        '[unit]\nkind = "cast"\nsource = "fp16"\ntargets = ["hif8"]\nroundings = ["rna"]\n'
    )
    verdict = check_rtl(load(mapping), count=500)
    assert verdict.explanations[0].says == "it rounds toward zero; expected to nearest, ties away from zero"


@pytest.mark.slow
def test_a_constant_output_has_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "acme.v").write_text("module acme(input [7:0] code, output [15:0] wide); assign wide = 0; endmodule\n")
    path = tmp_path / "acme.toml"
    path.write_text(
        'files = ["acme.v"]\ntop = "acme"\nwithout = ["flags"]\n'
        '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n[ports]\nresult = "wide"\n'
    )
    assert check_rtl(load(path)).total_mismatches == 255


@pytest.mark.slow
def test_any_nan_passes_where_any_is_as_good(tmp_path: Path) -> None:
    assert check_rtl(load(acme_design(tmp_path, 'nan = "any"')), count=500).passed
