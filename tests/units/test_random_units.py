"""Random unit specifications: golden model, reference model and circuit agree, and refusals are sentences.

`python -m tests.units.fuzz --help` says how to check more of them.
"""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from random import Random

import numpy as np
import pytest
from tests.units import checks, shrink
from tests.units.spread import Spread, draw, first_units
from tests.units.values import values

from fp9.engines import GROUPS, Step
from fp9.golden import evaluate
from fp9.reference import reference_results
from fp9.units import CATALOGUE, Unit
from fp9.units.toml import KINDS, build, dumps

UNITS = 24
"""Units of seeds that no other run of these checks has."""


@pytest.mark.parametrize("record", [*KINDS.values(), *GROUPS.values()], ids=lambda record: record.__name__)
def test_generator_has_values_for_every_field(record: type) -> None:
    assert all(values(record, field.name) for field in dataclasses.fields(record))


def test_field_without_values_is_noticed() -> None:
    @dataclasses.dataclass(frozen=True)
    class Widened(Step):
        turns: int = 1

    with pytest.raises(KeyError, match="turns has no values"):
        values(Widened, "turns")


@pytest.mark.parametrize("seed", range(20))
def test_refusals_name_a_field_and_its_value_in_one_sentence(seed: int) -> None:
    spread = Spread()
    for number in range(20 * seed, 20 * seed + 3):
        _, refused = spread.next(number, [*KINDS])
        assert not [(each.fields, each.error) for each in refused if checks.misfit(each.fields, each.error)]


@functools.cache
def few_dozen() -> list[Unit]:
    """The units of some seeds, spread among themselves."""
    return first_units(900_000, UNITS)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(UNITS))
def test_random_units_pass_every_check(number: int) -> None:
    """Models, suites, both simulators with all warnings as errors; a package of one in twenty."""
    chosen = checks.CIRCUITS if number % 20 else checks.WITH_PACKAGE
    checks.check_unit(few_dozen()[number], number, chosen)


SUITES: tuple[dict[str, object], ...] = (
    {"kind": "dot", "engine": {"step": {"products": 2}, "chunk": {"length": 2, "promotion": "fp16"}}},
    {"kind": "dot", "engine": {"step": {"products": 2}, "chunk": {"length": 2, "promotion": "e5m2"}}},
    {"kind": "dot", "a": "hfp8_143", "engine": "fma_fp32(G=2)", "scale": "e8m0", "bias_port": True},
    {"kind": "mac", "a": "hfp8_143", "engine": "fma_fp32(G=2)", "scale": "e8m0", "bias_port": True, "stages": 1},
    {"kind": "fma", "b": "e5m2", "engine": "fma_fp32(chunk=1)"},
    {"kind": "mac", "engine": {"result": {"format": "e8m13"}, "step": {"products": 2}}, "scale": "e8m0", "stages": 1},
    {
        "kind": "mac",
        "b": "1.1.5,b=21,specials=negative_zero,subnormals=false",
        "engine": {"chunk": {"length": 16}},
        "stages": 2,
    },
    {"kind": "dot", "engine": {"chunk": {"length": 3, "promotion": "bf16"}}},
    {
        "kind": "dot",
        "a": "1.1.1,b=0,specials=nan_only,subnormals=false",
        "b": "e4m3ieee",
        "engine": "fma_fp32(G=5,L=5)",
    },
    {"kind": "dot", "a": "binary3p1se", "engine": {"step": {"products": 3}, "chunk": {"length": 3}}},
    {
        "kind": "dot",
        "a": "hfp8_143(bias=4)",
        "engine": {"step": {"products": 4}, "window": {"width": 40, "interleaved": 40}},
    },
    {
        "kind": "mac",
        "a": "e5m2",
        "b": "e2m1",
        "engine": {"result": {"format": "e8m13", "flush_addend": True}, "chunk": {"length": 9}},
        "stages": 2,
        "scale": "e8m0",
    },
    {
        "kind": "dot",
        "b": "bf16",
        "engine": {"chunk": {"length": 4}},
        "scale": "e8m0",
    },  # no scale makes all products tiny
    # Each of the two windows holds one product.
    {"kind": "dot", "engine": {"step": {"products": 2}, "window": {"width": 3, "interleaved": 3}}},
)
"""Fields that no unit of the catalogue has together."""


