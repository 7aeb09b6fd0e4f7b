"""Other people's RTL: a stranger's pipeline passes, and every deliberate error is explained in words."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fp9.engines import ENGINES
from fp9.formats import Rounding, format
from fp9.golden import evaluate
from fp9.referee import Explanation, explain
from fp9.rounding import Flags, Overflow
from fp9.suites import inputs_of
from fp9.units import Cast, Fma, Unit
from fp9.vectors.sets import from_inputs
from fp9_rtl import verilog
from fp9_sim.foreign import check_rtl, load

# --- a stranger's cast, bfloat16 to E4M3 ------------------------------------------------------------------------------

STRANGER = """\
`default_nettype none
// BF16 to E4M3, by hand: own names, active-low reset, two registers, no handshake.
module acme_quant #(parameter RND_EVEN = 1) (
    input  logic        CLOCK_I, RESET_NI, test_en_i,
    input  logic [15:0] bf_i,
    output logic [7:0]  q_o
);
    logic [15:0] bf_q;
    logic [7:0]  q_d;
    wire [7:0] e = bf_q[14:7];
    wire [7:0] sig = {1'b1, bf_q[6:0]};
    wire [7:0] down = e >= 8'd121 ? 8'd0 : 8'd121 - e;
    wire [3:0] shift = down > 8'd7 ? 4'd7 : down[3:0];
    wire [15:0] wide = {sig, 8'd0} >> shift;
    wire [3:0] kept = wide[15:12];
    wire half = wide[11];
    wire sticky = |wide[10:0];
    wire up = @up;
    wire [7:0] base = e >= 8'd121 ? {1'b0, e[3:0] - 4'd8, 3'b0} : 8'd0;
    wire [7:0] code = base + (e >= 8'd121 ? {5'd0, kept[2:0]} : {4'd0, kept}) + {7'd0, up};
    wire nan = e == 8'hff && bf_q[6:0] != 0;
    wire big = e > 8'd135 || (e >= 8'd121 && code > 8'h7e);
    wire zero = e < 8'd116;
    always_comb begin
        q_d = {bf_q[15], code[6:0]};
        if (zero || code == 0) q_d = {@zero_sign, 7'd0};
        if (@flush) q_d = {bf_q[15], 7'd0};
        if (big) q_d = {bf_q[15], @overflow};
        if (nan) q_d = {bf_q[15], @nan};
        if (test_en_i) q_d = 8'h00;
    end
    always_ff @(posedge CLOCK_I or negedge RESET_NI)
        if (!RESET_NI) begin bf_q <= '0; q_o <= '0; end
        else begin bf_q <= bf_i; q_o <= q_d; end
endmodule
`default_nettype wire
"""

RIGHT = {
    "up": "half && (sticky || kept[0])",
    "zero_sign": "bf_q[15]",
    "flush": "1'b0",
    "overflow": "7'h7e",
    "nan": "7'h7f",
}

MAPPING = """\
files = ["acme_quant.sv"]
top = "acme_quant"
latency = 2
without = ["flags"]
{more}
[unit]
kind = "cast"
source = "bf16"
targets = ["e4m3"]
roundings = ["rne"]
overflow = ["saturate"]
[ports]
x = "bf_i"
result = "q_o"
[constants]
test_en_i = 0
[clock]
port = "CLOCK_I"
[reset]
port = "RESET_NI"
active = "low"
"""


def stranger(folder: Path, more: str = "", **faults: str) -> Path:
    """A mapping of the stranger's unit, its Verilog beside it; faults replace expressions of `RIGHT`."""
    text = STRANGER
    for name, expression in {**RIGHT, **faults}.items():
        text = text.replace(f"@{name}", expression)
    (folder / "acme_quant.sv").write_text(text)
    path = folder / "acme.toml"
    path.write_text(MAPPING.format(more=more))
    return path


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_strangers_pipeline_passes(tmp_path: Path, build_dir: Path, simulator: str) -> None:
    verdict = check_rtl(load(stranger(tmp_path)), simulator, count=500, build_dir=build_dir)
    assert verdict.passed, verdict
    assert verdict.checked > 500


