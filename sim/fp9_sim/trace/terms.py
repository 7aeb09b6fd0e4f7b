"""Compute the exact operands, products and sum of an operation, as fractions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fp9.formats import Format, Kind
from fp9.golden.selects import factor_values
from fp9.golden.step_terms import terms_of
from fp9.units import Columns, Dot, Mac, Mul, Unit
from fp9.units.hooks import Hook

Term = tuple[str, str]


def exact_terms(unit: Unit, inputs: Columns, expected: Mapping[str, Any]) -> list[Term]:
    """Return the exact operands, products and sum of the last operation as pairs (name, value)."""
    codes = {port.name: int(inputs[port.name][-1]) for port in unit.inputs}
    terms = []
    for port in unit.inputs:
        if port.formats:
            chosen = min(codes[port.select], len(port.formats) - 1) if port.select else 0
            terms.append((port.name, number_text(port.formats[chosen], codes[port.name])))
    computed, exact = _computed(unit, {name: column[-1:] for name, column in inputs.items()})
    terms += computed
    before = {name: column[-2] for name, column in expected.items() if len(column) > 1}
    addend = _addend(unit, codes, before)
    if exact is not None and addend is not None:
        terms.append(("exact sum", fraction_text(exact + addend)))
        terms += _distance(unit, exact + addend, expected)
    return terms


def _distance(unit: Unit, exact: Fraction, expected: Mapping[str, Any]) -> list[Term]:
    port = next((port for port in unit.outputs if len(port.formats) == 1), None)
    if port is None:
        return []
    fmt, code = port.formats[0], int(expected[port.name][-1])
    if fmt.kind_of(code) not in (Kind.FINITE, Kind.ZERO) or fmt.kind_of(code + 1) is not Kind.FINITE:
        return []
    result = Fraction(fmt.value_of(code))
    step = abs(Fraction(fmt.value_of(code + 1)) - result)
    return [("exact sum - result", f"{float((exact - result) / step):.6g} of the distance to the next number")]


def _factors(unit: Any, inputs: Columns) -> tuple[list[Term], Fraction | None]:
    a, b = factor_values(unit, inputs)
    return _products(a, b)


def _scaled(unit: Any, inputs: Columns) -> tuple[list[Term], Fraction | None]:
    a, b = terms_of(unit, inputs)
    return _products(a.numbers, b.numbers)


def _products(a: Any, b: Any) -> tuple[list[Term], Fraction | None]:
    terms: list[Term] = []
    total = Fraction(0)
    for place, (one, other) in enumerate(zip(a[0].tolist(), b[0].tolist(), strict=True)):
        if not np.isfinite(one) or not np.isfinite(other):
            return [*terms, (f"product {place}", "no number: an operand is NaN or infinite")], None
        product = Fraction(one) * Fraction(other)
        terms.append((f"product {place}", fraction_text(product)))
        total += product
    return terms, total


_computed: Hook[[Columns], tuple[list[Term], Fraction | None]] = Hook(
    "exact terms",
    {Mul: _factors, Dot: _scaled},
    otherwise=lambda unit, inputs: ([], None),
    every_kind=False,
)


def _accumulator(unit: Mac, codes: Mapping[str, int], before: Mapping[str, Any]) -> Fraction | None:
    chosen = unit.operations[min(codes["op"], len(unit.operations) - 1)].name
    if chosen == "LOAD" and "c" in codes:
        return _value(unit.engine.output, codes["c"])
    if chosen != "ACCUMULATE" or unit.engine.step.exact:
        return None
    return _value(unit.engine.output, int(before["result"])) if before else Fraction(0)


_addend: Hook[[Mapping[str, int], Mapping[str, Any]], Fraction | None] = Hook(
    "addend of an exact sum",
    {Mac: _accumulator, Dot: lambda unit, codes, before: _value(unit.engine.output, codes["c"])},
    otherwise=lambda unit, codes, before: None,
    every_kind=False,
)


def _value(fmt: Format, code: int) -> Fraction | None:
    if fmt.kind_of(code) is Kind.ZERO:
        return Fraction(0)
    return Fraction(fmt.value_of(code)) if fmt.kind_of(code) is Kind.FINITE else None


def number_text(fmt: Format, code: int) -> str:
    code &= (1 << fmt.bits) - 1
    value = _value(fmt, code)
    sign = "-" if fmt.is_negative(code) else ""
    said = f"{sign}{fmt.kind_of(code).name.lower()}" if not value else fraction_text(value)
    return f"{fmt.name} {said}"


def fraction_text(value: Fraction) -> str:
    """Return the text of a number, both in decimal notation and as an integer times a power of two."""
    if not value:
        return "0"
    numerator, power = value.numerator, -(value.denominator.bit_length() - 1)
    while numerator % 2 == 0:
        numerator, power = numerator // 2, power + 1
    return f"{float(value):.9g} = {numerator} * 2^{power}"
