"""Functional coverage: what suites meet, what an operation is, and that no bin is left out that occurs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.support.rosters import FACTORS, each_kind, thinned

import fp9
from fp9.engines import engine
from fp9.formats import Format, format
from fp9.formats.blocks import BlockFormat, block_format
from fp9.formats.rounding import NanSign, Overflow, Rounding
from fp9.oracle import casts as oracle
from fp9.oracle import sums as dot_oracle
from fp9.oracle.terms import ZERO
from fp9.units import CATALOGUE, Cast, Dot, Fma, Mac, MacOp, Port, Quantiser, Results, Unit
from fp9.vectors import sets as vectors
from fp9_sim import coverage as functional
from fp9_sim import regress
from fp9_sim.coverage.accumulators.chunks import follow
from fp9_sim.coverage.values import Codes, Grid

ONE = {"e4m3": 0x38, "hfp8_143(bias=4)": 0x58}
"""The code of 1 with exponent field 7, and with 7 + 4."""
MXFP4 = block_format("mxfp4")


def facts_of(unit: Unit, operations: list[dict[str, int]], group: str = "") -> list[dict[str, Any]]:
    """What operations are, with golden outputs, ports that are left out being 0; facts of lanes are left out."""
    inputs = {p.name: np.array([o.get(p.name, 0) for o in operations], dtype=np.uint32) for p in unit.inputs}
    made = vectors.from_inputs(unit, inputs)
    every = functional.model_of(unit).facts(made.inputs, made.expected)
    return [facts for name, facts in every if name == group and len(facts) > 3]


# --- suites ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    thinned(["decoder_hif8", "upcast_fp32", "cast_fp32_ocp_rne", "mac_dlfloat16_gated", "fma_dlfloat16_hfp8_152"]),
)
def test_the_corner_suite_meets_every_reachable_bin(name: str) -> None:
    made = vectors.generate(name, "corner")
    covered = functional.measure(made.unit, made.inputs, made.expected)
    assert not covered.holes
    assert covered.met == covered.bins > 50, "the model has points"


@pytest.mark.slow
@pytest.mark.parametrize("block", thinned([MXFP4, block_format("mxint8")]), ids=str)
def test_the_corner_suite_of_a_quantiser_meets_every_reachable_bin(block: BlockFormat) -> None:
    unit = Quantiser("quantiser", format("bf16"), block, tuple(map(block.rule, block.rules)), 1, lanes=8)
    made = vectors.generate(unit, "corner")
    covered = functional.measure(made.unit, made.inputs, made.expected)
    assert not covered.holes
    assert covered.met == covered.bins > 100


@pytest.mark.slow
def test_the_corner_suite_of_a_quantiser_with_a_scale_of_the_array_meets_every_reachable_bin() -> None:
    block = replace(block_format("nvfp4"), length=2)
    made = vectors.generate(
        Quantiser("quantiser", format("bf16"), block, tuple(map(block.rule, block.rules))), "corner"
    )
    covered = functional.measure(made.unit, made.inputs, made.expected)
    assert not covered.holes
    assert covered.met == covered.bins > 80


def test_what_is_left_out_is_a_hole() -> None:
    made = vectors.generate("cast_fp32_ocp_rne", "corner")
    magnitude = made.inputs["x"] & 0x7FFFFFFF
    # 1.0625 stands halfway between the codes of 1.0 and 1.125 in E4M3: all ties of that binade are left out.
    kept = ~((magnitude >= 0x3F800000) & (magnitude < 0x40000000) & ((magnitude & 0xFFFFF) == 0x80000))
    inputs, outputs = ({n: c[kept] for n, c in part.items()} for part in (made.inputs, made.expected))
    covered = functional.measure(made.unit, inputs, outputs)
    assert covered.holes == ("cast_fp32_ocp_rne.e4m3.grid: 0 x half",)


_OCP, _INT8 = (format("e4m3"), format("e5m2")), (format("int8"),)
OTHERS = (
    Dot("floored", _OCP, _OCP, engine("hopper(G=4,truncation=floor,window=20)")),
    Dot("gated", _OCP, _OCP, engine("fma_fp32(G=2)"), flags=False, gate_zeros=True),
    Fma("upward", _OCP, _INT8, engine("fma_fp16(rounding=rup)")),
    Dot("chunk", _OCP, _OCP, engine("hopper_mma(G=2,L=4)")),
    Dot("blocks", (*_OCP, format("e2m1")), (format("e2m1"),), engine("mx(G=2)"), scale=format("e8m0")),
    Mac("block_sums", _OCP, (format("e2m1"),), engine("mx(G=2)"), scale=format("e8m0")),
    Quantiser("block_unit", format("bf16"), MXFP4, tuple(map(MXFP4.rule, MXFP4.rules)), 1, lanes=4),
    Cast("directed", format("fp16"), _OCP, (Rounding.RNE, Rounding.RUP), (Overflow.DIRECTED,), nan_sign=NanSign.LOST),
    Mac("exact_integers", _INT8, _INT8, engine("exact(G=2)"), flags=False),
    Mac("short_chunks", _OCP, _OCP, engine("deepseek(G=4,L=8,promotion=none)"), stages=2),
)
"""Specs with what the catalogue's units do not have."""


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", [*each_kind(CATALOGUE.values()), *OTHERS], ids=lambda unit: unit.name)
def test_bins_that_cannot_occur_do_not_occur(unit: Unit) -> None:
    made = vectors.generate(unit, "random", 300)
    model = functional.model_of(unit)
    groups = {group.name: group for group in model.groups}
    seen = 0
    for name, facts in model.facts(made.inputs, made.expected):
        for point, fact in facts.items():
            assert fact in groups[name].points[point], (name, point)
        for cross in groups[name].crosses:
            bins = [facts.get(point) for point in cross.points]
            if None not in bins:
                assert cross.impossible(*bins) is None, (cross.name, bins)
                seen += 1
    assert seen >= 300 or not any(group.crosses for group in model.groups)


