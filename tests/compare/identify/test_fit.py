"""`fp9 identify` on units that are engines of the model: presets and engines at random are recovered, others are
refused.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import PRESETS

import fp9
from fp9.engines import ENGINES, PARAMETERS, Chunk, Engine, Step, engine
from fp9.formats import fixed_format, format
from fp9_compare.identify import Box, Fit, Interface, fit, identification, neighbourhood, search
from fp9_compare.identify import fields as hypotheses
from fp9_compare.identify.evidence import Evidence
from fp9_compare.identify.identification import CALLS
from fp9_compare.identify.local_repair import repaired
from fp9_compare.identify.picture import remaining
from fp9_compare.identify.probes.edges import edges, residuals
from fp9_compare.identify.probes.structured import drawn, structured, thinned
from fp9_compare.identify.trials import (
    Trial,
    boxed,
    compared,
    interface_of,
    random_engine,
    random_interface,
    trial,
)
from fp9_compare.identify.unobservable import plain
from fp9_compare.identify.vectors import Predictions, Vectors

OPERANDS = Interface(format("e4m3"), format("e4m3"), fixed_format("fp32"), 32)


@pytest.fixture(scope="module")
def unknown() -> Fit:
    """The unit of the page: what is known of it is told by the sums alone."""

    def unit(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        codes: NDArray[Any] = fp9.dot(a, b, "e4m3", "e4m3", "hopper(window=17, rounding=rne, products=16)", c)
        return codes

    return fit(Box("a unit", OPERANDS, unit))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PRESETS if (ENGINES[name].chunk.length or 0) <= 32][::16])
def test_a_preset_is_recovered_from_few_sums(name: str) -> None:
    """All of the catalogue: python -m fp9_compare.identify.trials presets."""
    found = trial(ENGINES[name], interface_of(ENGINES[name]), dots=2000)
    assert found.equal
    assert found.calls <= CALLS


@pytest.mark.slow
@pytest.mark.parametrize("seed", [47, 588])
def test_an_engine_at_random_is_recovered(seed: int) -> None:
    """A thousand: python -m fp9_compare.identify.trials random. Sticky bits, an addend cut with the products; results
    that are flushed, which few sums tell from addends that are.
    """
    interface = random_interface(seed)
    given = random_engine(interface, np.random.default_rng(seed))
    found = trial(given, interface, seed, dots=500)
    assert found.equal, found
    assert found.calls <= CALLS


def test_answers_are_compared_on_more_sums() -> None:
    interface = random_interface(2)
    given = random_engine(interface, np.random.default_rng(2))
    done = Trial(2, hypotheses.named(given).name, "fma_fp16(products=3)", "", 32, 400, False, True, 10)
    assert compared(done, 600) == replace(done, dots=600)
    assert not compared(replace(done, found="fma_fp16(products=4)"), 600).equal


@pytest.mark.parametrize("seed", range(5))
def test_engines_that_are_said_to_be_alike_give_the_same_sums(seed: int) -> None:
    """The first four engines at random for each pair of operands that have something that cannot show."""
    interface, rng = random_interface(seed), np.random.default_rng(1000 + seed)
    vectors = structured(interface) + drawn(interface, 200, rng)
    for _ in range(4):
        given = same = random_engine(interface, rng)
        while set(hypotheses.differences(given, same)) <= {"scaling", "zero_bypass"}:
            given = random_engine(interface, rng)
            same = plain(given, interface)
        predictions = Predictions(interface, vectors + edges(interface, given, 50, rng))
        expected, found = predictions.of(given), predictions.of(same)
        assert expected is not None and found is not None
        assert np.array_equal(expected, found), (given, same)


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ("mx(chunk=96,interleave=2)", "fma_fp32(products=12,chunk=36,interleave=2)"),
        ("fma_fp32(products=40,chunk=200)", "fma_fp32(products=32,chunk=32)"),
        ("mx(overflow=saturate,window=9,zero_exponent=-140)", "mx(window=9)"),
        ("rvbna4(addend=outside,overflow=propagate)", "rvbna4(overflow=saturate)"),
        ("mx(window=9,zero_exponent=-139)", "mx(window=9,zero_exponent=-139)"),
        ("mx(overflow=saturate,rounding=rup)", "mx(overflow=saturate,rounding=rup)"),
    ],
)
def test_values_that_cannot_show_are_left_out(given: str, same: str) -> None:
    assert hypotheses.key(plain(engine(given), OPERANDS)) == hypotheses.key(engine(same))


def test_every_order_of_few_elements_is_tried() -> None:
    """All ways in which chunks, steps and interleaved neighbours order six elements, told apart by which products
    meet.
    """
    interface = replace(OPERANDS, depth=6)
    rows = Evidence(interface, structured(interface).take([]), np.empty(0, dtype=np.uint64))
    tried = {_groups(each, 6) for each in neighbourhood.orders(engine("fma_fp32(chunk=1)"), rows)}
    for products, steps in itertools.product(range(1, 9), repeat=2):
        for run in [None, *(run for run in range(1, products + 1) if products % run == 0)]:
            given = Engine(step=Step(products), chunk=Chunk(products * steps)).changed(interleave=run)
            assert _groups(given, 6) in tried, given


def _groups(engine: Engine, depth: int) -> tuple[tuple[int, ...], ...]:
    """The elements of each step: as the record's own words have it, `interleave` neighbours to each step in turn; and a
    step of zeros alone at the end, where there is one.
    """
    assert engine.chunk.length is not None
    found: dict[tuple[int, int], list[int]] = {}
    for k in range(depth):
        place = k % engine.chunk.length
        step = place // engine.step.products
        if engine.chunk.interleave is not None:
            step = place // engine.chunk.interleave % engine.steps_of_chunk
        found.setdefault((k // engine.chunk.length, step), []).append(k)
    last = sum(chunk == (depth - 1) // engine.chunk.length for chunk, _ in found)
    empty = [(-1,)] if engine.chunk.interleave is not None and last < engine.steps_of_chunk else []
    return (*((chunk, *group) for (chunk, _), group in sorted(found.items())), *empty)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sides", "given", "start"),
    [
        (
            0,
            "fma_fp32(products=6,window=23,addend=outside)",
            "mx(products=6,rounding=rna,chunk=6,promotion=fp32,window=23)",
        ),
        (2, "fma_fp16(products=20,window=6,addend=outside)", "fma_fp32(products=20,window=6,chunk=20,promotion=fp16)"),
    ],
)
def test_an_answer_is_mended_in_several_fields_at_once(sides: int, given: str, start: str) -> None:
    """Where no change of one field explains more: a chunk given up takes its total's format and its addend with it."""
    interface, rng = random_interface(sides), np.random.default_rng(1)
    probes, at_edges = structured(interface), edges(interface, engine(start), 150, rng)
    asked = probes.take(thinned(probes, 3)) + at_edges + residuals(interface, engine(start), at_edges)
    results = Predictions(interface, asked).of(engine(given))
    assert results is not None
    rows = Evidence(interface, asked, results)
    assert not rows.explains(engine(start))
    assert rows.explains(repaired(rows, [engine(start)]))