@pytest.mark.parametrize(("clocks", "passes"), [(9, True), (8, False)])
def test_a_pipeline_may_be_longer_than_ours(tmp_path: Path, build_dir: Path, clocks: int, passes: bool) -> None:
    """Seven clocks of the result's own behind the two of the unit."""
    mapping = stranger(tmp_path)
    text = (tmp_path / "acme_quant.sv").read_text()
    late = "logic [0:6][7:0] late; always_ff @(posedge CLOCK_I) late <= {late[1:6], q_early}; assign q_o = late[0];"
    text = text.replace("q_o <=", "q_early <=").replace(
        "    logic [7:0]  q_d;", f"    logic [7:0]  q_d, q_early;\n    {late}"
    )
    (tmp_path / "acme_quant.sv").write_text(text)
    mapping.write_text(mapping.read_text().replace("latency = 2", f"latency = {clocks}"))
    for simulator in ("verilator", "icarus"):
        assert check_rtl(load(mapping), simulator, count=500, build_dir=build_dir).passed == passes


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        ({"up": "half"}, "it rounds to nearest, ties away from zero; expected to nearest, ties to even"),
        ({"overflow": "7'h7f", "nan": "7'h7f"}, "E4M3 overflow to NaN where E4M3 saturates to 448"),
        ({"flush": "!big && e < 8'd121"}, "it flushes to zero before it rounds"),
        ({"zero_sign": "1'b0"}, "wrong sign of zero: it gives +0"),
    ],
)
def test_a_strangers_error_is_explained(tmp_path: Path, faults: dict[str, str], says: str) -> None:
    verdict = check_rtl(load(stranger(tmp_path, **faults)), count=2000)
    assert not verdict.passed
    assert says in verdict.explanations[0].says
    assert verdict.explanations[0].explains == verdict.total_mismatches
    assert not verdict.explanations[0].contradicts


# --- altered specs and hand-made answers ------------------------------------------------------------------------------

CAST = Cast("cast", format("fp32"), (format("e4m3"), format("e5m2")), (Rounding.RNE,), (Overflow.SATURATE,))
FMA = Fma("fma", (format("e4m3"),), (format("e5m2"),), ENGINES["fma_fp16"])

Change = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


def explained(unit: Unit, change: Change) -> Explanation:
    """The first explanation of answers that `change` makes from the inputs and the model's results."""
    vectors = from_inputs(unit, inputs_of(unit, "corner", None, 0))
    answers = change(dict(vectors.inputs), dict(vectors.expected))
    return explain(vectors, answers).explanations[0]


