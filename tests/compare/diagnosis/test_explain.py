"""Answers that differ in a known way are explained by it, alone and in pairs, for every kind of unit."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.support.rosters import each_kind, thinned

from fp9.engines import ENGINES, engine
from fp9.formats import FixedFormat, format
from fp9.formats.blocks import block_format
from fp9.formats.rounding import Overflow, Rounding
from fp9.suites import random
from fp9.suites.columns import every_value
from fp9.units import (
    CATALOGUE,
    Cast,
    Decoder,
    Dot,
    Fma,
    Fpu,
    FpuGroup,
    Mac,
    Mul,
    MultiFpu,
    MultiFpuOp,
    Quantiser,
    Unit,
    Upcast,
)
from fp9.units.toml import KINDS
from fp9.vectors.sets import VectorSet, from_inputs
from fp9_compare.diagnosis import Conversion, Difference, Narrowed, Reading, Topic, differences, explain, results_under
from fp9_compare.diagnosis.hypotheses import flag_differences
from fp9_compare.diagnosis.specs import formats_of, with_format

_E4M3, _E5M2, _HFP8 = (format("e4m3"),), (format("e5m2"),), (format("hfp8_152"),)
UNITS: dict[str, Unit] = {
    unit.name: unit
    for unit in (
        Cast("cast", format("bf16"), _E4M3 + _E5M2, (Rounding.RNE,), (Overflow.SATURATE,)),
        Cast("amax", format("bf16"), _E4M3, (Rounding.RNE,), (Overflow.SATURATE,), amax=True, stages=1),
        Decoder("decoder", _E4M3 + _E5M2),
        Upcast("upcast", _E4M3 + _E5M2, format("bf16")),
        Mul("mul", _E4M3, _E5M2, format("fp16")),
        Fma("fma", _E4M3, _E5M2, ENGINES["fma_fp32"]),
        Dot("dot", _E4M3, _E5M2, engine("hopper(G=2)")),
        Dot("scaled_dot", _E4M3, _E4M3, engine("fma_fp32(products=2)"), scale=format("e8m0")),
        Dot("exact_dot", _E4M3, _E5M2, engine("fma_fp32(G=2)")),
        Fpu("fpu", _HFP8, _HFP8, ENGINES["fmma"]),
        MultiFpu("multi_fpu", (format("e4m3"), format("fp16")), roundings=(Rounding.RNE,)),
        Mac("mac", _E4M3, _E5M2, ENGINES["fma_fp32"]),
        Quantiser("in_lanes", format("bf16"), block_format("mxfp8_e4m3"), ("rne",), stages=1, lanes=2),
        Quantiser("quantiser", format("bf16"), replace(block_format("mxfp8_e4m3"), length=3), ("rne",)),
        Conversion("conversion", format("fp16"), format("e5m2")),
        Reading("reading", format("e4m3")),
        Narrowed("narrowed", Fma("product", _E4M3, _E4M3, engine("fma_fp32(rounding=rto)")), format("e4m3")),
    )
}


@functools.cache
def vectors_of(name: str) -> VectorSet:
    """Every operand of a unit that has one alone, else random ones."""
    unit = UNITS[name]
    if len(unit.inputs) == 1:
        return from_inputs(unit, {port.name: every_value(port) for port in unit.inputs})
    drawn = unit.inner if isinstance(unit, Narrowed) else unit
    return from_inputs(unit, random(drawn, 2500, np.random.default_rng(1)))


@functools.cache
def one_of_each_topic(name: str) -> dict[Topic, Difference]:
    """The first difference of each topic that changes an answer of the unit."""
    made, found = vectors_of(name), {}
    tried = itertools.chain(differences(made.unit), flag_differences(made.unit))
    for difference in tried:
        if difference.topic not in found and _shows(made, (difference,)):
            found[difference.topic] = difference
    return found


def _shows(made: VectorSet, composition: tuple[Difference, ...]) -> bool:
    answers = results_under(made.unit, made.inputs, composition)
    return any((answers[name] != made.expected[name]).any() for name in answers)


def test_every_kind_of_unit_is_here() -> None:
    assert {unit.kind for unit in UNITS.values()} >= set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(UNITS, 2))
def test_every_difference_is_explained_by_one_sentence(name: str) -> None:
    made, chosen = vectors_of(name), one_of_each_topic(name)
    assert len(chosen) >= 2
    for difference in chosen.values():
        found = explain(made, results_under(made.unit, made.inputs, (difference,)))
        assert found.mismatches
        assert not found.unexplained, difference.says
        assert len(found.explanations) == 1, (difference.says, found)
        assert not found.explanations[0].contradicts


@pytest.mark.every(5)
@pytest.mark.parametrize("unit", each_kind(CATALOGUE.values()), ids=lambda unit: unit.name)
def test_a_fault_in_every_unit_of_the_catalogue_has_a_verdict(unit: Unit) -> None:
    """A select or a format taken for another one, and answers whose lowest bit is wrong here and there."""
    made = from_inputs(unit, random(unit, 300, np.random.default_rng(1)))
    planted = next(other for other in reversed(list(differences(made.unit))) if _shows(made, (other,)))
    found = explain(made, results_under(made.unit, made.inputs, (planted,)))
    assert found.mismatches
    assert (found.unexplained, len(found.explanations)) == (0, 1), (planted.says, found)
    noise = {name: column ^ (np.arange(len(made)) % 7 == 0) for name, column in made.expected.items()}
    spoilt = explain(made, noise, itertools.islice(differences(made.unit), 3))
    assert 0 < spoilt.unexplained <= spoilt.mismatches
    assert len(spoilt.first_unexplained) == min(5, spoilt.unexplained)


OF_FORMATS = ["cast", "amax", "decoder", "upcast", "mul", "fma", "dot", "exact_dot", "mac", "narrowed"]


@pytest.mark.every(4)
@pytest.mark.parametrize("name", thinned(OF_FORMATS, 2))
def test_another_format_is_named_for_every_kind(name: str) -> None:
    """IEEE-like, FNUZ, another bias, no subnormals, no infinities: each by its own name, and nothing against it."""
    made = vectors_of(name)
    mine = [fmt for fmt in formats_of(made.unit) if fmt.name in OTHERS]
    assert mine
    for fmt in mine:
        assert isinstance(fmt, FixedFormat)
        others = [format(other) for other in OTHERS[fmt.name]]
        others += [replace(fmt, name=f"{fmt.name} with bias {fmt.bias + 1}", bias=fmt.bias + 1)]
        others += [replace(fmt, name=f"{fmt.name} without subnormals", subnormals=False)]
        for other in others:
            planted = Difference(Topic.FORMAT, "", functools.partial(with_format, old=fmt, new=other))
            found = explain(made, results_under(made.unit, made.inputs, (planted,)))
            assert not found.unexplained, (other, found)
            sentence = f"it takes {other.name} for {fmt.name}"
            if "with bias" in other.name and isinstance(
                made.unit, Dot | Mul
            ):  # of a product it is that of either factor
                sentence = f"it takes {mine[0].name} with bias {mine[0].bias + 1} for {mine[0].name}"
            says = found.explanations[0].says
            assert says.startswith(sentence) or (not other.subnormals and "no subnormals" in says), found


OTHERS = {"e4m3": ("e4m3ieee", "e4m3fnuz"), "e5m2": ("e5m2fnuz",)}
"""Formats of the catalogue that units take for another one."""


@pytest.mark.slow
@pytest.mark.parametrize("name", thinned(["cast", "fma", "decoder", "conversion"], 2))
def test_two_differences_at_once_are_told_apart(name: str) -> None:
    made, chosen = vectors_of(name), one_of_each_topic(name)
    pairs = list(itertools.combinations(chosen.values(), 2))
    for pair in pairs[:: max(1, len(pairs) // 4)]:
        found = explain(made, results_under(made.unit, made.inputs, pair))
        assert not found.unexplained, [difference.says for difference in pair]


def test_e4m3_of_ieee_is_told_from_that_of_ocp() -> None:
    """The largest number of IEEE-like e4m3 is 240 (1.875 * 2^7), that of OCP's 448 (1.75 * 2^8)."""
    made = vectors_of("reading")
    theirs = np.where(np.arange(256) & 0x78 == 0x78, np.nan, format("e4m3").table).astype(np.float32)
    theirs[0x78], theirs[0xF8] = np.inf, -np.inf
    found = explain(made, {"result": theirs.view(np.uint32)}, any_nan=True)
    assert not found.unexplained
    assert found.explanations[0].says.startswith("it takes e4m3ieee for e4m3 (its largest number is 240, not 448;")