def test_residuals_show_what_the_rounding_of_the_result_hides() -> None:
    """Zeros at the end of a last chunk are cut with it, far below the last bit of a total in FP16."""
    interface = random_interface(2)
    given = engine("fma_fp32(rounding=rto,window=16,chunk=5,promotion=fp16,interleave=1)")
    other = given.changed(interleave=None)
    vectors = drawn(interface, 6000, np.random.default_rng(5))

    def differing(asked: Vectors) -> int:
        predictions = Predictions(interface, asked)
        return int(np.count_nonzero(predictions.of(given) != predictions.of(other)))

    assert differing(residuals(interface, other, vectors)) > differing(vectors)


def test_what_cannot_show_is_no_difference() -> None:
    """Scales that there are none of, a NaN-Inf that E4M3 has not, the order of one step."""
    given = engine("rvbna16(scaling=sums,zero_bypass=true,interleave=2)")
    assert hypotheses.key(plain(given, OPERANDS)) == hypotheses.key(ENGINES["rvbna16"])
    equal = plain(engine("fma_fp32(truncation=jam,addend=outside)"), OPERANDS)
    assert hypotheses.key(equal) == hypotheses.key(ENGINES["fma_fp32"])
    shown = engine("hopper(truncation=jam,addend=aligned,scaling=products)")
    assert hypotheses.key(plain(shown, OPERANDS)) == hypotheses.key(shown)


def test_every_field_of_the_record_is_a_hypothesis() -> None:
    named = {field.name for field in hypotheses.hypotheses(OPERANDS)}
    assert named == {*PARAMETERS}
    for field in hypotheses.hypotheses(OPERANDS):
        assert {PARAMETERS[field.name].of(preset) for preset in ENGINES.values()} <= set(field.values)
        assert len(field.values) > 1


@pytest.mark.slow
def test_the_answer_is_an_expression_that_gives_the_engine(unknown: Fit) -> None:
    assert unknown.engine is not None
    assert engine(unknown.engine.name) == unknown.engine
    assert unknown.engine.window.width == 17 and unknown.engine.step.products == 16


@pytest.mark.slow
def test_fields_without_effect_are_named(unknown: Fit) -> None:
    changed = [hypotheses.differences(unknown.nearest, other) for other in unknown.equal]
    assert {"zero_bypass", "scaling"} <= {name for each in changed for name in each}


@pytest.mark.slow
def test_candidates_only_fall(unknown: Fit) -> None:
    assert unknown.falls
    assert all(fall.after < fall.before for fall in unknown.falls)
    assert [fall.row for fall in unknown.falls] == sorted(fall.row for fall in unknown.falls)
    assert unknown.calls <= CALLS


def test_a_unit_that_no_engine_is_is_refused_with_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_TURNS", (1,))
    monkeypatch.setattr(identification, "_SEARCHES", 1)

    def ask(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        codes = fp9.dot(a, b, "e4m3", "e4m3", "fma_fp32", c)
        return np.where(codes % 5 == 1, codes ^ 2, codes)

    interface = Interface(format("e4m3"), format("e4m3"), fixed_format("fp32"), 4)
    found = fit(Box("wrong", interface, ask), calls=200)
    assert found.engine is None
    assert found.differs is not None


def test_a_limit_of_calls_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_TURNS", (1,))
    monkeypatch.setattr(identification, "_SEARCHES", 1)
    found = fit(boxed(ENGINES["hopper"], OPERANDS), calls=20)
    assert found.calls <= 20
    assert (found.engine is None) == (found.differs is not None)


@pytest.mark.slow
def test_a_code_of_nan_is_found_that_no_preset_has() -> None:
    given = engine("hopper(nan=0x7fffffff)")
    found = fit(boxed(given, OPERANDS))
    assert found.engine is not None and found.engine.nan.code == 0x7FFFFFFF


def test_no_sum_adds_a_value_that_is_still_possible(unknown: Fit) -> None:
    counts = remaining(unknown)
    assert counts
    assert all(values == sorted(values, reverse=True) for values in counts.values())
