"""What the explorer says of units is what data sheet and synthesis say, and measuring keeps nobody waiting."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE, unit
from fp9.units.toml import load
from fp9_rtl.datasheets.sheet import body
from fp9_rtl.explorer import answers, areas
from fp9_rtl.synthesis.libraries import find_library
from fp9_rtl.synthesis.run import synthesise_unit

ONE_OF_A_KIND = sorted({spec.kind: name for name, spec in CATALOGUE.items()}.values())


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_every_kind_of_unit_has_its_fields_and_data_sheet(name: str) -> None:
    found = answers.sheet({"unit": name})
    assert [field["text"] for field in found["fields"]] == [field["usual"] for field in found["fields"]]
    assert found["sheet"].count("<h3>") == body(unit(name)).count("\n## ")
    assert found["command"] == f"fp9 rtl {name}"


def test_a_changed_spec_has_its_own_sheet() -> None:
    found = answers.sheet({"unit": "fma_fp32_ocp", "set": "stages=2;a=e4m3, hif8"})
    assert "<code>in_valid</code>" in found["sheet"] and "tapered" in found["sheet"]
    assert found["command"] == "fp9 rtl fma_fp32_ocp --set stages=2 --set 'a=e4m3, hif8'"
    assert {f["name"]: f["usual"] for f in found["fields"] if f["text"] != f["usual"]} == {
        "a": "e4m3, e5m2",
        "stages": "0",
    }


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "unknown unit ''"),
        ({"unit": "fma_fp23"}, "did you mean fma_fp32"),
        ({"unit": "/etc/unit.toml"}, "unknown unit"),
        ({"unit": "fma_fp32", "set": "stages=99"}, "99 stages given"),
        ({"unit": "fma_fp32", "set": "stages"}, "field=value"),
        ({"unit": "cast_fp32", "set": "roundings=srb"}, "no hardware for roundings = srb in a cast"),
    ],
)
def test_what_is_no_unit_is_refused_in_the_model_s_words(asked: dict[str, str], words: str) -> None:
    for answer in (answers.sheet, answers.area):
        with pytest.raises(ValueError, match=words):
            answer(asked)


# --- areas ---------------------------------------------------------------------------------------------------------


def until_known(asked: areas.Areas, name: str) -> dict[str, Any]:
    """Ask again until the answer stays."""
    end = time.monotonic() + 120
    while (found := asked.of(unit(name)))["state"] == areas.UNDER_WAY:
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@pytest.mark.slow
def test_an_area_is_that_of_synthesis() -> None:
    try:
        find_library("osu018")
    except MissingTool as missing:
        pytest.skip(str(missing))
    found = until_known(areas.Areas(), "decoder_hif8")
    ours = synthesise_unit(unit("decoder_hif8"))
    assert (found["state"], found["library"]) == (areas.MEASURED, "osu018")
    assert [e["area_um2"] for e in found["estimates"]] == [e.area_um2 for e in ours.estimates]
    assert [e["delay_ns"] for e in found["estimates"]] == [e.delay_ns for e in ours.estimates]


def worker(monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    """In place of the process that measures, one that does something with the name in each spec."""
    head = (
        "import json, os, sys, time\nfor line in sys.stdin:\n name = json.loads(line).split('name = ')[1].split()[0]\n"
    )
    monkeypatch.setattr(areas, "WORKER", (sys.executable, "-S", "-c", f"{head} {does}"))


SAY = "print(json.dumps({'state': %r, 'who': json.loads(name), 'in': os.getpid()}), flush=True)"


def test_specs_are_measured_one_after_the_other_by_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    worker(monkeypatch, SAY % areas.MEASURED)
    asked = areas.Areas()
    names = ["cast_fp32", "fma_fp32", "mac_fp32"]
    assert {asked.of(unit(name))["state"] for name in names} == {areas.UNDER_WAY}
    found = [until_known(asked, name) for name in names]
    assert [record["who"] for record in found] == names
    assert len({record["in"] for record in found}) == 1


def test_what_nobody_asks_about_any_longer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    worker(monkeypatch, f"time.sleep(600 * (name == '\"fma_fp32\"')); {SAY % areas.MEASURED}")
    monkeypatch.setattr(areas, "PATIENCE", 0.1)
    asked = areas.Areas()
    asked.of(unit("fma_fp32"))
    assert until_known(asked, "cast_fp32")["who"] == "cast_fp32"


def test_a_measurement_that_ends_by_itself_is_refused_and_the_next_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    worker(monkeypatch, f"{SAY % areas.MEASURED} if 'cast' in name else sys.exit()")
    asked = areas.Areas()
    assert until_known(asked, "fma_fp32")["state"] == areas.REFUSED
    assert until_known(asked, "cast_fp32")["who"] == "cast_fp32"


def test_specs_of_one_name_are_measured_each(monkeypatch: pytest.MonkeyPatch) -> None:
    worker(monkeypatch, SAY % areas.MEASURED)
    asked = areas.Areas()
    until_known(asked, "fma_fp32")
    assert asked.of(load("fma_fp32", ["stages=1"]))["state"] == areas.UNDER_WAY
