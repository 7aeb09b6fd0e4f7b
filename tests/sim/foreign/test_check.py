"""Other people's RTL: a stranger's pipeline passes, and every deliberate error is explained in words."""

from __future__ import annotations

import dataclasses
import re
import shutil
import tomllib
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
from fp9_sim.foreign import check_rtl, draft, load

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

    assert explained(CAST, quiet).says == "its NaN in e5m2 is 0x7e, not 0x7f"


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
        ("[parameters]\nW = 1.5", "parameters.W = 1.5 given; give a number, a text or"),
        ("[held]\nx = 65536", "held.x = 65536 given; give a number such as 1.0, or bits from 0 to 0xffff"),
        ("[enable]\nactive = 'high'", "enable.port None given; give a Verilog name"),
        ("handshake = 3", "handshake = 3 given"),
        ('nan = "some"', "nan 'some' given; give any or canonical"),
        ("[handshake]\nout_valid = 'v'", "handshake given without in_valid"),
    ],
)
def test_a_mapping_that_says_something_else_is_one_sentence(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        load(stranger(tmp_path, more))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("test_en_i = 0", ""), "nothing drives test_en_i, an input of acme_quant; name it in"),
        (("test_en_i = 0", "test_en_i = 2"), "constants.test_en_i = 2 given; test_en_i has 1 bits"),
        (('"q_o"', '"q"'), "ports.result = 'q' given, and there is no port q; it has CLOCK_I"),
        (('"q_o"', '"q_o[6:0]"'), r"ports.result = q_o\[6:0\] given, of 7 bits; result of the spec has 8"),
        (('"q_o"', '"q_o[8:1]"'), "and q_o has no such part"),
        (("test_en_i = 0", "test_en_i = 0\nq_o = 0"), "names q_o, which is an output; name an input"),
        (("test_en_i = 0", "test_en_i = 0\nbf_i = 3"), "constants and ports.x both drive bf_i; name it once"),
        (('files = ["acme_quant.sv"]', 'files = ["none_*.sv"]'), "files has 'none_\\*.sv', and no file fits it"),
    ],
)
def test_a_connection_that_does_not_fit_is_one_sentence(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    path = stranger(tmp_path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(ValueError, match=says):
        check_rtl(load(path), count=100)


def test_an_error_names_the_users_line(tmp_path: Path) -> None:
    path = stranger(tmp_path, flush="1'b0; this is no Verilog")
    line = next(
        i for i, text in enumerate((tmp_path / "acme_quant.sv").read_text().split("\n"), 1) if "no Veri" in text
    )
    with pytest.raises(ValueError, match=rf"acme_quant\.sv:{line}:"):
        check_rtl(load(path), count=100)


def test_a_mapping_is_drafted_from_the_ports(tmp_path: Path) -> None:
    stranger(tmp_path)
    text = draft(tmp_path / "acme_quant.sv")
    said = tomllib.loads(text)
    assert (said["top"], said["clock"]["port"], said["reset"]) == (
        "acme_quant",
        "CLOCK_I",
        {"port": "RESET_NI", "active": "low"},
    )
    assert '# ? = "bf_i"  # input, 16 bits' in text


# --- units of other shapes --------------------------------------------------------------------------------------------

MULTIPLIER = """\
package acme_pkg;
  typedef struct packed { logic [7:0] right; logic [1:0] mode; logic [7:0] left; } request_t;
endpackage
module acme_mul #(parameter int OFFSET = 0, parameter NAME = "", parameter type code_t = logic [3:0]) (
    input  acme_pkg::request_t request,
    input  logic               stop_n,
    output logic [7:0]         product [0:1],
    output logic               inexact, invalid
);
    // Exact product of E5M2 significands by table look-up of their fields, truncated to E5M2.
    wire [7:0] a = request.left, b = request.right;
    wire sign = a[7] ^ b[7];
    wire nan = (&a[6:2] && a[1:0] != 0) || (&b[6:2] && b[1:0] != 0);
    wire inf = a[6:0] == 7'h7c || b[6:0] == 7'h7c;
    wire zero = a[6:0] == 0 || b[6:0] == 0;
    assign invalid = !nan && inf && zero;
    assign inexact = 0;
    assign product[0] = nan || invalid ? 8'h7f : {sign, inf ? 7'h7c : 7'h00};
    assign product[1] = 8'h00 + OFFSET - OFFSET + (NAME == "eight" ? 0 : 1) + 8'($bits(code_t) - 8);
endmodule
"""


def test_a_multiplier_in_a_struct_is_checked_without_a_wrapper(tmp_path: Path) -> None:
    """Its specials are right, and every finite product is zero: all of 65,536 pairs are run, and the others differ."""
    (tmp_path / "acme_mul.sv").write_text(MULTIPLIER)
    path = tmp_path / "mul.toml"
    path.write_text(
        'files = ["acme_*.sv"]\ntop = "acme_mul"\n'
        '[unit]\nkind = "fma"\na = ["e5m2"]\nb = ["e5m2"]\nengine = { result = "fp32", rounding = "rto" }\n'
        '[result]\nformat = "e5m2"\noverflow = "inf"\n[held]\nc = -0.0\n'
        '[ports]\na = "request.left"\nb = "request.right"\nresult = "product[0]"\n'
        '[flags]\ninvalid = "invalid"\n[constants]\n"request.mode" = 2\nstop_n = 1\n'
        '[parameters]\nOFFSET = -3\nNAME = "eight"\ncode_t = { verilog = "logic [7:0]" }\n'
    )
    verdict = check_rtl(load(path))
    assert verdict.checked == 1 << 16
    for mismatch in verdict.mismatches:
        assert "flags" not in mismatch.to_dict()["text"]
        assert mismatch.got["result"].decimal in ("0.0", "-0.0")
    path.write_text(path.read_text().replace('"product[0]"', '"product[1]"'))
    assert all(mismatch.got["result"].hex == "00" for mismatch in check_rtl(load(path)).mismatches)


ENABLED = """\
module acme_hold (input clk_i, input stall_n, input [7:0] code, output reg [15:0] wide);
    reg [7:0] first;
    always @(posedge clk_i) if (stall_n) begin
        first <= code;
        wide <= {first, 8'h00};  // E5M2 to FP16
    end
endmodule
"""


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_a_unit_with_an_enable_waits(tmp_path: Path, build_dir: Path, simulator: str) -> None:
    """E5M2 is the upper half of FP16: all codes but NaN, whose payload stays. Its latency is found out."""
    (tmp_path / "acme_hold.v").write_text(ENABLED)
    path = tmp_path / "hold.toml"
    path.write_text(
        'files = ["acme_hold.v"]\ntop = "acme_hold"\nnan = "any"\nwithout = ["flags"]\n'
        '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n'
        '[ports]\nresult = "wide"\n[clock]\nport = "clk_i"\n[enable]\nport = "stall_n"\n'
    )
    verdict = check_rtl(load(path), simulator, build_dir=build_dir)
    assert verdict.passed, verdict
    assert (verdict.latency, verdict.checked) == (2, 256)


@pytest.mark.skipif(shutil.which("ghdl") is None, reason="GHDL is not installed")
def test_vhdl_is_converted(tmp_path: Path) -> None:
    (tmp_path / "acme.vhd").write_text(
        "library ieee; use ieee.std_logic_1164.all;\n"
        "entity acme is port (code : in std_logic_vector(7 downto 0); wide : out std_logic_vector(15 downto 0));\n"
        'end; architecture rtl of acme is begin wide <= code & x"00"; end;\n'
    )
    path = tmp_path / "acme.toml"
    path.write_text(
        'files = ["acme.vhd"]\ntop = "acme"\nnan = "any"\nwithout = ["flags"]\n'
        '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n[ports]\nresult = "wide"\n'
    )
    assert check_rtl(load(path)).passed


def test_a_constant_output_has_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "acme.v").write_text("module acme(input [7:0] code, output [15:0] wide); assign wide = 0; endmodule\n")
    path = tmp_path / "acme.toml"
    path.write_text(
        'files = ["acme.v"]\ntop = "acme"\nwithout = ["flags"]\n'
        '[unit]\nkind = "upcast"\nformats = ["e5m2"]\nresult = "fp16"\n[ports]\nresult = "wide"\n'
    )
    assert check_rtl(load(path)).total_mismatches == 255


def test_any_nan_passes_where_any_is_as_good(tmp_path: Path) -> None:
    assert check_rtl(load(stranger(tmp_path, 'nan = "any"')), count=500).passed