def test_right_answers_need_no_explanation() -> None:
    made = vectors_of("cast")
    found = explain(made, made.expected)
    assert (found.explanations, found.mismatches, found.unexplained) == ((), 0, 0)


@pytest.mark.slow
def test_noise_is_not_explained() -> None:
    made = vectors_of("fma")
    noise = np.random.default_rng(3).integers(0, 1 << 32, len(made), dtype=np.uint32)
    found = explain(made, {**made.expected, "result": noise})
    assert found.unexplained > 0.9 * found.mismatches


_PRODUCT = Narrowed("product", Fma("exact", _E5M2, _E5M2, engine("fma_fp32(rounding=rto)")), format("e5m2"))
_UNBOUNDED = "it flushes results to zero that are below the normal range when rounded with an unbounded exponent"


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "sentences",
    [
        (_UNBOUNDED,),
        ("a zero factor gives zero, even with an infinity or NaN",),
        (_UNBOUNDED, "flags: it raises underflow for all numbers that become zero, including exact subnormals"),
        ("flags: it raises invalid for zero times infinity if another operand is NaN",),
    ],
    ids=len,
)
def test_each_known_fault_of_multipliers_has_its_own_sentence(sentences: tuple[str, ...]) -> None:
    """Products of all numbers with some, and of a zero and infinity with a NaN as addend."""
    unit = UNITS["fma"] if "another operand is NaN" in sentences[0] else _PRODUCT
    some = np.array([0x00, 0x01, 0x03, 0x3B, 0x3D, 0x3F, 0x44, 0x7B, 0x7C, 0x7F, 0x80, 0xB9, 0xFC])
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(256), some))
    addend = np.where(np.arange(a.size) // 256 % 2, 0x80000000, 0x7FC00000 if unit is UNITS["fma"] else 0x80000000)
    made = from_inputs(unit, {"a": a, "b": b, "c": addend})
    every = (*differences(unit), *flag_differences(unit))
    planted = [next(other for other in every if other.says == says) for says in sentences]
    found = explain(made, results_under(unit, made.inputs, planted))
    assert found.mismatches
    assert not found.unexplained
    assert tuple(explanation.says for explanation in found.explanations) == sentences


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fma", "reads subnormal operands at half their value"),
        ("narrowed", "reads subnormal operands at half their value"),
        ("narrowed", "a carry from rounding does not reach its exponent"),
        ("cast", "a carry from rounding does not reach its exponent"),
        ("narrowed", "shifts the significand of every subnormal result right by one place"),
    ],
)
def test_faults_of_public_units_are_named(name: str, words: str) -> None:
    """EmadMak/vlsi-fp8-arithmetic-unit has all of these faults, SzymonOzog/Verilog_Playground the first."""
    made = vectors_of(name)
    (fault,) = [d for d in differences(made.unit) if words in d.says and "wraps" not in d.says]
    found = explain(made, results_under(made.unit, made.inputs, (fault,)))
    assert found.mismatches and not found.unexplained
    assert [words in one.says for one in found.explanations] == [True]


