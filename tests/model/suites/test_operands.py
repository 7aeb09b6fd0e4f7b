"""Suites of units with operands, or an engine beside scales, that no unit of the catalogue has."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.support.rosters import PRESETS, thinned, together

import fp9
from fp9.engines import ENGINES
from fp9.formats import FixedFormat, Kind
from fp9.suites import inputs_of
from fp9.suites.sums.exact import power_products
from fp9.units import CATALOGUE, Dot, Mac
from fp9.units.toml import build
from fp9.vectors.sets import from_inputs

PAIRS = [
    (("int8",), ("e2m1",)),
    (("e2m1",), ("hif8",)),
    (("e3m2", "e2m3"), ("e4m3",)),
    (("hif8", "e5m2"), ("int8",)),
    (("e4m3fnuz",), ("e5m2fnuz", "hfp8_152")),
    (("e2m1",), ("e2m1",)),
]
"""Of other widths than each other, with changing fields, of few exponents, with a NaN for the negative zero."""

SUMS = [unit for unit in CATALOGUE.values() if isinstance(unit, Dot) and unit.engine.step.group is None]
"""Groups take numbers without specials alone."""


def named(value: object) -> str:
    return value.name if isinstance(value, Dot) else str(value)


@pytest.mark.every(2)
@pytest.mark.parametrize(("unit", "pair"), thinned(together(SUMS, PAIRS)), ids=named)
def test_suites_are_made_of_any_operands(unit: Dot, pair: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    """Codes fit their ports, and the model takes them. An accumulator's codes of one operand had the other's sign."""
    a, b = (tuple(fp9.format(name) for name in names) for names in pair)
    other = replace(unit, a=a, b=b)
    assert len(from_inputs(other, inputs_of(other, "corner", None, 0))) > 1000


@pytest.mark.every(6)
@pytest.mark.parametrize("name", thinned(PRESETS))
def test_suites_are_made_of_scales_with_any_engine(name: str) -> None:
    """As it is, or where it sums one product, with four."""
    engine = ENGINES[name] if ENGINES[name].step.products > 1 else fp9.engine(f"{name}(products=4)")
    other = replace(CATALOGUE["dot4_fp32_mxfp8"], engine=engine)
    assert len(from_inputs(other, inputs_of(other, "corner", None, 0))) > 1000


@pytest.mark.parametrize("kind", ["fma", "mac"])
def test_suites_are_made_of_results_with_one_exponent_bit(kind: str) -> None:
    """Such a format has no third binade below its largest number."""
    result = {"format": "1.1.20,b=-8,specials=merged"}
    other = build({"kind": kind, "name": "unit", "a": "e4m3", "b": "fp16", "engine": {"result": result}, "stages": 1})
    assert len(from_inputs(other, inputs_of(other, "corner", None, 0))) > 1000


def test_a_cast_that_offers_hybrid_rounding_needs_no_hif8() -> None:
    """It means `rna` for other targets."""
    other = replace(CATALOGUE["cast_fp16_hif8"], targets=(fp9.format("e4m3"),))
    assert len(from_inputs(other, inputs_of(other, "corner", None, 0))) > 1000


def test_powers_of_two_of_wide_operands_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were looked for again at every power of the other operand: 500 times for BF16, which took minutes."""
    unit = build({"kind": "mac", "name": "unit", "a": "bf16", "b": "fp16", "engine": "fma_fp32(chunk=4)", "stages": 2})
    assert isinstance(unit, Mac)
    asked, kind_of = Counter[str](), FixedFormat.kind_of

    def counted(fmt: FixedFormat, code: int) -> Kind:
        asked[fmt.name] += 1
        return kind_of(fmt, code)

    monkeypatch.setattr(FixedFormat, "kind_of", counted)
    assert len(power_products(unit)) > 250
    assert all(count <= 1 << 15 for count in asked.values())
