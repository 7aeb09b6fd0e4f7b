"""Ways in which an implementation may treat subnormals, zeros, infinities or NaN wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from fp9.formats import FixedFormat, Format, Kind, fixed_format
from fp9.formats.rounding import Rounding
from fp9.golden import evaluate
from fp9.units import Columns, Port, Results, Unit
from fp9.units.views import accumulates
from fp9_compare.diagnosis.classes import (
    coded,
    formats_on,
    limits,
    numbers,
    operands_beside,
    operands_of,
    results_of,
)
from fp9_compare.diagnosis.difference import Difference, Topic
from fp9_compare.diagnosis.exponents import widened
from fp9_compare.diagnosis.specs import (
    formats_of,
    rounded_at_once,
    targets_of,
    with_factors,
    with_rounding,
    with_targets,
)

_FP16 = fixed_format("fp16")

ANY_NAN = Difference(Topic.NAN, 'its NaN has another code; nan = "any" accepts it', any_nan=True)


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield possible differences in the treatment of subnormals, zeros, infinities and NaN."""
    if any(isinstance(fmt, FixedFormat) and fmt.subnormals for fmt in formats_of(unit)):
        yield from _flushes(unit)
    yield from _zero_signs(unit)
    if results_of(unit) and operands_of(unit):
        yield from _infinities(unit)
        yield from _nans(unit)


# --- subnormals -------------------------------------------------------------------------------------------------------


def _flushed(port: Port, codes: Any, inputs: Columns, signed: bool = True) -> Any:
    left = np.array(codes)
    values = np.abs(numbers(port, codes, inputs))
    for fmt, here in formats_on(port, inputs):
        if isinstance(fmt, FixedFormat) and fmt.subnormals:
            small = here & (values > 0) & (values < fmt.smallest_normal)
            left[small] &= left.dtype.type(fmt.sign_mask if signed and fmt.signed_zero else 0)
    return left


def _flushed_results(signed: bool) -> Callable[[Unit, Columns, Results], Results]:
    def flush(unit: Unit, inputs: Columns, results: Results) -> Results:
        return {port.name: _flushed(port, results[port.name], inputs, signed) for port in results_of(unit)}

    return flush


def _flushed_operands(unit: Unit, inputs: Columns) -> Columns:
    flushed = {port.name: _flushed(port, inputs[port.name], inputs) for port in operands_of(unit)}
    return {**inputs, **flushed}


def _factors(unit: Unit) -> list[Port]:
    # The ports that become FP16 if the factors do.
    other = {port.name: port.formats for port in with_factors(unit, _FP16).inputs}
    return [port for port in operands_of(unit) if port.formats != other[port.name]]


def _has_halves(unit: Unit) -> bool:
    if with_factors.of(type(unit)) is None:
        return False
    try:
        factors = _factors(unit)
    except ValueError:  # the unit takes no FP16 factors
        return False
    return bool(factors) and all(_fits_fp16(fmt) for port in factors for fmt in port.formats)


def _fits_fp16(fmt: Format) -> bool:
    # Whether FP16 can represent all numbers, and half of each subnormal number.
    return fmt.bits <= 8 and fmt.max <= _FP16.max and fmt.smallest >= 2 * _FP16.smallest


def _halved_operands(unit: Unit, inputs: Columns) -> Columns:
    halved: dict[str, Any] = {}
    for port in _factors(unit):
        values = numbers(port, inputs[port.name], inputs)
        smallest, _ = limits(port, inputs)
        values = np.where(np.abs(values) < smallest, values / 2, values)
        with np.errstate(over="ignore"):  # formats of another difference
            halved[port.name] = values.astype(np.float16).view(np.uint16)
    return {**inputs, **halved}


def _flushed_before(unit: Unit, inputs: Columns, results: Results) -> Results:
    # A result is zero if the exact result is below the normal range, before any rounding.
    given = {port.name: inputs[port.name] for port in with_rounding(unit, Rounding.RTZ).inputs}
    cut = evaluate(with_rounding(unit, Rounding.RTZ), given)
    changed: Results = {}
    for port in results_of(unit):
        flushed = _flushed(port, cut[port.name], inputs)
        golden = _flushed(port, results[port.name], inputs)
        changed[port.name] = np.where(flushed != cut[port.name], flushed, golden)
    return changed


def _flushed_unbounded(unit: Any, inputs: Columns, results: Results) -> Results:
    # A result is zero if it is below the normal range when rounded with an unbounded exponent.
    wide = {fmt: widened(fmt) for fmt in targets_of(unit)}
    unbounded = evaluate(with_targets(unit, wide), {port.name: inputs[port.name] for port in unit.inputs})
    changed: Results = {}
    for port in results_of(unit):
        codes = np.array(_flushed(port, results[port.name], inputs))
        smallest, _ = limits(port, inputs)
        for fmt, here in formats_on(port, inputs):
            if isinstance(fmt, FixedFormat) and fmt.subnormals:
                numbers_there = np.abs(wide[fmt].table[unbounded[port.name][here]])
                tiny = (numbers_there > 0) & (numbers_there < smallest[here])
                codes[here] = np.where(tiny, codes[here] & fmt.sign_mask, codes[here])
        changed[port.name] = codes
    return changed


