"""Engines: presets by name and parameter, and one sentence for what cannot be."""

from __future__ import annotations

import dataclasses

import pytest
from tests.rosters import PRESETS

import fp9
from fp9.engines import ENGINES, Addend, Engine, Scaling, Truncation
from fp9.formats import Rounding, format

SPEC = {
    # Spec 3.2: products a step, window, result, rounding.
    "fma_fp32": (1, None, "fp32", "rne"),
    "fma_fp16": (1, None, "fp16", "rne"),
    "fma_bf16": (1, None, "bf16", "rne"),
    "dlfloat": (1, None, "dlfloat16", "rna"),
    "fmma": (2, None, "dlfloat16", "rna"),
    "chunked": (1, None, "dlfloat16", "rna"),
    "hopper": (32, 13, "e8m13", "rtz"),
    "ada": (16, 13, "e8m13", "rtz"),
    "blackwell": (32, 25, "fp32", "rtz"),
    "cdna3": (16, 24, "fp32", "rne"),
    "deepseek": (32, 13, "e8m13", "rtz"),
    "exact": (1, None, "fp32", "rne"),
}


def test_every_preset_is_that_of_the_specification() -> None:
    rows = {e.name: (e.products, e.window, e.result.name, e.rounding.value) for e in ENGINES.values()}
    assert rows == SPEC


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_found_by_its_name(name: str) -> None:
    assert fp9.engine(name) is ENGINES[name]
    assert fp9.engine(ENGINES[name]) is ENGINES[name]
    assert fp9.engine(f"{name}(G={ENGINES[name].products})") is ENGINES[name]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("chunked(L=32)", {"chunk": 32}),
        ("fmma(K=20)", {"window": 20}),
        ("fmma(K=20, addend=outside)", {"window": 20, "addend": Addend.OUTSIDE}),
        ("hopper(truncation=floor,window=14)", {"truncation": Truncation.FLOOR, "window": 14}),
        ("hopper(chunk=64,promotion=fp32)", {"chunk": 64, "promotion": format("fp32")}),
        ("exact(result=hif8,rounding=rna)", {"result": format("hif8"), "rounding": Rounding.RNA}),
        ("dlfloat(zero_bypass=true)", {"zero_bypass": True}),
        ("blackwell(scaling=sums,zero_exponent=none)", {"scaling": Scaling.SUMS, "zero_exponent": None}),
    ],
)
def test_parameters_change_a_preset_and_its_name_finds_it_again(text: str, changes: dict[str, object]) -> None:
    found = fp9.engine(text)
    assert found == dataclasses.replace(ENGINES[text.partition("(")[0]], name=found.name, **changes)
    assert fp9.engine(found.name) == found


def test_an_engine_takes_names_for_its_parts() -> None:
    built = Engine(products=2, window=None, addend="inside", result="dlfloat16", rounding="rna", chunk=None)  # type: ignore[arg-type]
    assert (built.result, built.rounding, built.addend) == (format("dlfloat16"), Rounding.RNA, Addend.INSIDE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abacus", "known: fma_fp32"),
        ("hopper(gears=3)", "no parameter 'gears'"),
        ("hopper(K=)", "not of the form"),
        ("hopper(K=many)", "give an integer"),
        ("hopper(K=41)", "give 1 to 40"),
        ("hopper(G=0)", "give 1 to 1024"),
        ("hopper(truncation=up)", "choose one of zero, floor"),
        ("fma_fp32(result=hif8)", "give fp32, e8m13"),
        ("exact(result=int8)", "format with a NaN"),
        ("fma_fp32(rounding=hybrid)", "give one of rne"),
        ("fmma(chunk=3)", "multiple of the 2 products"),
        ("fma_fp32(promotion=fp32)", "give chunk"),
        ("exact(chunk=4)", "has none"),
        ("cdna3(G=3)", "even number"),
        ("fma_fp32(zero_exponent=-130)", "give window"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fp9.engine(text)


def test_roundings_on_the_way_are_those_of_steps_and_chunks() -> None:
    assert fp9.engine("hopper").steps(96) == 3
    assert fp9.engine("chunked(L=4)").steps(10) == 10 + 3
    assert fp9.engine("fmma").steps(5) == 3
    assert fp9.engine("exact").steps(1000) == 1
