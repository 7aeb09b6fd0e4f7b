"""Ways in which an implementation may compute a wrong exponent field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fp9.formats import FixedFormat, Format
from fp9.formats.rounding import Rounding
from fp9.golden import evaluate
from fp9.units import Columns, Results, Unit
from fp9_compare.diagnosis.classes import formats_on, results_of
from fp9_compare.diagnosis.difference import Difference, Topic
from fp9_compare.diagnosis.specs import rounded_at_once, targets_of, with_rounding, with_targets

# With these extra exponent bits, no result of the test suites overflows or is subnormal.
_FURTHER_EXPONENTS = 2


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield ways in which the exponent field of a result may be wrong, such as a lost carry from rounding."""
    targets = targets_of(unit)
    if not targets or not all(isinstance(fmt, FixedFormat) for fmt in targets):
        return
    yield Difference(Topic.SUBNORMALS, "its result is +0 where its exponent field is 0", results=_zero_at_zero(False))
    yield Difference(Topic.SUBNORMALS, "its result is zero where its exponent field is 0", results=_zero_at_zero(True))
    if with_targets.of(type(unit)) is None or any(fmt.bits > 8 for fmt in targets):
        return
    wraps = "its exponent wraps around on overflow and underflow"
    lost = "a carry from rounding does not reach its exponent"
    yield Difference(Topic.OVERFLOW, wraps, results=_wrapped(carries=True))
    yield Difference(Topic.OVERFLOW, f"{wraps}, and {lost}", results=_wrapped(carries=False))
    if rounded_at_once(unit):
        yield Difference(Topic.ROUNDING, lost, results=_without_carry)
    shifted = "it shifts the significand of every subnormal result right by one place, whatever the exponent"
    yield Difference(Topic.SUBNORMALS, shifted, results=_shifted_once)


def _zero_at_zero(signed: bool) -> Callable[[Unit, Columns, Results], Results]:
    def changed(unit: Unit, inputs: Columns, results: Results) -> Results:
        given: Results = {}
        for port in results_of(unit):
            codes = np.array(results[port.name])
            for fmt, here in formats_on(port, inputs):
                if isinstance(fmt, FixedFormat):
                    field = codes >> fmt.fraction_bits & ((1 << fmt.exponent_bits) - 1)
                    zero = codes & codes.dtype.type(fmt.sign_mask if signed else 0)
                    codes = np.where(here & (field == 0), zero, codes)
            given[port.name] = codes
        return given

    return changed


def _wrapped(carries: bool) -> Callable[[Unit, Columns, Results], Results]:
    # If `carries` is false, a carry from the rounding does not increment the exponent.
    def changed(unit: Any, inputs: Columns, results: Results) -> Results:
        wide = {fmt: widened(fmt) for fmt in targets_of(unit)}
        columns = {port.name: inputs[port.name] for port in unit.inputs}
        rounded = evaluate(with_targets(unit, wide), columns)
        cut = evaluate(with_rounding(with_targets(unit, wide), Rounding.RTZ), columns)
        given: Results = {}
        for port in results_of(unit):
            codes = np.array(results[port.name])
            for fmt, here in formats_on(port, inputs):
                exponents = rounded[port.name] if carries else cut[port.name]
                other = _narrowed(fmt, wide[fmt], rounded[port.name].astype(np.int64), exponents.astype(np.int64))
                codes = np.where(here, other, codes)
            given[port.name] = codes
        return given

    return changed


def _without_carry(unit: Unit, inputs: Columns, results: Results) -> Results:
    other = with_rounding(unit, Rounding.RTZ)
    cut = evaluate(other, {port.name: inputs[port.name] for port in other.inputs})
    given: Results = {}
    for port in results_of(unit):
        codes = np.array(results[port.name])
        for fmt, here in formats_on(port, inputs):
            if not isinstance(fmt, FixedFormat):  # from another difference
                continue
            fraction = codes.dtype.type((1 << fmt.fraction_bits) - 1)
            carried = here & (codes >> fmt.fraction_bits != cut[port.name] >> fmt.fraction_bits)
            carried &= (codes & fraction == 0) & (cut[port.name] & fraction == fraction)
            codes = np.where(carried, cut[port.name] & ~fraction, codes)
        given[port.name] = codes
    return given


def _shifted_once(unit: Any, inputs: Columns, results: Results) -> Results:
    if not all(isinstance(fmt, FixedFormat) for fmt in targets_of(unit)):
        return results
    wide = {fmt: widened(fmt) for fmt in targets_of(unit)}
    unbounded = evaluate(with_targets(unit, wide), {port.name: inputs[port.name] for port in unit.inputs})
    given: Results = {}
    for port in results_of(unit):
        codes = np.array(results[port.name])
        for fmt, here in formats_on(port, inputs):
            if not isinstance(fmt, FixedFormat):
                continue
            significand = unbounded[port.name] & ((1 << fmt.fraction_bits) - 1) | 1 << fmt.fraction_bits
            numbers = np.abs(wide[fmt].table[unbounded[port.name]])
            below = here & (numbers > 0) & (numbers < fmt.smallest_normal)
            codes = np.where(below, codes & fmt.sign_mask | significand >> 1, codes)
        given[port.name] = codes
    return given


def widened(fmt: Format) -> FixedFormat:
    """Return a format with more exponent bits than `fmt`, and as many fraction bits."""
    if not isinstance(fmt, FixedFormat):
        raise ValueError(f"{fmt.name} has no exponent field to widen")
    bits = fmt.exponent_bits + _FURTHER_EXPONENTS
    bias = fmt.bias + (1 << bits - 1) - (1 << fmt.exponent_bits - 1)
    return FixedFormat(f"{fmt.name}_wide", bits, fmt.fraction_bits, bias)


def _narrowed(fmt: Format, wide: FixedFormat, codes: Any, exponents: Any) -> Any:
    assert isinstance(fmt, FixedFormat), "the caller has checked it"
    field = exponents >> fmt.fraction_bits & ((1 << wide.exponent_bits) - 1)
    kept = field - (wide.bias - fmt.bias) & ((1 << fmt.exponent_bits) - 1)
    sign = (codes >> wide.bits - 1 & 1) << fmt.bits - 1
    fraction = codes & ((1 << fmt.fraction_bits) - 1)
    zero = codes & wide.magnitude_mask == 0
    return (sign | np.where(zero, 0, kept << fmt.fraction_bits | fraction)).astype(np.uint8)
