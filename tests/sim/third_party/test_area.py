"""Areas of third-party units beside ours: the same circuit costs the same, whoever wrote it."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sim.third_party.acme import acme_design

from fp9.engines import engine
from fp9.formats import format
from fp9.units import Fma
from fp9_rtl import verilog
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_sim.third_party import load
from fp9_sim.third_party.area import Area, areas, keep, read
from fp9_sim.third_party.areas_chart import chart
from fp9_sim.third_party.areas_page import page


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
    assert [(area.library, area.mapping) for area in found] == [
        ("osu018", "area-optimised"),
        ("osu018", "delay-balanced"),
    ]
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
    with pytest.raises(
        ValueError,
        match="a clocked design without out_ready given",
    ):
        areas(load(acme_design(tmp_path)))


def some_areas() -> list[Area]:
    """Areas of two units in every library and mapping."""
    fields = {"theirs": 335.0, "theirs_ns": 1.25, "ours": 88.5, "ours_ns": 0.5, "share": True}
    return [
        Area(design=design, library=name, mapping=way, circuit_sha256=design, verilog_sha256=design, **fields)
        for design, name, way in itertools.product(("acme_fma", "acme_cast"), SIDE_BY_SIDE, MAPPED)
    ]


def test_the_chart_has_a_row_for_each_unit_and_a_mark_for_each_ratio() -> None:
    found = some_areas()
    text = chart(found)
    names = re.findall(r">(\w+)</text>", text)
    assert {area.design for area in found} <= set(names)
    assert text.count("<use ") >= len(found)
    assert chart(found) == text


def test_the_page_has_every_ratio_and_area() -> None:
    found = [replace(area, ours=100.0 * number) for number, area in enumerate(some_areas(), 1)]
    text = page(found[1:])
    assert "| `acme_cast` | 1.49 / 1.79 | 2.09 / 2.39 |" in text.splitlines()
    for area in found[1:]:
        assert f" {area.theirs:,.0f} | {area.ours:,.0f} | {area.ratio:.2f} |" in text
    assert "| - | - | - |" in text


def test_a_record_keeps_the_newest_of_each_unit(tmp_path: Path) -> None:
    every = some_areas()
    path = tmp_path / "areas.json"
    keep(every, path)
    changed = [replace(area, theirs=1.0) for area in every if area.design == every[0].design]
    keep(changed, path)
    assert {area.theirs for area in read(path) if area.design == every[0].design} == {1.0}
    assert len(read(path)) == len(every)
    keep([replace(every[0], library="another")], path)
    assert len(read(path)) == len(every) + 1
    keep([replace(every[0], verilog_sha256="of another text")], path)
    assert [area for area in read(path) if area.design == every[0].design] == [
        replace(every[0], verilog_sha256="of another text")
    ]
    path.write_text("{}")
    with pytest.raises(ValueError, match="is no record of areas"):
        read(path)