@pytest.mark.slow
@pytest.mark.parametrize("fields", SUITES, ids=str)
def test_suites_of_units_unlike_the_catalogues(fields: dict[str, object]) -> None:
    checks.check_unit(build({"name": "unit", "a": "e4m3", "b": "e4m3", **fields}), 1, checks.MODELS)


CIRCUITS: tuple[dict[str, object], ...] = (
    {"kind": "mul", "b": "e5m2", "result": "bf16", "overflow": "saturate"},
    {"kind": "mul", "b": "binary3p2se", "result": "e8m13", "overflow": "saturate", "stages": 1},
    {
        "kind": "mac",
        "engine": {
            "result": {"format": "e8m13"},
            "chunk": {"length": 2, "promotion": "1.8.9,b=133,specials=ieee"},
        },
        "stages": 6,
    },
    # Zero products place the window, below the exponent of every product, and cut a subnormal addend.
    {
        "kind": "mac",
        "b": "fp16",
        "engine": {"window": {"width": 2, "addend": "aligned", "zero_exponent": -133}},
        "stages": 1,
    },
    # The window truncates products of subnormal operands to zero; a subnormal addend remains.
    {"kind": "fma", "engine": {"window": {"width": 2, "addend": "outside"}}},
    # The joined sum of tiny products is rounded down to zero.
    {
        "kind": "dot",
        "a": "binary8p1se",
        "engine": {
            "result": {"format": "fp16"},
            "step": {"products": 8},
            "window": {"width": 35, "interleaved": 39},
        },
    },
    {"kind": "multi_fpu", "formats": ["1.1.14,b=6,specials=merged,subnormals=false"]},  # no number reaches 1
    {"kind": "multi_fpu", "formats": ["1.3.12,b=-2,specials=ieee,subnormals=false"]},  # every number is above 1
)
"""Fields whose circuit or C model once differed from the golden model, or did not compile."""


@pytest.mark.slow
@pytest.mark.parametrize("fields", CIRCUITS, ids=str)
def test_circuits_of_units_unlike_the_catalogues(fields: dict[str, object]) -> None:
    operands = {} if fields["kind"] == "multi_fpu" else {"a": "e4m3", "b": "e4m3"}
    checks.check_unit(build({"name": "unit", **operands, **fields}), 1, checks.CIRCUITS)


@pytest.mark.parametrize("overflow", ["inf", "saturate", "propagate", "sat_none", "directed"])
def test_infinite_factors_give_an_infinite_product_whatever_finite_ones_overflow_to(overflow: str) -> None:
    fields: dict[str, object] = {"kind": "mul", "name": "unit", "a": "e4m3", "b": "e5m2", "result": "fp16"}
    unit = build(fields | {"overflow": overflow})
    row = {"a": 0xC3, "b": 0x7C}  # -2.75 times infinity
    golden = evaluate(unit, {name: np.array([code], dtype=np.uint8) for name, code in row.items()})
    assert {name: int(column[0]) for name, column in golden.items()} == {"result": 0xFC00, "flags": 0}
    assert [*reference_results(unit, [row])] == [{"result": 0xFC00, "flags": 0}]


def test_pairs_meet_sooner_than_by_chance() -> None:
    chosen, drawn = Spread(), Spread()
    rng = Random(1)
    for unit in first_units(1, 12, ("decoder",)):
        chosen.add(unit)
    while drawn.units["decoder"] < 12:
        try:
            drawn.add(build(draw(rng, "decoder")))
        except ValueError:
            continue
    assert len(chosen.pairs["decoder"]) > len(drawn.pairs["decoder"])


def test_fault_is_shrunk_to_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_clock_enable(run: checks.Run) -> None:
        if run.unit.enable:
            raise checks.Fault("planted", "an enable")

    monkeypatch.setattr(shrink, "CIRCUITS", (no_clock_enable,))
    unit = build(tomllib.loads(dumps(CATALOGUE["cast_bf16"])) | {"stages": 4, "enable": True})
    small, _ = shrink.shrunk(unit, 0, checks.Fault("planted", "an enable"))
    assert {*shrink.full_table(small)} == {"kind", "name", "source", "targets", "roundings", "stages", "enable"}
    assert (small.stages, len(small.targets)) == (1, 1)
