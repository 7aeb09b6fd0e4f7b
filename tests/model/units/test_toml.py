"""Unit specs as text say the same as the records they stand for."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fp9.engines import Chunk, Engine, Result, Window, engine
from fp9.formats import Rounding, format
from fp9.units import CATALOGUE, Fma, Handshake, Reset, Unit
from fp9.units.toml import build, dumps, load


@pytest.mark.parametrize("unit", CATALOGUE.values(), ids=list(CATALOGUE))
def test_every_catalogue_unit_survives_its_own_text(unit: Unit, tmp_path: Path) -> None:
    file = tmp_path / "unit.toml"
    file.write_text(dumps(unit))
    assert load(file) == unit


def test_a_name_means_the_catalogue_s_unit() -> None:
    assert load("mac_fp32") == CATALOGUE["mac_fp32"]


def test_settings_change_single_fields() -> None:
    unit = load("fma_fp32", ["stages=2", "a=e4m3,hfp8_143(bias=2)", 'b=["hif8"]', "flags=false", "name=mine"])
    assert unit == Fma(
        "mine", (format("e4m3"), format("hfp8_143(bias=2)")), (format("hif8"),), engine("fma_fp32"), False, False, 2
    )


def test_registers_are_told_of_where_they_move_otherwise() -> None:
    options = {
        "handshake": Handshake.VALID,
        "reset": Reset.ASYNC_LOW,
        "reset_data": True,
        "enable": True,
        "flush": True,
    }
    unit = load("mac_fp32", ["handshake=valid", "reset=async_low", "reset_data=true", "enable=true", "flush=true"])
    assert unit == dataclasses.replace(CATALOGUE["mac_fp32"], **options)  # type: ignore[arg-type]
    assert build(tomllib.loads(dumps(unit))) == unit
    assert [port.name for port in unit.control_ports] == ["clk", "rst_n", "enable", "flush", "in_valid", "out_valid"]
    with pytest.raises(ValueError, match="enable=true given for a unit without registers; set stages, or leave it out"):
        load("fma_fp32", ["enable=true"])


def test_a_setting_reaches_into_the_engine() -> None:
    unit = load("fma_dlfloat16", ["engine.result.rounding=rtz"])
    assert isinstance(unit, Fma)
    assert unit.engine == engine("dlfloat").changed(name="custom", rounding=Rounding.RTZ)
    assert build(tomllib.loads(dumps(unit))) == unit


def test_an_engine_may_be_a_table() -> None:
    table = {"name": "half", "result": {"format": "fp16", "rounding": "rtz"}, "window": {"width": 20}}
    unit = build({"kind": "fma", "name": "x", "a": "e4m3", "b": "e4m3", "engine": table})
    assert isinstance(unit, Fma)
    assert unit.engine == Engine("half", Result(format("fp16"), Rounding.RTZ), window=Window(20))


def test_an_engine_may_be_tables_by_group() -> None:
    text = 'kind = "fma"\nname = "x"\na = "e4m3"\nb = "e4m3"\n[engine.window]\nwidth = 20\n[engine.chunk]\nlength = 1\n'
    unit = build(tomllib.loads(text))
    assert isinstance(unit, Fma)
    assert unit.engine == Engine(window=Window(20), chunk=Chunk(1))
    assert build(tomllib.loads(dumps(unit))) == unit


@pytest.mark.parametrize(
    "name", [name for name, unit in CATALOGUE.items() if "engine" in {f.name for f in dataclasses.fields(unit)}]
)
def test_an_engine_written_by_groups_is_read_again(name: str) -> None:
    unit: Any = CATALOGUE[name]
    unit = dataclasses.replace(unit, engine=unit.engine.changed("custom"))
    assert "engine = {" in dumps(unit)
    assert build(tomllib.loads(dumps(unit))) == unit


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("stages", "field=value"),
        ("stages=7", "7 stages given"),
        ("stages=two", "give an integer"),
        ("flags=1", "give true or false"),
        ("colour=red", "no field 'colour'"),
        ("a=e9m9", "unknown format 'e9m9'"),
        ("a=hfp8_143(bias=12)", "extra bias 12"),
        ("a=3", "name of a format"),
        ("a=fp32", "a=fp32 given; give signed formats of at most 19 bits"),
        ("a=f152(bias=149)", "given; give a format of numbers from"),
        ("a=int8(bias=-122)", "given; give a format of numbers from"),
        ("engine.result.format=1.8.7,b=-300,specials=ieee", "specials=ieee given; give a format of numbers from"),
        ("a=e8m0", "a=e8m0 given; give signed formats of at most 19 bits"),
        ("scale=e4m3", "scale=e4m3 given; give an unsigned format without infinity, such as e8m0"),
        ("engine=abacus", "unknown engine 'abacus'"),
        ("engine.result.rounding=upwards", "choose one of"),
        ("engine.gears=3", "no field 'gears'; its fields are name, result, step, window, chunk, nan"),
        ("engine.window.gears=3", "no field 'gears'; its fields are width, truncation"),
        ("engine.products=3", "no field 'products'; write engine.step.products"),
        ("engine.window=20", "20 given; give a table of its fields, which are width"),
        ("engine.window.width.bits=20", "give an integer"),
        ("a.b=3", "only engine has fields"),
        ("name=9lives", "a letter first"),
        ("kind=abacus", "give one of decoder"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        load("fma_fp32", [setting])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("nan=[127]", "cast_fp32_arm: 1 codes given for nan; give one for each target, or none"),
        ("nan=[127,120]", "cast_fp32_arm: target e5m2: nan=0x78 given; give a code of e5m2"),
        ("nan=[127,NaN]", "give an integer"),
    ],
)
def test_a_wrong_code_of_nan_is_named(setting: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        load("cast_fp32_arm", [setting])


@pytest.mark.parametrize("text", ["kind = ", "\xff\xfe", 'kind = "fma"\nname = "x"', "", 'kind = "fma"\nengine = 3'])
def test_a_file_that_is_no_unit_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "unit.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"unit\.toml"):
        load(file)
