"""What the smoke suites of sums meet."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import each_kind, units

from fp9.formats import Format, Kind, floor_log2
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, Dot, Fma, Mac, MacOp
from fp9.vectors import VectorSet, generate

FMAS = pytest.mark.parametrize("unit", units(Fma), ids=lambda unit: unit.name)


def kinds(fmt: Format, codes: NDArray[np.integer]) -> NDArray[np.object_]:
    """What codes stand for, shape (n,)."""
    return np.array([fmt.kind_of(int(code)) for code in codes])


def factor(unit: Fma, made: VectorSet, operand: str) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The format of each factor, and what its code stands for; shape (n,) each."""
    formats = np.array(unit.a if operand == "a" else unit.b, dtype=object)
    select = made.inputs.get(f"{operand}_format", np.zeros(len(made), np.uint8))
    chosen = formats[np.minimum(select, len(formats) - 1)]
    return chosen, np.array([fmt.kind_of(int(c)) for fmt, c in zip(chosen, made.inputs[operand], strict=True)])


@FMAS
def test_smoke_has_every_code_of_a_factor_that_is_no_finite_number(unit: Fma) -> None:
    made = generate(unit, "smoke")
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        chosen, kind = factor(unit, made, operand)
        for fmt in formats:
            special = {code for code in range(1 << fmt.bits) if fmt.kind_of(code) in (Kind.INF, Kind.NAN)}
            met = {*made.inputs[operand][(chosen == fmt) & np.isin(kind, [Kind.INF, Kind.NAN])].tolist()}
            wanted = special if fmt.bits <= 8 else {code for code in special if fmt.kind_of(code) is Kind.INF}
            assert wanted <= met <= special, fmt.name


@pytest.mark.parametrize(
    "unit", [unit for unit in units(Fma) if unit.engine.output.has_inf], ids=lambda unit: unit.name
)
def test_smoke_has_infinite_results_of_either_sign_by_every_way(unit: Fma) -> None:
    """By an infinite factor where a format has one, and by an infinite addend; no product is large enough by itself."""
    output = unit.engine.output
    made = generate(unit, "smoke")
    a, b, c = factor(unit, made, "a")[1], factor(unit, made, "b")[1], kinds(output, made.inputs["c"])
    ways = {"addend": c == Kind.INF}
    if any(fmt.has_inf for fmt in unit.a + unit.b):
        ways |= {"a": a == Kind.INF, "b": b == Kind.INF}
    for negative in (False, True):
        infinite = made.expected["result"] == output.inf_code(negative)
        for name, way in ways.items():
            assert (way & infinite).any(), name


@FMAS
def test_smoke_has_nan_results_by_every_way(unit: Fma) -> None:
    """By a NaN as factor where a format has one, by a NaN as addend, and of numbers and infinities alone."""
    made = generate(unit, "smoke")
    output = unit.engine.output
    operands = [factor(unit, made, "a")[1], factor(unit, made, "b")[1], kinds(output, made.inputs["c"])]
    nan = kinds(output, made.expected["result"]) == Kind.NAN
    for operand, formats in zip(operands, (unit.a, unit.b, (output,)), strict=True):
        if any(fmt.nan_code(False) is not None for fmt in formats):
            assert (nan & (operand == Kind.NAN)).any()
    if any(fmt.has_inf for fmt in unit.a + unit.b):
        assert (nan & ~np.any([operand == Kind.NAN for operand in operands], axis=0)).any()


@FMAS
def test_smoke_has_zeros_subnormals_and_ends_as_results_of_either_sign(unit: Fma) -> None:
    made = generate(unit, "smoke")
    output = unit.engine.output
    magnitudes, negative = made.expected["result"] & output.magnitude_mask, made.expected["result"] & output.sign_mask
    normal = output.code_of(Fraction(output.smallest_normal))
    classes = {
        "largest": magnitudes == output.max_code,
        "smallest normal": magnitudes == normal,
        "zero": magnitudes == 0,
    }
    if output.subnormals:
        classes["subnormal"] = (magnitudes > 0) & (magnitudes < normal)
    for name, where in classes.items():
        assert (where & (negative == 0)).any(), name
        assert (where & (negative != 0)).any() or (name == "zero" and not output.signed_zero), name


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "unit", each_kind(unit for unit in CATALOGUE.values() if isinstance(unit, Dot)), ids=lambda unit: unit.name
)
def test_smoke_has_every_end_of_the_numbers_that_corner_has_as_a_result(unit: Dot) -> None:
    output = unit.engine.output
    magnitudes = [output.code_of(Fraction(output.smallest_normal)), output.max_code, output.inf_code(False)]
    ends = [code | sign for code in magnitudes if code is not None for sign in (0, output.sign_mask)]
    results = evaluate(unit, inputs_of(unit, "corner", None, 0))["result"]
    made = generate(unit, "smoke").expected["result"]
    assert {code for code in ends if code in results} <= {*made.tolist()}


@pytest.mark.slow
@pytest.mark.parametrize("unit", [u for u in units(Mac) if u.scale is not None], ids=lambda unit: unit.name)
def test_smoke_loads_sums_that_lose_every_number_of_leading_bits(unit: Mac) -> None:
    """Beside the products alone or the addend: one to as many as the product of two significands of the result has."""
    made, output = generate(unit, "smoke"), unit.engine.output
    alone = evaluate(unit, {**made.inputs, "c": np.zeros_like(made.inputs["c"])})["result"]
    lost = set()
    for codes in np.stack([alone, made.inputs["c"], made.expected["result"]], axis=1)[made.inputs["op"] == MacOp.LOAD]:
        if all(output.kind_of(int(code)) is Kind.FINITE for code in codes):
            products, addend, left = (floor_log2(abs(output.value_of(int(code)))) for code in codes)
            lost.add(max(products, addend) - left)
    assert {*range(1, 2 * output.precision + 1)} <= lost