def test_rounding_over_float16_is_double_rounding() -> None:
    def via_float16(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            halves = inputs["x"].view(np.float32).astype(np.float16).astype(np.float32)
        changed = evaluate(CAST, {**inputs, "x": halves.view(np.uint32)})
        return {**golden, "result": np.where(np.isinf(halves), golden["result"], changed["result"])}

    found = explained(CAST, via_float16)
    assert found.says.startswith("double rounding: it rounds to fp16 first")
    assert not found.contradicts


def test_a_rounded_product_is_double_rounding() -> None:
    def in_two_steps(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        a = format("e4m3").table[inputs["a"]].astype(np.float32)
        b = format("e5m2").table[inputs["b"]].astype(np.float32)
        with np.errstate(all="ignore"):
            total = (a * b).astype(np.float16) + inputs["c"].view(np.float16)
        return {**golden, "result": np.where(np.isnan(total), format("fp16").nan_code(False), total.view(np.uint16))}

    found = explained(FMA, in_two_steps)
    assert found.says == "double rounding: it rounds the product to fp16 before it adds"
    assert not found.contradicts


def test_truncation_is_named() -> None:
    truncating = dataclasses.replace(CAST, roundings=(Rounding.RTZ,))
    found = explained(CAST, lambda inputs, golden: evaluate(truncating, inputs))
    assert "toward zero" in found.says
    assert not found.contradicts


def test_subnormal_operands_read_as_zero_are_named() -> None:
    def read_as_zero(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        fields = {"a": (0x78, 0x80), "b": (0x7C, 0x80), "c": (0x7C00, 0x8000)}
        flushed = {
            name: np.where(inputs[name] & exponent, inputs[name], inputs[name] & sign).astype(inputs[name].dtype)
            for name, (exponent, sign) in fields.items()
        }
        return evaluate(FMA, flushed)

    assert explained(FMA, read_as_zero).says == "it reads subnormal operands as zero"


def test_flushed_results_are_named() -> None:
    def flushed(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        codes, exponent = golden["result"], np.where(inputs["target"] == 0, 0x78, 0x7C)
        return {**golden, "result": np.where(codes & exponent, codes, codes & 0x80).astype(np.uint8)}

    assert explained(CAST, flushed).says == "it flushes subnormal results to zero"


def test_another_nan_is_named() -> None:
    def quiet(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        codes = golden["result"]
        nan = (inputs["target"] == 1) & (codes & 0x7F == 0x7F)
        return {**golden, "result": np.where(nan, codes - 1, codes)}

    assert explained(CAST, quiet).says == 'its NaN has another code; nan = "any" accepts it'


def test_flags_that_differ_alone_are_named() -> None:
    def without_underflow(inputs: dict[str, Any], golden: dict[str, Any]) -> dict[str, Any]:
        return {**golden, "flags": golden["flags"] & ~np.uint8(Flags.UNDERFLOW)}

    assert explained(CAST, without_underflow).says == "flags: it does not raise underflow ever"


def test_a_mac_without_valid_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.v").write_text("")
    path = tmp_path / "m.toml"
    path.write_text('files = ["m.v"]\ntop = "m"\nunit = "mac_fp32"\nlatency = 1\n[clock]\nport = "clk"\n')
    with pytest.raises(ValueError, match=r"give handshake\.in_valid"):
        load(path)


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


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_parameters_included_files_and_a_falling_clock_are_taken(
    tmp_path: Path, build_dir: Path, simulator: str
) -> None:
    """The unit rounds to even with RND_EVEN alone; the expression for it stands in a header of another folder."""
    path = stranger(tmp_path, 'include = ["headers"]', up='RND_EVEN == 7 ? (\n`include "even.svh"\n) : half')
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "even.svh").write_text("half && (sticky || kept[0])\n")
    unit = tmp_path / "acme_quant.sv"
    unit.write_text(unit.read_text().replace("posedge CLOCK_I", "negedge CLOCK_I"))
    falling = path.read_text().replace('port = "CLOCK_I"', 'port = "CLOCK_I"\nedge = "falling"')
    path.write_text(falling + "[parameters]\nRND_EVEN = 7\n")
    assert check_rtl(load(path), simulator, count=500, build_dir=build_dir).passed
    path.write_text(falling)
    assert not check_rtl(load(path), simulator, count=500, build_dir=build_dir).passed


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_handshake_of_its_own_is_driven(tmp_path: Path, build_dir: Path, simulator: str) -> None:
    cast = Cast("theirs", format("fp16"), (format("hif8"),), (Rounding.RNA,), stages=2)
    names = {"in_valid": "valid_i", "in_ready": "ready_o", "out_valid": "valid_o", "out_ready": "ready_i"}
    text = verilog(cast)
    for ours, theirs in names.items():
        text = re.sub(rf"\b{ours}\b", theirs, text)
    (tmp_path / "theirs.v").write_text(text)
    mapping = tmp_path / "theirs.toml"
    mapping.write_text(
        'files = ["theirs.v"]\ntop = "theirs"\nlatency = 2\n[handshake]\n'
        + "".join(f'{ours} = "{theirs}"\n' for ours, theirs in names.items())
        + '[clock]\nport = "clk"\n[reset]\nport = "rst"\n'
        '[unit]\nkind = "cast"\nsource = "fp16"\ntargets = ["hif8"]\nroundings = ["rna"]\n'
    )
    assert check_rtl(load(mapping), simulator, count=500, build_dir=build_dir).passed


# --- mappings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("color = 1", "has a field 'color'"),
        ("[parameters]\nW = -1", "parameters.W = -1 given; give a number from 0 on"),
        ("handshake = 3", "handshake = 3 given"),
        ('nan = "some"', "nan 'some' given; give any or canonical"),
        ("[handshake]\nout_valid = 'v'", "handshake needs a latency and in_valid"),
    ],
)
def test_a_mapping_that_says_something_else_is_one_sentence(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        load(stranger(tmp_path, more))


def test_any_nan_passes_where_any_is_as_good(tmp_path: Path) -> None:
    assert check_rtl(load(stranger(tmp_path, 'nan = "any"')), count=500).passed