def _flushes(unit: Unit) -> Iterator[Difference]:
    if any(isinstance(fmt, FixedFormat) and fmt.subnormals for fmt in targets_of(unit)):
        yield Difference(Topic.SUBNORMALS, "it flushes subnormal results to zero", results=_flushed_results(True))
        if rounded_at_once(unit):
            yield Difference(Topic.SUBNORMALS, "it flushes to zero before it rounds", results=_flushed_before)
        if with_targets.of(type(unit)) is not None and all(fmt.bits <= 8 for fmt in targets_of(unit)):
            says = "it flushes results to zero that are below the normal range when rounded with an unbounded exponent"
            yield Difference(Topic.SUBNORMALS, says, results=_flushed_unbounded)
        yield Difference(Topic.SUBNORMALS, "it flushes subnormal results to +0", results=_flushed_results(False))
    if not accumulates(unit):
        yield Difference(Topic.OPERANDS, "it reads subnormal operands as zero", operands=_flushed_operands)
    if _has_halves(unit):
        says = "it reads subnormal operands at half their value, because it takes exponent field 0 as exponent 0, not 1"
        yield Difference(Topic.OPERANDS, says, spec=lambda unit: with_factors(unit, _FP16), operands=_halved_operands)


# --- zeros -----------------------------------------------------------------------------------------------------------


def _zero_signs(unit: Unit) -> Iterator[Difference]:
    def with_sign(change: Callable[[Any, int], Any]) -> Callable[[Unit, Columns, Results], Results]:
        def changed(unit: Unit, inputs: Columns, results: Results) -> Results:
            given: Results = {}
            for port in results_of(unit):
                codes = np.array(results[port.name])
                zero = numbers(port, codes, inputs) == 0
                for fmt, here in formats_on(port, inputs):
                    if isinstance(fmt, FixedFormat):
                        codes[zero & here] = change(codes[zero & here], fmt.sign_mask)
                given[port.name] = codes
            return given

        return changed

    wrong = "wrong sign of zero: it gives"
    for words, change in (
        ("+0 where -0 is expected", lambda codes, sign: np.zeros_like(codes)),
        ("zero the other sign", lambda codes, sign: codes ^ codes.dtype.type(sign)),
        ("-0 where +0 is expected", lambda codes, sign: np.full_like(codes, sign)),
    ):
        if any(fmt.signed_zero for fmt in targets_of(unit)):
            yield Difference(Topic.ZERO, f"{wrong} {words}", results=with_sign(change))


# --- infinities and NaN ----------------------------------------------------------------------------------------------


def _zero_code(fmt: Format, negative: bool) -> int | None:
    return 0 if fmt.has_zero else None


def _max_code(fmt: Format, negative: bool) -> int | None:
    sign = fmt.sign_mask if negative and isinstance(fmt, FixedFormat) else 0
    return fmt.max_code | sign


def _instead(
    where: Callable[[Unit, Port, Columns, Results], Any],
    negative: Callable[[Unit, Port, Columns, Results], Any],
    code_of: Callable[[Format, bool], int | None],
) -> Callable[[Unit, Columns, Results], Results]:
    # `where` selects results, `code_of` returns the other code for a format and a sign, and `negative` returns the sign
    # of each result.
    def changed(unit: Unit, inputs: Columns, results: Results) -> Results:
        given: Results = {}
        for port in results_of(unit):
            codes, here = np.array(results[port.name]), where(unit, port, inputs, results)
            signs = negative(unit, port, inputs, results)
            for sign in (False, True):
                other, there = coded(port, inputs, lambda fmt, sign=sign: code_of(fmt, sign))
                at = here & there & (signs == sign)
                codes[at] = other[at].astype(codes.dtype)
            given[port.name] = codes
        return given

    return changed


def _operand_is(test: Callable[[Any], Any]) -> Callable[[Unit, Port, Columns, Results], Any]:
    def where(unit: Unit, port: Port, inputs: Columns, results: Results) -> Any:
        beside = operands_beside(unit, port)
        return np.logical_or.reduce([test(numbers(p, inputs[p.name], inputs)) for p in beside])

    return where


def _result_is(test: Callable[[Any], Any]) -> Callable[[Unit, Port, Columns, Results], Any]:
    return lambda unit, port, inputs, results: test(numbers(port, results[port.name], inputs))


def _zero_beside_special(unit: Unit, port: Port, inputs: Columns, results: Results) -> Any:
    factors = [p for p in operands_beside(unit, port) if not p.name.startswith("c")]
    values = np.stack([numbers(p, inputs[p.name], inputs) for p in factors])
    return (values == 0).any(axis=0) & ~np.isfinite(values).all(axis=0)


