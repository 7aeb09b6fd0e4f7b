"""Every engine preset has hardware or is refused for what circuits do not know; windows against the golden model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import OPERANDS, PRESETS, SCALES, thinned

from fp9.engines import ENGINES, Engine, engine
from fp9.formats import Format, format
from fp9.golden import evaluate
from fp9.suites import random
from fp9.suites.columns import classes
from fp9.units import Dot, Fma, Mac, Unit
from fp9_rtl.components import check_offered

Simulate = Callable[..., dict[str, NDArray[Any]]]

OCP = (format("e4m3"), format("e5m2"))
FNUZ = (format("e4m3fnuz"), format("e5m2fnuz"))
HFP8 = (format("hfp8_143"), format("hfp8_152"))


def operands(chosen: Engine) -> tuple[Format, ...]:
    """The operand formats that a preset is published with."""
    return FNUZ if chosen.window.interleaved else HFP8 if chosen.result.format.name == "dlfloat16" else OCP


def unit_of(chosen: Engine) -> Unit:
    """The unit that does an engine's step."""
    formats = operands(chosen)
    if chosen.step.exact or (chosen.chunk.length or 0) > chosen.step.products:
        return Mac("unit", formats, formats, chosen, stages=4)
    return (Dot if chosen.step.products > 1 else Fma)("unit", formats, formats, chosen)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_has_hardware(name: str) -> None:
    check_offered(unit_of(ENGINES[name]))


def few(chosen: Engine) -> Engine:
    """The engine with at most 4 products a step, and 2 steps a chunk."""
    products = min(chosen.step.products, 4)
    chunk = chosen.chunk.length and products * min(chosen.steps_of_chunk, 2)
    return chosen.changed(products=products, chunk=chunk)


SEVERAL = {
    few(ENGINES[name]).changed(name="dot"): name
    for name in PRESETS
    if (ENGINES[name].chunk.length or ENGINES[name].step.products) > 1
}
"""What presets say of several products, and one of each that says it."""


@pytest.mark.every(4)
@pytest.mark.parametrize("chosen", thinned(SEVERAL), ids=SEVERAL.values())
def test_a_dot_of_every_preset_gives_the_models_sums(chosen: Engine, simulate: Simulate) -> None:
    """All that a preset says but how many: widths hang on that, and catalogued units have many."""
    unit = Dot("unit", *[operands(chosen)] * 2, chosen)
    _check(unit, random(unit, 150, np.random.default_rng(5)), simulate)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "name",
    [
        "ace_top4mx",
        "fma_fp32(flush_result=true, invalid_nan=0xffc00000)",
        "fma_fp16(flush_result=true, flush_addend=true, nan=0x7fff, invalid_nan=0xfe00)",
        "hopper_fp16(G=2, flush_result=true, flush_addend=true, nan=0xfe00)",
    ],
)
def test_subnormal_numbers_and_nan_end_as_the_engine_says(name: str, simulate: Simulate) -> None:
    """Factors and addends of every class in some of their combinations, the subnormal numbers around the others."""
    chosen, rng = engine(name), np.random.default_rng(6)
    unit = (Fma if chosen.step.products == 1 else Dot)("unit", OCP, OCP, chosen)
    inputs = random(unit, 250, rng)
    for operand in "ab":
        inputs[f"{operand}_format"][:] = 1
        for lane in unit.lane_names(operand):
            inputs[lane] = rng.choice(classes(OCP[1]), 250)
    inputs["c"] = rng.choice(classes(chosen.addend_format), 250)
    first, *others = unit.lane_names("a")
    for lane in others:
        inputs[lane][::2] = 0
    inputs[first][::4] = 0
    _check(unit, inputs, simulate)
    results = evaluate(unit, inputs)["result"]
    plain = chosen.changed(flush_result=False, flush_addend=False, nan=None, invalid_nan=None)
    assert (evaluate(replace(unit, engine=plain), inputs)["result"] != results).sum() > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["amx_fp8(G=10,L=10)", "fma_fp32(G=4,infinity_run=4)"])
