"""Engines: presets by name and parameter, and one sentence for what cannot be."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.support.rosters import GROUPED, PRESETS

import fp9
from fp9.engines import (
    ENGINES,
    GROUPS,
    PARAMETERS,
    Addend,
    Chunk,
    Engine,
    Result,
    Scaling,
    Step,
    Truncation,
    Window,
)
from fp9.formats import format
from fp9.formats.rounding import Overflow, Rounding

SPEC = {
    # numerics.md, sums: products a step, window, result, rounding.
    "fma_fp32": (1, None, "fp32", "rne"),
    "fma_fp16": (1, None, "fp16", "rne"),
    "fma_bf16": (1, None, "bf16", "rne"),
    "dlfloat": (1, None, "dlfloat16", "rna"),
    "fmma": (2, None, "dlfloat16", "rna"),
    "chunked": (1, None, "dlfloat16", "rna"),
    "hopper": (32, 13, "e8m13", "rtz"),
    "ada": (16, 13, "e8m13", "rtz"),
    "blackwell": (32, 25, "fp32", "rtz"),
    # mmasim 2.1.1, arithmetic of the instructions with FP16 results; two steps of 16: measured on H100, H200 and B200.
    "hopper_fp16": (32, 13, "fp16", "rne"),
    "ada_fp16": (16, 13, "fp16", "rne"),
    "blackwell_fp16": (32, 25, "fp16", "rne"),
    "hopper_mma": (16, 25, "fp32", "rtz"),
    "hopper_mma_fp16": (16, 25, "fp16", "rne"),
    "blackwell_mma": (16, 25, "fp32", "rtz"),
    "blackwell_mma_fp16": (16, 25, "fp16", "rne"),
    # mmasim 2.1.1: FP16, BF16 and TF32 operands; measured on V100, A100, A2, Ada, L40S, H100, H200 and B200.
    "volta": (4, 23, "fp32", "rtz"),
    "volta_fp16": (4, 23, "fp16", "rne"),
    "ampere": (8, 24, "fp32", "rtz"),
    "ampere_fp16": (8, 24, "fp16", "rne"),
    "ampere_tf32": (4, 24, "fp32", "rtz"),
    "hopper_16bit": (16, 25, "fp32", "rtz"),
    "hopper_16bit_fp16": (16, 25, "fp16", "rne"),
    "hopper_tf32": (8, 25, "fp32", "rtz"),
    "cdna3": (16, 24, "fp32", "rne"),
    "deepseek": (32, 13, "e8m13", "rtz"),
    # riscv-isa-sim, bulknormdot.h: 23 + ceil(log2 n) bits below the largest product.
    "rvbna4": (4, 25, "fp32", "rto"),
    "rvbna8": (8, 26, "fp32", "rto"),
    "rvbna16": (16, 27, "fp32", "rto"),
    "rvbna32": (32, 28, "fp32", "rto"),
    # Arm DDI0487, FP8DotAddFP: one exact sum, one rounding.
    "arm_fdot2": (2, None, "fp16", "rne"),
    "arm_fdot4": (4, None, "fp32", "rne"),
    "arm_fmmla4": (4, None, "fp16", "rne"),
    "arm_fmmla8": (8, None, "fp32", "rne"),
    # Bochs, amx.cc and amx_top.cc: 64 bytes of a tile's row, four bytes of a dword; exact, one rounding.
    "amx_fp8": (64, None, "fp32", "rne"),
    "ace_top4mx": (4, None, "fp32", "rne"),
    "blackwell_nvfp4": (64, 35, "fp32", "rtz"),
    "mx": (32, None, "fp32", "rne"),
    "exact": (1, None, "fp32", "rne"),
}


def test_every_preset_is_that_of_the_specification() -> None:
    rows = {
        e.name: (e.step.products, e.window.width, e.result.format.name, e.result.rounding.value)
        for e in ENGINES.values()
    }
    assert rows == SPEC


@pytest.mark.parametrize("name", [*PRESETS, *GROUPED])
def test_a_preset_is_found_by_its_name(name: str) -> None:
    assert fp9.engine(name) is ENGINES[name]
    assert fp9.engine(ENGINES[name]) is ENGINES[name]
    assert fp9.engine(f"{name}(G={ENGINES[name].step.products})") is ENGINES[name]


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
        ("hopper(truncation=jam)", {"truncation": Truncation.JAM}),
        ("hopper(chunk=64,interleave=4)", {"chunk": 64, "interleave": 4}),
        ("fma_fp16(overflow=saturate)", {"overflow": Overflow.SATURATE}),
        ("fma_fp16(nan=0xfe00,flush_result=true)", {"nan": 0xFE00, "flush_result": True}),
        ("blackwell(scaling=sums,zero_exponent=none)", {"scaling": Scaling.SUMS, "zero_exponent": None}),
    ],
)
def test_parameters_change_a_preset_and_its_name_finds_it_again(text: str, changes: dict[str, object]) -> None:
    found = fp9.engine(text)
    assert found == ENGINES[text.partition("(")[0]].changed(name=found.name, **changes)
    assert fp9.engine(found.name) == found


def test_an_engine_takes_names_for_its_parts() -> None:
    built = Engine(
        result=Result("dlfloat16", "rna"), step=Step(2), window=Window(None, addend="inside"), chunk=Chunk(None)
    )  # type: ignore[arg-type]
    assert (built.result.format, built.result.rounding, built.window.addend) == (
        format("dlfloat16"),
        Rounding.RNA,
        Addend.INSIDE,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abacus", "`fp9 accumulators` lists all"),
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
        ("exact(chunk=4)", "an exact sum has no chunk"),
        ("cdna3(G=3)", "even number"),
        ("cdna3(truncation=jam)", "truncation to"),
        ("hopper(interleave=2)", "takes chunks"),
        ("hopper(chunk=64,interleave=3)", "divisor of the 32 products"),
        ("fma_fp16(overflow=wrap)", "choose one of saturate, inf"),
        ("fma_fp32(zero_exponent=-130)", "give window"),
        ("hopper(zero_exponent=513)", "zero_exponent=513 given; give -512 to 512"),
        ("dlfloat(flush_result=true)", "no subnormal numbers to flush"),
        ("fma_fp16(nan=0x3c00)", "give a code of fp16 that is NaN"),
        ("fma_fp16(invalid_nan=0x7e000)", "give a code of fp16 that is NaN"),
        ("hopper(infinity_run=4)", "steps without a window"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fp9.engine(text)


@pytest.mark.parametrize(
    ("result", "addend"),
    [
        ("e8m13", "fp32"),
        ("1.8.23,b=100,specials=ieee", "1.8.23,b=100,specials=ieee"),
        ("1.8.23,b=127,specials=merged", "1.8.23,b=127,specials=merged"),
    ],
)
def test_an_addend_has_the_result_s_format_but_for_fp32_with_fewer_bits(result: str, addend: str) -> None:
    """Not every format of 32 bits is FP32."""
    assert Engine(result=Result(result)).addend_format == fp9.format(addend)


def test_roundings_on_the_way_are_those_of_steps_and_chunks() -> None:
    assert fp9.engine("hopper").steps(96) == 3
    assert fp9.engine("chunked(L=4)").steps(10) == 10 + 3
    assert fp9.engine("fmma").steps(5) == 3
    assert fp9.engine("exact").steps(1000) == 1
    assert fp9.engine("hopper_mma").steps(33) == 2 * (2 + 1)


def test_interleaved_steps_take_neighbours_in_turn() -> None:
    """Of 8 elements, two and two: 0 1 4 5, then 2 3 6 7; a lone 2^-11 is lost beside 1 in FP16, not in its own step."""
    small, one = 2.0**-11, 1.0
    a = np.array([[one, 0, small, 0, small, 0, 0, 0], [one, 0, 0, small, 0, 0, small, 0]])
    codes = fp9.dot(
        fp9.encode(a, "fp16"), fp9.encode(np.ones(8), "fp16"), "fp16", "fp16", "fma_fp16(G=4,L=8,interleave=2)"
    )
    apart, together = fp9.decode(codes, "fp16").tolist()
    assert (apart, together) == (1.0, 1.0 + 2 * small)


def test_a_short_chunk_is_filled_with_zeros() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 120, (2, 50, 37))
    filled = [np.concatenate([x, np.zeros((50, 27), dtype=x.dtype)], axis=1) for x in (a, b)]
    for name in (name for name in PRESETS if ENGINES[name].chunk.interleave):
        assert np.array_equal(fp9.dot(a, b, "e4m3", "e5m2", name), fp9.dot(*filled, "e4m3", "e5m2", name))


def test_blocks_of_scales_do_not_cut_through_interleaved_chunks() -> None:
    codes = np.zeros((1, 64), dtype=np.uint8)
    with pytest.raises(ValueError, match="interleaves chunks of 32: give a multiple"):
        fp9.dot(codes, codes, "e4m3", "e4m3", "hopper_mma", scale_a=np.zeros((1, 4), dtype=int), block=16)


def test_saturating_sums_stop_at_the_largest_number_and_infinities_stay() -> None:
    largest, infinity = 0x7BFF, 0x7C00
    top = fp9.encode([57344.0, 57344.0], "e5m2")
    assert fp9.dot(top, top, "e5m2", "e5m2", "arm_fdot2").item() == infinity
    assert fp9.dot(top, top, "e5m2", "e5m2", "arm_fdot2(overflow=saturate)").item() == largest
    assert fp9.dot([0x7C], [0x3C], "e5m2", "e5m2", "arm_fdot2(overflow=saturate)").item() == infinity


def test_each_field_of_a_group_has_one_parameter() -> None:
    fields = [f"{group}.{field.name}" for group, record in GROUPS.items() for field in dataclasses.fields(record)]
    assert sorted(parameter.path for parameter in PARAMETERS.values()) == sorted(fields)
    assert [field.name for field in dataclasses.fields(Engine)] == ["name", *GROUPS]


def test_changed_takes_the_parameters_of_names() -> None:
    found = fp9.engine("hopper(window=20,chunk=64,promotion=fp32)")
    assert ENGINES["hopper"].changed(found.name, window=20, chunk=64, promotion="fp32") == found
    assert found.parameters["chunk"] == found.chunk.length == 64
    with pytest.raises(TypeError, match="'gears' given; give one of result, rounding"):
        found.changed(gears=3)