def test_what_overflows_in_a_chunk_or_is_invalid_ends_so() -> None:
    """An infinity within a chunk leaves no number to its total, NaN nothing but NaN."""
    unit = CATALOGUE["dot8_fp16_mma"]
    crosses = {cross.name: cross for group in functional.model_of(unit).groups for cross in group.crosses}
    impossible = crosses["outcome"].impossible
    assert all(impossible(result, "overflow") for result in ("zero", "normal", "largest"))
    assert impossible("infinity", "invalid") and not impossible("nan", "invalid")
    assert not impossible("infinity", "overflow") and not impossible("nan", "overflow")


@pytest.mark.slow
def test_products_of_a_chunk_are_scaled_before_they_meet_the_addend() -> None:
    """Without the scales no drawn addend of such a unit was near its products."""
    made = vectors.generate("dot4_fp32_ace", "smoke")
    seen = {
        facts["difference"]
        for _, facts in functional.model_of(made.unit).facts(made.inputs, made.expected)
        if "difference" in facts
    }
    assert len(seen) > 10


def test_a_sum_rounded_to_odd_does_not_overflow_by_rounding() -> None:
    """The largest FP32 number ends in 1: whatever is not exact above it becomes it."""
    for name in ("dot4_fp32_rvbna", "dot16_fp32_rvbna"):
        points = [group.points.get("flags", ()) for group in functional.model_of(CATALOGUE[name]).groups]
        assert "invalid" in points[0] and "overflow" not in points[0]


def test_no_result_is_subnormal_where_these_are_flushed() -> None:
    flushing = [unit for unit in CATALOGUE.values() if isinstance(unit, Dot) and unit.engine.result.flush]
    for unit in [*flushing, Mac("sums", _OCP, _OCP, engine("amx_fp8(G=4,L=8)"), stages=2)]:
        for group in functional.model_of(unit).groups:
            assert all("subnormal" not in group.points.get(point, ()) for point in ("result", "held")), unit.name


# --- what an operation is -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fp32", "dlfloat16", "e4m3", "hif8"])
def test_positions_are_those_of_the_oracles_neighbours(name: str) -> None:
    fmt, rng = format(name), np.random.default_rng(0)
    grid = Grid(fmt, -60)
    beside = [(int(m) << int(s)) + (1 << int(s) - 1) + d for m, s in rng.integers(1, 60, (500, 2)) for d in (-1, 0, 1)]
    for magnitude in [*beside, *rng.integers(1, 1 << 62, 500).tolist(), *(1 << place for place in range(80))]:
        near = oracle.neighbours(Fraction(magnitude, 1 << 60), fmt)
        position, last_place = grid.case(magnitude)
        excess = {"exact": near.excess == 0, "half": near.excess == Fraction(1, 2)}
        excess |= {"below half": 0 < near.excess < Fraction(1, 2), "above half": near.excess > Fraction(1, 2)}
        assert excess[position]
        assert (last_place == "odd") == bool((near.below / near.ulp).numerator & 1)


@pytest.mark.parametrize("fmt", [*FACTORS, format("1.1.5,b=0,specials=nan_only")], ids=str)
def test_numbers_are_multiples_of_the_last_place_and_other_codes_are_zero(fmt: Format) -> None:
    """The payload of a NaN can lie below the last place, as in a format with a single binade."""
    codes = Codes(fmt)
    for code in range(1 << fmt.bits):
        number = fp9.decode(code, fmt)
        assert codes[code].is_number == bool(np.isfinite(number))
        assert codes[code].units * 2.0**codes.ulp == (number if np.isfinite(number) else 0)


def test_an_addend_meets_a_product() -> None:
    unit = CATALOGUE["fma_fp32_ocp"]
    (facts,) = facts_of(unit, [{"a": ONE["e4m3"], "b": ONE["e4m3"], "c": 0xBF7FFFFE}])
    # 1 - (1 - 2^-23) = 2^-23: the addend stands one binade below, and 23 places cancel.
    assert (facts["difference"], facts["effective"], facts["cancelled"]) == (-1, "opposed signs", 23)
    assert (facts["sign"], facts["position"], facts["result"], facts["flags"]) == ("+", "exact", "normal", "none")