def test_infinities_cancel_within_a_run(name: str, simulate: Simulate) -> None:
    """Infinities of either sign in half of the places, and now and then in the addend; a third one stands.

    Of six products the circuit took ten seconds to make, of each more nearly three times as long, before places had
    nets.
    """
    unit, rng = Dot("unit", OCP[1:], OCP[1:], engine(name)), np.random.default_rng(7)
    one, infinity, sign = 0x3C, 0x7C, 0x80
    inputs = {
        lane: rng.choice([one, infinity, infinity | sign], 150, p=(0.5, 0.25, 0.25)) for lane in unit.lane_names("a")
    }
    inputs |= {lane: np.full(150, one) for lane in unit.lane_names("b")}
    inputs["c"] = rng.choice([0x3F800000, 0x7F800000, 0xFF800000], 150, p=(0.8, 0.1, 0.1))
    _check(unit, inputs, simulate)
    plain = unit.engine.changed(infinity_run=None)
    results, others = (evaluate(replace(unit, engine=e), inputs)["result"] for e in (unit.engine, plain))
    assert (results != others).sum() > 10


FP4, FP6 = (format("e2m1"),), (format("e3m2"), format("e2m3"))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("formats", "name", "scale"),
    [
        (FP4, "mx(G=2)", "ue4m3"),
        (FP6 + FP4, "mx(G=2)", "e8m0"),
        (OCP + FP6 + FP4, "mx(G=2, rounding=rdn)", "e8m0"),
        (OCP, "ace_top4mx", "e8m0"),
    ],
)
def test_blocks_with_scales(formats: tuple[Format, ...], name: str, scale: str, simulate: Simulate) -> None:
    """Drawn operations, their scales from below the smallest result to above the largest."""
    unit = Dot("unit", formats, formats, engine(name), scale=format(scale))
    inputs = random(unit, 150, np.random.default_rng(2))
    expected = evaluate(unit, inputs)
    assert len({*(expected["result"] >> 23 & 0xFF).tolist()}) > 8, "exponents of all sizes"
    _check(unit, inputs, simulate)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("formats", "name", "spec"),
    [
        (FP4, "mx(G=4)", {"scale": "ue4m3", "block": 2}),
        (FP4, "blackwell_nvfp4(G=4, group=2)", {"scale": "ue4m3", "block": 2}),
        (FP4, "blackwell_nvfp4(G=4, group=2)", {"scale": "e8m0"}),
        (OCP[:1] + FP4, "blackwell_fp16(G=2)", {"scale": "e8m0"}),
    ],
)
def test_scales_of_blocks_and_in_windows(
    formats: tuple[Format, ...], name: str, spec: dict[str, Any], simulate: Simulate
) -> None:
    """Blocks with scales of their own in one sum; products and groups that their scales place in a window."""
    unit = Dot("unit", formats, FP4, engine(name), **spec)
    _check(unit, random(unit, 80, np.random.default_rng(3)), simulate)


INTEGERS = tuple(fmt for fmt in OPERANDS if fmt.twos_complement)
WINDOWS = {few(ENGINES[name]): name for name in PRESETS if ENGINES[name].window.width is not None}
ENDS = ("1.5.2,b=147", "1.5.2,b=-95", "1.1.6,b=144", "int8(bias=149)", "int8(bias=-121)")
"""Formats with the lowest, or the highest, exponents that FP32 has."""


@pytest.mark.parametrize(
    ("fmt", "name", "scale"),
    thinned(
        itertools.product(
            ENDS,
            ("fma_fp16(G=2)", "fma_fp32(G=2)", "blackwell_fp16(G=2)"),
            (None, *map(format, ("e8m0", "binary3p1uf"))),
        ),
        5,
    ),
    ids=str,
)
def test_products_at_either_end_of_the_exponents(fmt: str, name: str, scale: Format | None, simulate: Simulate) -> None:
    """Products that lie below all that a result can have, or above it."""
    unit = Dot("unit", *[(format(fmt),)] * 2, engine(name), scale=scale)
    _check(unit, random(unit, 60, np.random.default_rng(12)), simulate)


