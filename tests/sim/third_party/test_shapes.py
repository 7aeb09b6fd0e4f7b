"""Third-party designs with other port shapes, without wrappers: parts of ports, arrays, structs, single flags, VHDL."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fp9.engines import ENGINES, engine
from fp9.formats import Rounding, format
from fp9.formats.rounding import Overflow
from fp9.units import Cast, Dot, Fma
from fp9_rtl import verilog
from fp9_sim.third_party import check_rtl, load

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


@pytest.mark.slow
def test_a_multiplier_in_a_struct_is_checked_without_a_wrapper(tmp_path: Path) -> None:
    """Its specials are right, and every finite product is zero: all of 65,536 pairs are run, and the others differ."""
    (tmp_path / "acme_mul.sv").write_text(MULTIPLIER)
    path = tmp_path / "mul.toml"
    path.write_text(
        'files = ["acme_*.sv"]\ntop = "acme_mul"\n'
        '[unit]\nkind = "fma"\na = ["e5m2"]\nb = ["e5m2"]\n'
        'engine = { result = { format = "fp32", rounding = "rto" } }\n'
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
    for constant in ("00", "05"):  # an output that no evaluation writes
        (tmp_path / "acme_mul.sv").write_text(MULTIPLIER.replace("8'h00 + OFFSET", f"8'h{constant} + OFFSET"))
        assert all(mismatch.got["result"].hex == constant for mismatch in check_rtl(load(path)).mismatches)


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


def arithmetic(folder: Path, inner: Dot, shell: str) -> None:
    """An FP8 multiplier or adder: an exact sum in FP32, then the one rounding to E4M3 that saturates where SATURATING
    is defined, and makes NaN elsewhere."""
    cast = Cast("narrow", format("fp32"), (format("e4m3"),), (Rounding.RNE,), (Overflow.SATURATE, Overflow.INF))
    tail = """
      wire [31:0] exact;
      `ifdef SATURATING
        narrow last(.x(exact), .overflow(1'b0), .result(y), .flags());
      `else
        narrow last(.x(exact), .overflow(1'b1), .result(y), .flags());
      `endif
    endmodule
    """
    (folder / "acme.v").write_text(verilog(inner) + verilog(cast) + shell + tail)


@pytest.mark.slow
def test_a_multiplier_with_one_select_saturates_by_a_define(tmp_path: Path) -> None:
    """Both operands are of one format, chosen by one pin; all 2^17 pairs are run."""
    formats = (format("e4m3"), format("e5m2"))
    arithmetic(
        tmp_path,
        Fma("exact", formats, formats, ENGINES["fma_fp32"], flags=False),
        "module acme(input [7:0] p, q, input fmt, output [7:0] y);\n"
        "  exact first(.a(p), .a_format(fmt), .b(q), .b_format(fmt), .c(32'h80000000), .result(exact));\n",
    )
    path = tmp_path / "acme.toml"
    path.write_text(
        'files = ["acme.v"]\ntop = "acme"\nwithout = ["flags"]\n[defines]\nSATURATING = true\n'
        '[unit]\nkind = "fma"\na = ["e4m3", "e5m2"]\nb = ["e4m3", "e5m2"]\n'
        'engine = { result = { format = "fp32", rounding = "rto" } }\n[result]\nformat = "e4m3"\n[held]\nc = -0.0\n'
        '[ports]\na = "p"\nb = "q"\na_format = "fmt"\nb_format = "fmt"\nresult = "y"\n'
    )
    verdict = check_rtl(load(path))
    assert verdict.passed, verdict
    assert verdict.checked == 1 << 17
    path.write_text(path.read_text().replace("SATURATING = true", "SATURATING = false"))
    assert "overflows to NaN" in check_rtl(load(path)).explanations[0].says


@pytest.mark.slow
def test_an_adder_is_a_dot_whose_other_inputs_are_held(tmp_path: Path) -> None:
    """Two products with 1, no addend: all 65,536 sums."""
    arithmetic(
        tmp_path,
        Dot("exact", (format("e4m3"),), (format("e4m3"),), engine("fma_fp32(products=2)"), flags=False),
        "module acme(input [7:0] p, q, output [7:0] y);\n"
        "  exact first(.a0(p), .a1(q), .b0(8'h38), .b1(8'h38), .c(32'h80000000), .result(exact));\n",
    )
    path = tmp_path / "acme.toml"
    path.write_text(
        'files = ["acme.v"]\ntop = "acme"\nwithout = ["flags"]\n[unit]\nkind = "dot"\na = ["e4m3"]\nb = ["e4m3"]\n'
        'engine = { result = { format = "fp32", rounding = "rto" }, step = { products = 2 } }\n'
        '[result]\nformat = "e4m3"\noverflow = "inf"\n'
        '[held]\nb0 = 1.0\nb1 = 1.0\nc = -0.0\n[ports]\na0 = "p"\na1 = "q"\nresult = "y"\n'
    )
    verdict = check_rtl(load(path))
    assert verdict.passed, verdict
    assert verdict.checked == 1 << 16


PRODUCT = """\
module acme_product (input [7:0] p, q, output minus, output [5:0] digits, output [6:0] place, output nan, inf);
    wire [2:0] m = {|p[6:2], p[1:0]}, n = {|q[6:2], q[1:0]};
    wire p_special = &p[6:2], q_special = &q[6:2];
    assign nan = p_special && (p[1:0] != 0 || q[6:0] == 0) || q_special && (q[1:0] != 0 || p[6:0] == 0);
    assign inf = (p_special || q_special) && !nan;
    assign minus = p[7] ^ q[7];
    assign digits = m * n;
    assign place = {2'd0, p[6:2]} + {2'd0, q[6:2]} + (p[6:2] == 0) + (q[6:2] == 0) + 7'd100;
endmodule
"""


@pytest.mark.slow
def test_a_product_in_parts_is_checked_without_rounding(tmp_path: Path) -> None:
    """E5M2: two fraction bits and bias 15 each; 28 of these 34 places are in the exponent, 7 bits around 0, already."""
    (tmp_path / "acme.v").write_text(PRODUCT)
    path = tmp_path / "acme.toml"
    path.write_text(
        'files = ["acme.v"]\ntop = "acme_product"\nnan = "any"\nwithout = ["flags"]\n'
        '[unit]\nkind = "fma"\na = ["e5m2"]\nb = ["e5m2"]\nengine = "fma_fp32"\n[held]\nc = -0.0\n'
        '[ports]\na = "p"\nb = "q"\n[exact]\nsign = "minus"\nsignificand = "digits"\nexponent = "place"\n'
        'offset = -6\nnan = "nan"\ninf = "inf"\n'
    )
    verdict = check_rtl(load(path))
    assert verdict.passed, verdict
    assert verdict.checked == 1 << 16
    path.write_text(path.read_text().replace("offset = -6", "offset = -8"))
    assert "e5m2 with bias 16 for e5m2" in check_rtl(load(path)).explanations[0].says
    for change, says in (
        (('exponent = "place"\n', ""), "exact.exponent is not given"),
        (('sign = "minus"', 'sign = "digits"'), "exact.sign has 6 bits; name one"),
        (("fma_fp32", "dlfloat"), r"\[exact\] is the sum of an fma or a dot"),
    ):
        other = tmp_path / "other.toml"
        other.write_text(path.read_text().replace(*change))
        with pytest.raises(ValueError, match=says):
            check_rtl(load(other))