def test_an_accumulator_meets_what_it_holds() -> None:
    one = {"a": ONE["hfp8_143(bias=4)"], "b": ONE["hfp8_143(bias=4)"]}
    load, accumulate, hold = ({"op": int(op)} for op in (MacOp.LOAD, MacOp.ACCUMULATE, MacOp.HOLD))
    zero = {"a": 0, "b": ONE["hfp8_143(bias=4)"]}
    found = facts_of(CATALOGUE["mac_dlfloat16_gated"], [load | one, accumulate | one, hold, accumulate | zero])
    assert [facts.get("addend") for facts in found] == ["c", "accumulator", None, "accumulator"]
    assert [facts.get("difference") for facts in found] == [None, 0, None, None]
    assert [facts["held"] for facts in found] == ["zero", "normal", "normal", "normal"]
    assert [facts["gated"] for facts in found] == ["none", "none", "both", "a"]
    assert found[3]["previous"] == "hold"
    assert found[3]["gated_before"] == "both"


@pytest.mark.parametrize("name", ["mac_dlfloat16_chunked", "mac4_deepseek_ocp"])
def test_the_chunk_that_is_followed_is_the_oracles(name: str) -> None:
    unit = CATALOGUE[name]
    assert isinstance(unit, Mac)
    inputs = vectors.generate(unit, "random", 200).inputs
    ops = [unit.operations[op] for op in inputs["op"]]
    followed = follow(unit, ops, inputs)
    within, lanes = unit.engine.within_chunk, range(unit.engine.step.products)
    chunk, steps = ZERO, 0
    for i, op in enumerate(ops):
        assert followed.steps[i] == steps
        if op is MacOp.FOLD and steps:
            assert followed.ends[i] == "fold"
        if op in (MacOp.CLEAR, MacOp.FOLD, MacOp.LOAD):
            chunk, steps = ZERO, 0
        if op in (MacOp.LOAD, MacOp.ACCUMULATE):
            formats = [getattr(unit, o)[min(inputs[f"{o}_format"][i], 1)] for o in "ab"]
            names = [unit.lane_names(operand) for operand in "ab"]
            a, b = ([int(inputs[port[lane]][i]) for lane in lanes] for port in names)
            products = dot_oracle.product_terms(within, a, b, *formats)
            code, _ = dot_oracle.dot(within, products, chunk)
            assert followed.after[i] == code
            chunk, steps = dot_oracle.code_term(code, within.result.format), steps + 1
        if steps == unit.chunk_steps:
            assert followed.ends[i] == "full"
            chunk, steps = ZERO, 0


def test_a_register_wraps_where_its_sum_turns_negative() -> None:
    unit = CATALOGUE["mac4_kulisch_ocp"]
    largest = {f"{operand}{lane}": 0x7B for operand in "ab" for lane in range(4)} | {"a_format": 1, "b_format": 1}
    found = facts_of(unit, [{"op": int(op), **largest} for op in [MacOp.LOAD, *[MacOp.ACCUMULATE] * 1500]])
    (turn,) = [i for i, facts in enumerate(found) if facts["wrap"] == "up"]
    assert [found[i]["sign"] for i in (turn - 1, turn)] == ["+", "-"]
    assert found[turn - 1]["leading"] == found[turn]["leading"] == unit.sum_bits - 2  # type: ignore[attr-defined]


# --- reports --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cast_fp32_ocp_rne", "mac_dlfloat16_chunked"])
def test_the_bench_samples_what_the_circuit_gave(name: str, tmp_path: Path, build_dir: Path) -> None:
    made = vectors.generate(name, "random", 400)
    report = tmp_path / "coverage.xml"
    run = regress(made.unit, made, "icarus", build_dir=build_dir, coverage=report)
    assert run.passed and run.coverage is not None
    assert run.coverage == functional.measure(made.unit, made.inputs, made.expected)
    top = ElementTree.parse(report).getroot()
    assert int(top.attrib["size"]) == run.coverage.bins


def test_situations_of_other_bins_have_another_digest() -> None:
    unit = CATALOGUE["cast_fp32_ocp_rne"]
    assert functional.cover_points_digest(unit) == functional.cover_points_digest(replace(unit, name=unit.name))
    assert functional.cover_points_digest(unit) != functional.cover_points_digest(
        replace(unit, roundings=(Rounding.RTZ,))
    )


def test_kinds_without_a_model_are_named() -> None:
    class Adder(Unit):
        kind, name, stages = "adder", "add", 0
        inputs = outputs = (Port("x", 8, ""),)

        def evaluate(self, inputs: Any) -> Results:
            return {}

    with pytest.raises(ValueError, match="there is no coverage model for units of kind adder"):
        functional.model_of(Adder())