POWERS = tuple(fmt for fmt in SCALES if fmt.precision == 1)
SCALED = {
    ("fma_fp16(G=2)", None): SCALES,
    ("fma_fp16(G=2)", 1): tuple(fmt for fmt in SCALES if fmt.name != "e8m0" and fmt.bits < 7),
    ("blackwell(G=2)", None): POWERS,
    ("blackwell_nvfp4(G=4,group=2)", None): SCALES,
}
"""Exact sums of one block and of two, windows of products and of groups, by engine and block: their scales' formats."""


@pytest.mark.every(2)
@pytest.mark.parametrize("chosen", thinned(WINDOWS), ids=WINDOWS.values())
def test_windows_align_the_lowest_integer_as_all_others(chosen: Engine, simulate: Simulate) -> None:
    """-128, the double of the power of two that aligns integers, in half of the operations, and in few of them twice.

    It stands where it is the largest term, with an addend that the window cuts.
    """
    unit, rng = Dot("unit", INTEGERS, (*INTEGERS, *OCP), chosen), np.random.default_rng(9)
    inputs = random(unit, 300, rng)
    small = rng.integers(1, 4, (unit.products, 300)) ^ rng.choice([0, 0xFF], 300)
    inputs |= dict(zip(unit.lane_names("a"), small, strict=True))
    inputs["a0"] = np.where(rng.random(300) < 0.5, 0x80, inputs["a0"])
    _check(unit, inputs, simulate)


@pytest.mark.parametrize(
    ("name", "block", "scale"),
    thinned([(*sums, fmt) for sums, formats in SCALED.items() for fmt in formats], 8),
    ids=str,
)
def test_scales_of_every_format(name: str, block: int | None, scale: Format, simulate: Simulate) -> None:
    """Every fourth scale is the lowest code, zero or not."""
    unit = Dot("unit", FP4, FP4, engine(name), scale=scale, block=block)
    inputs = random(unit, 150, np.random.default_rng(10))
    inputs[unit.scale_names("a")[0]][::4] = 0
    _check(unit, inputs, simulate)


@pytest.mark.parametrize("spec", [{}, {"block": 1}], ids=str)
@pytest.mark.parametrize("name", ["ace_top4mx(G=2,L=2)", "ace_top4mx(G=1,L=1)"])
def test_gated_chunks_with_scales(name: str, spec: dict[str, Any], simulate: Simulate) -> None:
    """Zero factors in half of the places, behind numbers whose factors the gating register still holds."""
    chosen, rng = engine(name), np.random.default_rng(11)
    kind = Fma if chosen.step.products == 1 else Dot
    unit = kind("unit", FP4, FP4, chosen, scale=format("ue4m3"), gate_zeros=True, stages=2, **spec)
    inputs = random(unit, 60, rng)
    for lane in unit.lane_names("a"):
        inputs[lane][rng.random(60) < 0.5] = 0
    _check(unit, inputs, simulate)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mx(G=32)", "blackwell_nvfp4(G=32)"])
def test_two_whole_blocks_of_nvfp4_in_one_sum(name: str, simulate: Simulate) -> None:
    """32 products in blocks of 16, as NVFP4 has them: exact up to one rounding, and as Blackwell adds groups."""
    unit = Dot("unit", FP4, FP4, engine(name), scale=format("ue4m3"), block=16)
    assert [len(unit.lane_names("a")), len(unit.scale_names("a"))] == [32, 2]
    _check(unit, random(unit, 30, np.random.default_rng(8)), simulate)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mx(G=2)", "blackwell(G=2)", "mx(G=2, L=4)"])
def test_accumulators_with_scales(name: str, simulate: Simulate) -> None:
    unit = Mac("unit", OCP, FP4, engine(name), scale=format("e8m0"), stages=3)
    _check(unit, random(unit, 80, np.random.default_rng(4)), simulate)


def _check(unit: Unit, inputs: dict[str, NDArray[Any]], simulate: Simulate) -> None:
    expected = evaluate(unit, inputs)
    for port, values in simulate(unit, inputs).items():
        wrong = np.flatnonzero(values != expected[port])
        assert not wrong.size, {name: hex(int(column[wrong[0]])) for name, column in inputs.items()}


