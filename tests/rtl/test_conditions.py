"""What the RTL takes: a refusal is one sentence that names the field, its value, and what to give."""

from __future__ import annotations

import dataclasses
import re
from random import Random
from typing import Any

import pytest
from tests.units.spread import draw
from tests.units.values import in_groups

from fp9.units import CATALOGUE, Unit
from fp9.units.toml import KINDS, build
from fp9_rtl.components import CIRCUITS, check_offered

CONDITIONS = [(circuits.units, condition.field) for circuits in CIRCUITS for condition in circuits.conditions]

_OPERANDS = {"a": ["e4m3"], "b": ["e4m3"]}
_CAST = {"kind": "cast", "source": "fp32", "targets": ["e4m3"], "roundings": ["rne"]}
_FPU = {"kind": "fpu", "a": ["hfp8_143"], "b": ["hfp8_143"], "engine": "fmma"}
_WHOLE = {"kind": "mac", **_OPERANDS, "stages": 2}
_DOT = {"kind": "dot", **_OPERANDS}
_ALIGNED = {"products": 2, "window": 13, "addend": "aligned"}
_JOINED = {"products": 2, "window": 24, "interleaved": 28}
_SCALED = {"kind": "dot", "a": ["e2m1"], "b": ["e2m1"], "scale": "e8m0"}
_WINDOW = {"products": 2, "window": 13, "zero_exponent": -133}
_CHUNK = {"products": 2, "chunk": 2}
_BLOCKS = {"products": 4}

REFUSED: dict[tuple[str, str], tuple[dict[str, Any], str]] = {
    ("a cast", "targets"): (_CAST | {"targets": ["e4m3", "e8m0"]}, "e8m0"),
    ("a cast", "roundings"): (_CAST | {"roundings": ["rne", "srb", "src"]}, "srb, src"),
    ("a cast", "overflow"): (_CAST | {"overflow": ["inf", "propagate"]}, "propagate"),
    ("an fpu", "a"): (_FPU | {"a": ["hfp8_143", "e4m3"]}, "e4m3"),
    ("an fpu", "b"): (_FPU | {"b": ["e5m2"]}, "e5m2"),
    ("an fpu", "engine.result.format"): (_FPU | {"engine": "fmma(result=bf16)"}, "bf16"),
    ("an fpu", "engine.result.rounding"): (_FPU | {"engine": "fmma(rounding=rtz)"}, "rtz"),
    ("a mac with engine.step.exact", "engine.result.format"): (_WHOLE | {"engine": "exact(result=e5m2)"}, "e5m2"),
    ("a mac with engine.step.exact", "engine.nan.zero_bypass"): (
        _WHOLE | {"engine": "exact(zero_bypass=true)"},
        "true",
    ),
    ("a mac with engine.step.exact", "engine.result.flush"): (_WHOLE | {"engine": "exact(flush_result=true)"}, "true"),
    ("a mac with engine.step.exact", "engine.result.flush_addend"): (
        _WHOLE | {"engine": "exact(flush_addend=true)"},
        "true",
    ),
    ("a mac with engine.step.exact", "engine.nan.code"): (_WHOLE | {"engine": "exact(nan=0x7fc00001)"}, "2143289345"),
    ("a mac with engine.step.exact", "engine.nan.invalid_code"): (
        _WHOLE | {"engine": "exact(invalid_nan=0xffc00000)"},
        "4290772992",
    ),
    ("a mac with engine.step.exact", "engine.nan.infinity_run"): (_WHOLE | {"engine": "exact(infinity_run=2)"}, "2"),
    ("a dot or fma", "engine.step.exact"): (_DOT | {"engine": "exact(products=2)"}, "true"),
    ("an exact sum of several products", "engine.nan.zero_bypass"): (
        _DOT | {"engine": {"products": 3, "zero_bypass": True}},
        "true",
    ),
    ("a window with engine.window.addend = aligned", "engine.window.truncation"): (
        _DOT | {"engine": _ALIGNED | {"truncation": "floor"}},
        "floor",
    ),
    ("a window with engine.window.interleaved", "engine.result.rounding"): (
        _DOT | {"engine": _JOINED | {"rounding": "rup"}},
        "rup",
    ),
    ("a window with engine.window.interleaved", "engine.result.format"): (
        _DOT | {"engine": _JOINED | {"result": "dlfloat16"}},
        "dlfloat16",
    ),
    ("a window with engine.window.interleaved", "engine.window.interleaved"): (
        _DOT | {"engine": _JOINED | {"interleaved": 24}},
        "24",
    ),
    ("scaled products", "engine.step.scaling"): (_SCALED | {"engine": {"products": 2, "scaling": "sums"}}, "sums"),
    ("scaled products", "engine.result.format"): (
        _SCALED | {"engine": {"products": 2, "result": "dlfloat16"}},
        "dlfloat16",
    ),
    ("scaled products", "scale"): (
        _SCALED | {"a": ["e5m2"], "scale": "ue4m3", "engine": {"products": 2}},
        "ue4m3",
    ),
    ("windows of scaled products", "engine.window.addend"): (
        _SCALED | {"engine": _WINDOW | {"addend": "outside"}},
        "outside",
    ),
    ("windows of scaled products", "engine.window.zero_exponent"): (
        _SCALED | {"engine": {"products": 2, "window": 13}},
        "",
    ),
    ("windows of scaled products", "engine.window.interleaved"): (_SCALED | {"engine": _JOINED}, "28"),
    ("scaled chunks of a dot or fma", "engine.window.width"): (_SCALED | {"engine": _CHUNK | _WINDOW}, "13"),
    ("scaled chunks of a dot or fma", "engine.chunk.length"): (_SCALED | {"engine": _CHUNK | {"chunk": 4}}, "4"),
    ("scaled chunks of a dot or fma", "engine.chunk.promotion"): (
        _SCALED | {"engine": _CHUNK | {"promotion": "fp16"}},
        "fp16",
    ),
    ("an exact sum of scaled blocks", "scale"): (_SCALED | {"engine": _BLOCKS, "block": 2}, "e8m0"),
    ("an exact sum of scaled blocks", "engine.nan.infinity_run"): (
        _SCALED | {"scale": "ue4m3", "engine": _BLOCKS | {"infinity_run": 2}, "block": 2},
        "2",
    ),
}
"""A specification that each condition refuses, its engine by parameters, and the values at fault."""