def _never(unit: Unit, port: Port, inputs: Columns, results: Results) -> Any:
    return np.zeros(len(results[port.name]), dtype=np.bool_)


def _always(unit: Unit, port: Port, inputs: Columns, results: Results) -> Any:
    return np.ones(len(results[port.name]), dtype=np.bool_)


def _operand_sign(unit: Unit, port: Port, inputs: Columns, results: Results) -> Any:
    signs = [np.signbit(numbers(p, inputs[p.name], inputs)) for p in operands_beside(unit, port)]
    return np.logical_xor.reduce(signs)


def _result_sign(unit: Unit, port: Port, inputs: Columns, results: Results) -> Any:
    return np.signbit(numbers(port, results[port.name], inputs))


_BECOMES: tuple[tuple[str, Callable[[Format, bool], int | None]], ...] = (
    ("zero", _zero_code),
    ("the largest number", _max_code),
    ("infinity", lambda fmt, negative: fmt.inf_code(negative)),
    ("NaN", lambda fmt, negative: fmt.nan_code(negative)),
)


def _infinities(unit: Unit) -> Iterator[Difference]:
    if any(fmt.has_inf or fmt.nan_is_inf for port in operands_of(unit) for fmt in port.formats):
        for words, code_of in _BECOMES:
            single = len(operands_of(unit)) == 1 or len(results_of(unit)) > 1
            sign = _operand_sign if single else _result_sign
            change = _instead(_operand_is(np.isinf), sign, code_of)
            yield Difference(Topic.INFINITY, f"infinite operands give {words}", results=change)
    if any(fmt.has_inf for fmt in targets_of(unit)):
        for words, code_of in _BECOMES:
            change = _instead(_result_is(np.isinf), _result_sign, code_of)
            yield Difference(Topic.INFINITY, f"it gives {words} where infinity is expected", results=change)


def _nans(unit: Unit) -> Iterator[Difference]:
    nan = _result_is(np.isnan)
    if any(fmt.has_nan for fmt in targets_of(unit)):
        for words, sign in (("positive", _never), ("negative", _always), ("of its operand's sign", _operand_sign)):
            change = _instead(nan, sign, lambda fmt, negative: fmt.nan_code(negative))
            yield Difference(Topic.NAN, f"its NaN is always {words}", results=change)
        for fmt in targets_of(unit):
            yield from _other_codes(fmt, nan)
        yield ANY_NAN
        for words, code_of in _BECOMES[:3]:
            for sign_words, sign in _SIGNS_OF_NAN:
                change, given = _instead(nan, sign, code_of), sign_words.format(words)
                yield Difference(Topic.NAN, f"it gives {given} where NaN is expected", results=change)
        if len(operands_of(unit)) > 1:
            change = _instead(_zero_beside_special, _never, _zero_code)
            yield Difference(Topic.NAN, "a zero factor gives zero, even with an infinity or NaN", results=change)
    else:
        for words, code_of in (("zero", _signed_zero), _BECOMES[1]):
            for sign_words, sign in _SIGNS_OF_NAN:
                change = _instead(_operand_is(np.isnan), sign, code_of)
                yield Difference(Topic.NAN, f"NaN becomes {sign_words.format(words)}", results=change)


def _opposite_sign(unit: Unit, port: Port, inputs: Columns, results: Results) -> Any:
    return ~_operand_sign(unit, port, inputs, results)


_SIGNS_OF_NAN = (
    ("{}", _never),
    ("minus {}", _always),
    ("{} with the operand's sign", _operand_sign),
    ("{} with the operand's sign inverted", _opposite_sign),
)


def _signed_zero(fmt: Format, negative: bool) -> int | None:
    return fmt.code_of(Fraction(0), negative) if fmt.has_zero else None


# Largest number of NaN codes of one sign for which every code is tried.
MOST_NANS = 4


def _other_codes(fmt: Format, nan: Callable[[Unit, Port, Columns, Results], Any]) -> Iterator[Difference]:
    if not isinstance(fmt, FixedFormat) or fmt.nan_code(False) is None:
        return
    if fmt.bits <= 8:
        codes = [code for code in range(fmt.sign_mask) if fmt.kind_of(code) is Kind.NAN]
    else:
        codes = [fmt.magnitude_mask]
    if len(codes) > MOST_NANS:
        return
    for code in codes:
        if code == fmt.nan_code(False):
            continue
        for words, sign in (("", _result_sign), (", always positive", _never), (", always negative", _always)):

            def code_of(other: Format, negative: bool, code: int = code) -> int | None:
                if other != fmt:
                    return None
                return code | (fmt.sign_mask if negative else 0)

            says = f"its NaN in {fmt.name} is 0x{code:x}, not 0x{fmt.nan_code(False):x}{words}"
            yield Difference(Topic.NAN, says, results=_instead(nan, sign, code_of))