@pytest.mark.parametrize(
    ("formats", "name", "scale"),
    [
        (OCP, "mx(G=2)", "ue4m3"),
        (FP4, "blackwell(G=2, addend=outside)", "e8m0"),
        (FP4, "rvbna4", "e8m0"),
        (FP4, "ace_top4mx(L=8)", "e8m0"),
    ],
)
def test_scales_that_no_hardware_has_are_refused_in_a_sentence(
    formats: tuple[Format, ...], name: str, scale: str
) -> None:
    unit = Dot("unit", formats, formats, engine(name), scale=format(scale))
    with pytest.raises(ValueError, match=r"^unit: no hardware (for|without) (scale|engine(\.\w+)+) .*in .*scaled"):
        check_offered(unit)


@pytest.mark.every(6)
@pytest.mark.parametrize(
    "name",
    [
        "hopper(G=3, truncation=floor)",
        "hopper(G=2, result=fp16, zero_exponent=-8)",
        "hopper(G=2, result=dlfloat16, rounding=rna, zero_exponent=-12)",
        "fmma(K=5)",
        "fmma(K=10, result=fp16, rounding=rne)",
        "fmma(K=6, addend=outside, truncation=floor, products=3)",
        "cdna3(G=2)",
        "cdna3(G=4, K=9, interleaved=26, rounding=rna)",
        "fmma(K=9, zero_bypass=true)",
        "dlfloat(zero_bypass=true)",
        "fma_fp32(K=9, result=e8m13)",
        "fma_fp32(result=e8m13)",
        "hopper(G=2, truncation=jam)",
        "fma_fp16(overflow=saturate)",
        "hopper_fp16(G=2, rounding=rup, overflow=directed)",
        "rvbna4(G=2, L=2)",
        "hopper_mma(G=2, L=4, interleave=1)",
        "chunked(L=2)",
        "fma_fp16(G=2, flush_result=true)",
        "fma_fp32(flush_result=true, flush_addend=true)",
        "fma_fp16(G=3, flush_addend=true, nan=0xfe00)",
        "hopper_fp16(G=2, flush_result=true)",
        "fma_bf16(flush_result=true, nan=0x7fff, invalid_nan=0xffc0)",
    ],
)
def test_windows_of_every_kind(name: str, simulate: Simulate) -> None:
    """Drawn operations, and such whose addend is the opposite of the products' sum, or nearly so."""
    chosen = engine(name)
    unit = (Fma if (chosen.chunk.length or chosen.step.products) == 1 else Dot)("unit", *[operands(chosen)] * 2, chosen)
    rng = np.random.default_rng(1)
    inputs = random(unit, 120, rng)
    fmt = unit.engine.output
    alone = evaluate(unit, {**inputs, "c": np.zeros(120, dtype=np.uint32)})["result"].astype(np.int64)
    beside = (alone ^ 1 << (fmt.bits - 1)) + (rng.integers(-2, 3, 120) << (fmt.bits - 1 - 15) if fmt.bits == 32 else 0)
    opposite = {**inputs, "c": (beside & (1 << fmt.bits) - 1).astype(np.uint32)}
    columns = {port: np.concatenate([inputs[port], opposite[port]]) for port in inputs}
    expected = evaluate(unit, columns)
    for port, values in simulate(unit, columns).items():
        wrong = np.flatnonzero(values != expected[port])
        assert not wrong.size, {name: hex(int(column[wrong[0]])) for name, column in columns.items()}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fmma(K=9, truncation=floor)", Dot),
        ("cdna3(rounding=rtz)", Dot),
        ("cdna3(result=dlfloat16)", Dot),
        ("fmma(K=9, truncation=jam)", Dot),
        ("exact(nan=0x7fc00001)", Mac),
    ],
)
def test_what_no_hardware_does_is_refused_in_a_sentence(name: str, kind: type[Dot]) -> None:
    stages = {"stages": 3} if kind is Mac else {}
    with pytest.raises(ValueError, match=r"^unit: no hardware for engine(\.\w+)+ = .* in .*; give "):
        check_offered(kind("unit", HFP8, HFP8, engine(name), **stages))