SENTENCE = re.compile(
    r"(?P<name>\w+): no hardware (for (?P<field>\S+) = (?P<values>.+)|without (?P<absent>\S+)) in .+; give .+"
)


def test_every_condition_refuses_something() -> None:
    assert list(REFUSED) == CONDITIONS


@pytest.mark.parametrize(("units", "field"), CONDITIONS)
def test_a_condition_names_its_field_and_the_values_at_fault(units: str, field: str) -> None:
    fields, values = REFUSED[units, field]
    sums = fields.get("engine")
    groups = {"engine": in_groups(sums)} if isinstance(sums, dict) else {}
    unit = build({"name": "refused", **fields, **groups})
    refusals = [refusal for circuits in CIRCUITS for refusal in circuits.refusals(unit)]
    given = f"for {field} = {values}" if values else f"without {field}"
    assert any(refusal.startswith(f"refused: no hardware {given} in {units}; give ") for refusal in refusals)
    with pytest.raises(ValueError, match=f"^{re.escape(refusals[0])}$"):
        check_offered(unit)


@pytest.mark.parametrize("seed", range(8))
def test_random_refusals_name_a_field_and_its_value_in_one_sentence(seed: int) -> None:
    rng, refused = Random(seed), 0
    while refused < 30:
        unit = _accepted(rng)
        try:
            check_offered(unit)
        except ValueError as error:
            _check_sentence(unit, str(error))
            refused += 1


def _accepted(rng: Random) -> Unit:
    """A random unit that the model computes."""
    while True:
        try:
            return build(draw(rng, rng.choice([*KINDS])))
        except ValueError:
            continue


def _check_sentence(unit: Unit, said: str) -> None:
    found = SENTENCE.fullmatch(said)
    assert found is not None and ". " not in said, said
    value: Any = unit
    for name in (found["field"] or found["absent"]).split("."):
        assert name in {field.name for field in dataclasses.fields(value)}, said
        value = getattr(value, name)
    given = {str(getattr(each, "value", getattr(each, "name", each))) for each in _each(value)}
    named = {"None"} if found["absent"] else {word.strip() for word in re.split(r", (?![^(]*\))", found["values"])}
    assert {word.lower() for word in named} <= {word.lower() for word in given}, said


def _each(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("unit", CATALOGUE.values(), ids=lambda unit: unit.name)
def test_every_unit_of_the_catalogue_has_hardware(unit: Unit) -> None:
    check_offered(unit)
