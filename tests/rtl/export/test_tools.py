"""Every tool reads the generated Verilog as it is meant, and in silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.rtl.export.texts import LINT, catalogue, icarus, said, text_of, verilator
from tests.support.rosters import thinned

from fp9.engines import engine
from fp9.formats import format
from fp9.units import CATALOGUE, Mac, Unit
from fp9_rtl import verilog
from fp9_rtl.export.verilog import verilog_files


@pytest.mark.parametrize("name", ["decoder_hif8", "mac_dlfloat16"])
def test_one_flat_module_or_a_file_for_each(name: str, tmp_path: Path) -> None:
    unit = CATALOGUE[name]
    (tmp_path / f"{name}.v").write_text(verilog(unit, flat=True))
    assert (tmp_path / f"{name}.v").read_text().count("endmodule") == 1
    assert "%Warning" not in said(verilator(), "--lint-only", "-Wall", f"{name}.v", folder=tmp_path)
    for file, text in verilog_files(unit).items():
        (tmp_path / file).write_text(text)
    files = (tmp_path / f"{name}.f").read_text().split()
    assert "%Warning" not in said(verilator(), "--lint-only", "-Wall", "-f", f"{name}.f", folder=tmp_path)
    assert said(icarus(), "-Wall", "-g2005", "-o", "unit.vvp", *files, folder=tmp_path) == ""


@catalogue
def test_no_block_can_wait_for_an_event_that_never_comes(unit: Unit) -> None:
    text = text_of(unit)
    for block in re.findall(r"always @\(p[^\n]*", text):
        assert re.fullmatch(r"always @\(posedge clk\)( begin)?", block.strip())
    for subject in re.findall(r"always @\*\n(.*)", text):
        assert re.fullmatch(r"    case \(.*[a-z].*\)", subject), "a choice by a constant is no choice"


@catalogue
def test_verilator_has_nothing_to_complain_of(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "unit.v").write_text(text_of(unit))
    assert "%Warning" not in said(verilator(), *LINT, "unit.v", folder=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(["e3m4ieee", "binary8p5", "f134"]))
def test_sums_of_longer_significands_leave_no_bit_unused(name: str, tmp_path: Path) -> None:
    """Of products of 10 bits the lowest stand below every place of the register."""
    wide = (format(name),)
    text = verilog(Mac("unit", wide, wide, engine("exact(G=4)"), stages=4))
    (tmp_path / "unit.v").write_text(text)
    assert "%Warning" not in said(verilator(), *LINT, "unit.v", folder=tmp_path)


@catalogue
def test_icarus_has_nothing_to_complain_of(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "unit.v").write_text(text_of(unit))
    assert said(icarus(), "-Wall", "-g2005", "-o", "unit.vvp", "unit.v", folder=tmp_path) == ""
