"""Names that others have for formats, roundings, overflow policies and block formats."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fp9
from fp9.blocks import BLOCK_FORMATS, block_format
from fp9.engines import ENGINES, Engine, Window
from fp9.formats import BLOCK_NAMES, FAMILIES, FORMAT_NAMES, NAMED
from fp9.formats.rounding import OVERFLOW_NAMES, ROUNDING_NAMES, Overflow, Rounding, choice
from fp9.names import Synonyms, plain

TABLES = (FORMAT_NAMES, BLOCK_NAMES, ROUNDING_NAMES, OVERFLOW_NAMES)
FORMATS = sorted({(name, entry) for names in FORMAT_NAMES.by_source.values() for name, entry in names.items()})
ROUNDINGS = sorted({(name, entry) for names in ROUNDING_NAMES.by_source.values() for name, entry in names.items()})


@pytest.mark.parametrize(("name", "entry"), FORMATS)
def test_a_synonym_finds_its_format_in_any_letter_case(name: str, entry: str) -> None:
    assert fp9.format(name) == fp9.format(name.upper()) == fp9.format(name.lower()) == NAMED[entry]


@pytest.mark.parametrize(("name", "entry"), ROUNDINGS)
def test_a_synonym_finds_its_rounding_in_any_letter_case(name: str, entry: str) -> None:
    for spelled in (name, name.upper(), name.lower()):
        assert choice(Rounding, spelled, "rounding") is Rounding(entry)


def test_own_names_are_no_synonyms_of_another_entry() -> None:
    for kind, table in ((Rounding, ROUNDING_NAMES), (Overflow, OVERFLOW_NAMES)):
        for member in kind:
            assert table.find(str(member.value)) in (None, member.value)
    for name in NAMED:
        assert FORMAT_NAMES.find(name) in (None, name)
    assert not {plain(name) for name in (*NAMED, *FAMILIES)} & FORMAT_NAMES.ambiguous.keys()


def test_every_block_format_is_found_by_its_name_and_synonyms() -> None:
    assert {name: block_format(name).name for name in BLOCK_FORMATS} == {name: name for name in BLOCK_FORMATS}
    for names in BLOCK_NAMES.by_source.values():
        for name, entry in names.items():
            assert block_format(name.upper()) is BLOCK_FORMATS[entry]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.what)
def test_choices_of_ambiguous_names_exist(table: Synonyms) -> None:
    find = {
        "format": fp9.format,
        "block format": block_format,
        "rounding": Rounding,
        "overflow policy": Overflow,
    }[table.what]
    for name, choices in table.ambiguous.items():
        assert len(choices) > 1
        for entry in choices:
            assert find(entry)
        with pytest.raises(ValueError, match="is ambiguous; choose") as caught:
            table.find(name)
        assert all(entry in str(caught.value) for entry in choices)


def test_two_sources_that_disagree_are_refused() -> None:
    with pytest.raises(ValueError, match="call it ambiguous"):
        Synonyms("format", {"one": {"FP8 E4M3": "e4m3"}, "two": {"fp8_e4m3": "e4m3fnuz"}})


def test_e4m3_without_its_specials_names_the_three() -> None:
    with pytest.raises(ValueError, match=r"choose e4m3 .*, e4m3fnuz .* or e4m3ieee"):
        fp9.format("F8_E4M3")


@pytest.mark.parametrize("call", [fp9.encode, fp9.array])
def test_a_block_format_names_the_function_that_takes_it(call: object) -> None:
    with pytest.raises(ValueError, match=r"fp9.quantise\(x, 'nvfp4'\)"):
        call([1.0], "nvfp4")  # type: ignore[operator]


def test_a_format_of_single_numbers_names_the_function_that_takes_it() -> None:
    with pytest.raises(ValueError, match=r"fp9.array\(x, 'E4M3'\)"):
        block_format("E4M3")


def test_british_and_american_spelling_are_one_function() -> None:
    assert fp9.quantize is fp9.quantise and fp9.dequantize is fp9.dequantise
    assert fp9.fake_quantize is fp9.fake_quantise
    assert {"quantize", "dequantize", "fake_quantize"} <= set(dir(fp9))


@pytest.mark.parametrize("name", ["RoundTiesToEven", "nearest", "RNE", "CAST_RINT"])
def test_words_round_as_the_mode(name: str) -> None:
    x = np.linspace(-20, 20, 999)
    assert np.array_equal(fp9.encode(x, "e4m3", name), fp9.encode(x, "e4m3", "rne"))


def test_names_of_gfloat_are_found() -> None:
    gfloat = pytest.importorskip("gfloat")
    formats = pytest.importorskip("gfloat.formats")
    infos = [info for name, info in vars(formats).items() if name.startswith("format_info_ocp")]
    assert infos and all(fp9.format(info.name).max == info.max for info in infos)
    for mode in gfloat.RoundMode:
        if not mode.name.startswith("Stochastic"):
            choice(Rounding, mode.name, "rounding")


@pytest.mark.parametrize("record", [*fp9.formats(), *ENGINES.values(), *fp9.block_formats()], ids=str)
def test_a_record_of_a_catalogue_is_shown_as_the_call_that_finds_it(record: object) -> None:
    assert len(repr(record)) < 60
    names = {name: getattr(fp9, name) for name in ("format", "engine", "block_format")}
    assert eval(repr(record), names) == record


def test_a_changed_record_shows_its_fields() -> None:
    assert "bias=3" in repr(dataclasses.replace(fp9.format("e4m3"), bias=3))  # type: ignore[type-var]
    assert "width=20" in repr(Engine(window=Window(20)))


def test_the_module_lists_public_names_only() -> None:
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(dir(fp9))