@pytest.mark.parametrize(
    ("words", "a", "b", "right", "wrong"),
    [
        ("reads subnormal operands at half their value", 0x04, 0x40, 0x08, 0x04),
        ("a carry from rounding does not reach its exponent", 0x21, 0x26, 0x10, 0x08),
        ("shifts the significand of every subnormal result right by one place", 0x08, 0x20, 0x01, 0x04),
    ],
)
def test_faults_give_the_products_of_a_public_multiplier(words: str, a: int, b: int, right: int, wrong: int) -> None:
    """The products of EmadMak/vlsi-fp8-arithmetic-unit, simulated."""
    unit = UNITS["narrowed"]
    inputs = {"a": np.uint8([a]), "b": np.uint8([b]), "c": np.uint32([0x80000000])}
    (fault,) = [d for d in differences(unit) if words in d.says and "wraps" not in d.says]
    assert results_under(unit, inputs, ())["result"].tolist() == [right]
    assert results_under(unit, inputs, (fault,))["result"].tolist() == [wrong]


_LANES = MultiFpu(
    "lanes",
    (format("e5m2"), format("e4m3ieee"), format("fp16")),
    (FpuGroup.ADDMUL, FpuGroup.NONCOMP, FpuGroup.INTCONV),
    overflow=(Overflow.DIRECTED,),
    mixed=False,
    lanes=2,
)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "words",
    [
        "its comparisons read operand c in the format of operand a",
        "copies the top bit of unsigned integer results",
        "raises invalid in place of overflow where a converted integer overflows",
        "raises invalid for quiet NaN operands of le_quiet",
        "does not raise invalid for quiet NaN operands of eq_signaling",
    ],
)
def test_differences_of_cvfpu_are_named(words: str) -> None:
    """`fp9 check-rtl docs/comparable/cvfpu_fpu_16.toml` names all of them."""
    made = from_inputs(_LANES, random(_LANES, 4000, np.random.default_rng(3)))
    (planted,) = [one for one in (*differences(_LANES), *flag_differences(_LANES)) if words in one.says]
    found = explain(made, results_under(_LANES, made.inputs, (planted,)))
    assert found.mismatches and not found.unexplained
    assert [words in one.says for one in found.explanations] == [True]


def test_any_nan_is_right_in_every_lane() -> None:
    """A sum of NaN and 1 in both lanes: the second lane's NaN may differ, the first lane's number may not."""
    given = {"op": _LANES.operations.index(MultiFpuOp.ADD), "a": 0x7F3C, "c": 0x3C3C, "vector": 1}
    made = from_inputs(_LANES, {port.name: np.array([given.get(port.name, 0)]) for port in _LANES.inputs})
    result = made.expected["result"]
    assert explain(made, made.expected | {"result": result ^ 0x0100}, (), any_nan=True).mismatches == 0
    assert explain(made, made.expected | {"result": result ^ 0x0001}, (), any_nan=True).mismatches == 1
    assert explain(made, made.expected | {"result": result ^ 0x0100}, ()).mismatches == 1
