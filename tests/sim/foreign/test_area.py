"""Areas of other people's units beside ours: the same circuit costs the same, whoever wrote it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.sim.foreign.strangers import stranger

from fp9.engines import engine
from fp9.formats import format
from fp9.units import Fma
from fp9_rtl import circuit_digest, verilog
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_sim.foreign import load, spec_of
from fp9_sim.foreign.area import RECORD as NAME
from fp9_sim.foreign.area import areas, keep, read, summary, table

ROOT = Path(__file__).parents[3]
RECORD = ROOT / "docs" / "peers" / NAME


def ours_as_theirs(folder: Path, more: str) -> Path:
    """A mapping of our own multiply-add of FP4, called by another name."""
    fp4 = (format("e2m1"),)
    (folder / "acme.v").write_text(verilog(Fma("acme", fp4, fp4, engine("fma_fp16"))))
    path = folder / "mine.toml"
    path.write_text(
        'files = ["acme.v"]\ntop = "acme"\nwithout = ["flags"]\n'
        f'[unit]\nkind = "fma"\na = ["e2m1"]\nb = ["e2m1"]\nengine = "fma_fp16"\n{more}'
    )
    return path


@pytest.mark.slow
def test_our_own_unit_costs_what_it_costs_with_an_input_held_in_both(tmp_path: Path) -> None:
    """An addend at -0.0 leaves a product of FP4: in none of them is there an addition any more."""
    found = areas(load(ours_as_theirs(tmp_path, "[held]\nc = -0.0\n[constants]\nc = 0x8000\n")), ("osu018",))
    assert [(area.library, area.mapping) for area in found] == [("osu018", "A"), ("osu018", "B")]
    assert all(area.ratio == pytest.approx(1, abs=0.02) for area in found)
    assert found[0].theirs < 150


@pytest.mark.slow
def test_a_mapping_says_whether_the_flow_of_both_shares_operators(tmp_path: Path) -> None:
    """The record says it with every figure."""
    path = ours_as_theirs(tmp_path, "[held]\nc = -0.0\n[constants]\nc = 0x8000\n")
    assert [area.share for area in areas(load(path), ("osu018",))] == [True, True]
    path.write_text("share = false\n" + path.read_text())
    assert [area.share for area in areas(load(path), ("osu018",))] == [False, False]
    path.write_text(path.read_text().replace("share = false", 'share = "no"'))
    with pytest.raises(ValueError, match="share = 'no' given"):
        load(path)


def test_what_cannot_be_compared_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="areas are compared without a clock, or with a handshake of their own"):
        areas(load(stranger(tmp_path)))


def test_a_record_keeps_the_newest_of_each_unit(tmp_path: Path) -> None:
    every, path = read(RECORD), tmp_path / "areas.json"
    keep(every, path)
    changed = [replace(area, theirs=1.0) for area in every if area.peer == every[0].peer]
    keep(changed, path)
    assert {area.theirs for area in read(path) if area.peer == every[0].peer} == {1.0}
    assert len(read(path)) == len(every)
    keep([replace(every[0], library="another")], path)
    assert len(read(path)) == len(every) + 1
    keep([replace(every[0], verilog_sha256="of another text")], path)
    assert [area for area in read(path) if area.peer == every[0].peer] == [
        replace(every[0], verilog_sha256="of another text")
    ]
    path.write_text("{}")
    with pytest.raises(ValueError, match="is no record of areas"):
        read(path)


def test_the_tables_of_the_page_are_those_of_the_record() -> None:
    """Of all that was measured; `make peers` measures in the libraries of the catalogue."""
    found = read(RECORD)
    assert {area.library for area in found} > set(SIDE_BY_SIDE)
    page = (ROOT / "docs" / "peers.md").read_text()
    for made in (summary(found), table(found, "A"), table(found, "B")):
        assert made in page


@pytest.mark.every(9)
@pytest.mark.parametrize("peer", sorted({area.peer for area in read(RECORD)}))
def test_our_side_of_a_row_is_the_circuit_of_today(peer: str) -> None:
    """Which needs none of their files."""
    digest = circuit_digest(spec_of(RECORD.with_name(f"{peer}.toml")))
    assert {area.circuit_sha256 for area in read(RECORD) if area.peer == peer} == {digest}, f"`make peers PEERS={peer}`"


def test_units_of_the_same_numbers_are_at_most_0_55_of_the_best_stranger() -> None:
    """A multiply-add and casts with subnormal numbers and rounding; exact products alone leave less to be saved."""
    rounded = [area for area in read(RECORD) if area.peer.startswith(("cvfpu_", "hardfloat_"))]
    assert {area.peer for area in rounded} == {"cvfpu_cast_e5m2", "cvfpu_fma_multi", "hardfloat_cast"}
    assert all(area.ratio <= 0.55 for area in rounded)
