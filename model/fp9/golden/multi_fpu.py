"""Golden results of a multi-format FPU: float64 sums are rounded to odd, and then to the result format.

A float64 number holds every product of two operands exactly, and a result has at most 24 significand bits. A sum that
was rounded to odd in float64 and then to the result format equals the exact sum after a single rounding (Boldo and
Melquiond, IEEE ToC 2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode_native, encode_numbers
from fp9.formats.rounding import Flags, Hybrid, Rounding
from fp9.golden.dots import dot_sum
from fp9.golden.fpu_operands import Operand, operand_of
from fp9.golden.integers import from_integers, to_integers
from fp9.golden.odd import odd_sum
from fp9.golden.selects import chosen, places, signed
from fp9.units import SCALE_BITS
from fp9.units.multi_fpu import (
    DOTS,
    EXTREMA,
    NARROW_BITS,
    ROUNDED,
    SIGN_INJECTIONS,
    SIGNALING,
    MultiFpu,
    MultiFpuOp,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fp9.formats import Format
    from fp9.formats.policy import CastPolicy
    from fp9.golden.selects import Where
    from fp9.units import Columns

    Results = dict[str, NDArray[Any]]
    Bools = NDArray[np.bool_]
    Codes = NDArray[np.uint32]

_Op = MultiFpuOp


def multi_fpu(unit: MultiFpu, inputs: Columns) -> Results:
    result, flags = _scalar(unit, _with_random(unit, inputs, 0))
    for width, here in _vectors(unit, inputs):
        result[here], flags[here] = _vector(unit, {name: column[here] for name, column in inputs.items()}, width)
    results: Results = {"result": result}
    if unit.flags:
        results["flags"] = flags
    return results | ({"result_tag": inputs["tag"]} if unit.tag else {})


def _vectors(unit: MultiFpu, inputs: Columns) -> Iterator[tuple[int, Bools]]:
    for value, width in enumerate(unit.lane_widths, 1):
        yield width, np.minimum(inputs["vector"], len(unit.lane_widths)) == value


def _vector(unit: MultiFpu, inputs: Columns, width: int) -> tuple[Codes, NDArray[np.uint8]]:
    result, flags = np.zeros(len(inputs["a"]), np.uint32), np.zeros(len(inputs["a"]), np.uint8)
    mask = np.uint32((1 << width) - 1)
    for lane, (low, _) in enumerate(unit.lane_places):
        if low % width:
            continue
        codes = {name: inputs[name] >> low & mask for name in unit.operands}
        part, raised = _scalar(unit.lane_units[width], {**_with_random(unit, inputs, lane), **codes})
        result |= (part & mask) << np.uint32(low)
        flags |= raised
    return result, flags


def _with_random(unit: MultiFpu, inputs: Columns, lane: int) -> Columns:
    return {**inputs, "random": inputs[unit.random_ports[lane]]} if unit.random_width else inputs


def _scalar(unit: MultiFpu, inputs: Columns) -> tuple[Codes, NDArray[np.uint8]]:
    count = len(inputs["a"])
    op = np.broadcast_to(chosen(inputs, "op", len(unit.operations)), count)
    formats = {
        name: np.broadcast_to(chosen(inputs, unit.format_port(name), len(unit.formats)), count)
        for name in (*unit.operands, "result")
    }
    keeps_format = _isin(unit, op, *SIGN_INJECTIONS, *EXTREMA)
    for name in ("c", "result"):
        if name in formats:
            formats[name] = np.where(keeps_format, formats["a"], formats[name])
    operands = {name: operand_of(unit, inputs[name], formats[name]) for name in unit.operands}
    rounding = np.broadcast_to(chosen(inputs, "rounding", len(unit.roundings)), count)
    overflow = np.broadcast_to(chosen(inputs, "overflow", len(unit.overflow)), count)
    codes, flags, exact = np.zeros(count, np.uint32), np.zeros(count, np.uint8), np.zeros(count)
    minus = np.array([mode.cancels_to_minus for mode in unit.roundings])[rounding]
    integer = np.broadcast_to(chosen(inputs, "integer_format", len(unit.integers)), count)
    for index, here in places(op):
        some = {name: operand.at(here) for name, operand in operands.items()}
        match unit.operations[index]:
            case _Op.FROM_INTEGER:
                exact[here] = from_integers(unit, inputs["a"][here], integer[here])
            case _Op.TO_INTEGER:
                codes[here], flags[here] = to_integers(
                    unit, some["a"].numbers, integer[here], rounding[here], _random(unit, inputs, here)
                )
            case _Op.CONVERT if unit.scale:
                scaled = some["a"]._replace(numbers=np.ldexp(some["a"].numbers, _scales(unit, inputs, here)))
                codes[here], flags[here], exact[here] = _operation(_Op.CONVERT, {"a": scaled}, minus[here])
            case _Op.DIV | _Op.SQRT as other:
                exact[here], flags[here] = _divided(other, some)
            case other if other in DOTS:
                lanes = [_lane_operands(unit, inputs, formats, lane, here) for lane in range(DOTS[other])]
                exact[here], flags[here] = dot_sum(lanes, some["c"], minus[here])
            case other:
                codes[here], flags[here], exact[here] = _operation(other, some, minus[here])
    rounded = _isin(unit, op, *ROUNDED)
    own_bits = _reads_source(unit, op, formats, rounding)
    choice = (formats["result"] * len(unit.roundings) + rounding) * len(unit.overflow) + overflow
    choice = np.where(rounded, 2 * choice + own_bits, -1)
    for value in np.unique(choice[rounded]):
        here = choice == value
        rest, policy = divmod(int(value) // 2, len(unit.overflow))
        fmt, index = divmod(rest, len(unit.roundings))
        mode = unit.roundings[index]
        if value % 2:
            cast = unit.policy(unit.formats[fmt], mode, unit.overflow[policy])
            codes[here], raised = _by_own_bits(
                unit, unit.formats[fmt], cast, operands["a"].at(here), formats["a"][here], _scales(unit, inputs, here)
            )
        else:
            cast = unit.policy(unit.formats[fmt], Rounding.RNA if mode.reads_source else mode, unit.overflow[policy])
            random = _random(unit, inputs, here) if mode.needs_bits else None
            codes[here], raised = encode_numbers(
                exact[here], unit.formats[fmt], cast, Hybrid(), random, unit.random_bits, flags=True
            )
        if unit.tiny_before_rounding:
            tiny = np.abs(exact[here]) < 2.0 ** unit.formats[fmt].min_normal_exponent
            raised |= np.where(tiny & (raised & Flags.INEXACT != 0), Flags.UNDERFLOW, 0).astype(np.uint8)
        flags[here] = np.where(flags[here], flags[here], raised)
    if unit.nan_boxing:
        above = np.array([(1 << unit.word) - (1 << fmt.bits) for fmt in unit.formats], np.uint32)[formats["result"]]
        codes |= np.where(rounded | keeps_format, above, np.uint32(0))
    return codes & np.uint32((1 << unit.word) - 1), flags


def _random(unit: MultiFpu, inputs: Columns, here: Where) -> NDArray[np.int64] | None:
    return inputs["random"][here].astype(np.int64) if unit.random_width else None


def _reads_source(unit: MultiFpu, op: NDArray[Any], formats: dict[str, NDArray[Any]], rounding: NDArray[Any]) -> Bools:
    # The last bits of `a` are the threshold of hybrid rounding.
    hybrid = np.array([mode.reads_source for mode in unit.roundings])[rounding]
    pairs = [[unit.reads_source(_Op.CONVERT, a, result) for result in unit.formats] for a in unit.formats]
    reads: Bools = hybrid & _isin(unit, op, _Op.CONVERT) & np.array(pairs)[formats["a"], formats["result"]]
    return reads


def _by_own_bits(
    unit: MultiFpu, target: Format, policy: CastPolicy, a: Operand, sources: NDArray[Any], scales: NDArray[np.int32]
) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    codes, flags = np.zeros(len(sources), np.uint32), np.zeros(len(sources), np.uint8)
    for index, here in places(sources):
        source = unit.formats[index]
        numbers = decode_native(a.codes[here].astype(source.dtype), source)
        codes[here], flags[here] = encode_numbers(numbers, target, policy, Hybrid(), flags=True, scale=scales[here])
    return codes, flags


def _scales(unit: MultiFpu, inputs: Columns, here: Where) -> NDArray[np.int32]:
    bits = inputs["scale"][here] if unit.scale else np.zeros(len(inputs["a"][here]), np.uint8)
    return signed(bits, SCALE_BITS).astype(np.int32)


def _lane_operands(
    unit: MultiFpu, inputs: Columns, formats: dict[str, NDArray[Any]], lane: int, here: Where
) -> tuple[Operand, Operand]:
    last = len(unit.narrow) - 1
    a, b = (
        operand_of(unit.narrow_unit, inputs[name][here] >> NARROW_BITS * lane, np.minimum(formats[name][here], last))
        for name in "ab"
    )
    return a, b


def _isin(unit: MultiFpu, op: NDArray[Any], *some: MultiFpuOp) -> Bools:
    found: Bools = np.array([each in some for each in unit.operations])[op]
    return found


def _operation(
    op: MultiFpuOp, operands: dict[str, Operand], minus: Bools
) -> tuple[Codes | int, NDArray[Any] | int, NDArray[np.float64] | int]:
    a = operands["a"]
    if op in ROUNDED:
        exact, invalid = _summed(op, operands, minus)
        return 0, np.where(invalid, Flags.INVALID, 0), exact
    if op is _Op.CLASSIFY:
        return _classified(a), 0, 0
    if op in SIGN_INJECTIONS:
        return _injected(op, a, operands["c"]), 0, 0
    codes, flags = (_extremum if op in EXTREMA else _compared)(op, a, operands["c"])
    return codes, flags, 0


def _divided(op: MultiFpuOp, operands: dict[str, Operand]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the quotient or square root in float64, and the flags `invalid` and `divide_by_zero`."""
    a = operands["a"]
    # Operands and results have at most 15 significand bits, so an inexact quotient or root is at a relative distance of
    # at least 2^-32 from every midpoint. Rounding to float64 first does not change the final result.
    with np.errstate(invalid="ignore", divide="ignore"):
        if op is _Op.SQRT:
            exact, by_zero, signaling = np.sqrt(a.numbers), np.zeros(len(a.codes), np.bool_), a.signaling
        else:
            b = operands["b"]
            exact, signaling = a.numbers / b.numbers, a.signaling | b.signaling
            by_zero = (b.numbers == 0) & (a.numbers != 0) & np.isfinite(a.numbers)
    quiet = a.nan | operands["b"].nan if op is _Op.DIV else a.nan
    invalid = signaling | (np.isnan(exact) & ~quiet)
    flags = np.where(invalid, Flags.INVALID, np.where(by_zero, Flags.DIVIDE_BY_ZERO, 0))
    return exact, flags.astype(np.uint8)


# --- sums -----------------------------------------------------------------------------------------------------------

_NEGATED_PRODUCT = (_Op.FNMSUB, _Op.FNMADD)
_NEGATED_ADDEND = (_Op.FMSUB, _Op.FNMADD, _Op.SUB)


def _summed(
    op: MultiFpuOp, operands: dict[str, Operand], minus: Bools
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the exact result rounded to odd, and whether the operation is invalid."""
    a = operands["a"]
    read, product = [a], a.numbers
    invalid = np.zeros(len(product), np.bool_)
    with np.errstate(invalid="ignore"):
        if op not in (_Op.ADD, _Op.SUB, _Op.CONVERT):
            b = operands["b"]
            read.append(b)
            product = a.numbers * b.numbers
            invalid = np.isnan(product) & ~(a.nan | b.nan)
        if op in _NEGATED_PRODUCT:
            product = -product
        total = product
        if op not in (_Op.MUL, _Op.CONVERT):
            c = operands["c"]
            read.append(c)
            addend = -c.numbers if op in _NEGATED_ADDEND else c.numbers
            total = _odd_sum(product, addend, minus)
            invalid |= np.isnan(total) & ~(np.isnan(product) | c.nan)
    return total, invalid | np.logical_or.reduce([operand.signaling for operand in read])


def _odd_sum(x: NDArray[np.float64], y: NDArray[np.float64], minus: Bools) -> NDArray[np.float64]:
    # Where `minus` is set, x + (-x) gives -0.
    total = odd_sum(x, y)
    both_positive = ~(np.signbit(x) | np.signbit(y)) & (x == 0) & (y == 0)
    return np.where(minus & (total == 0) & ~both_positive, -0.0, total)


# --- signs, order, classes ------------------------------------------------------------------------------------------


def _injected(op: MultiFpuOp, a: Operand, c: Operand) -> Codes:
    bits = c.codes & c.sign
    if op is _Op.SGNJN:
        bits = bits ^ a.sign
    if op is _Op.SGNJX:
        bits = bits ^ (a.codes & a.sign)
    return _without_needless_sign(a, (a.codes & ~a.sign) | bits)


def _without_needless_sign(x: Operand, codes: Codes) -> Codes:
    codes = np.where(x.one_zero & (x.numbers == 0), np.uint32(0), codes)
    return np.where(x.one_nan & x.nan, x.nan_code, codes)


def _extremum(op: MultiFpuOp, a: Operand, c: Operand) -> tuple[Codes, NDArray[np.uint8]]:
    # If one operand is NaN, the other operand is the result. -0 is less than +0.
    before = (a.numbers < c.numbers) | ((a.numbers == c.numbers) & np.signbit(a.numbers))
    takes_a = ~a.nan & (c.nan | (before if op is _Op.MIN else ~before))
    codes = np.where(takes_a, _without_needless_sign(a, a.codes), _without_needless_sign(c, c.codes))
    codes = np.where(a.nan & c.nan, a.nan_code, codes)
    return codes, np.where(a.signaling | c.signaling, Flags.INVALID, 0).astype(np.uint8)


def _compared(op: MultiFpuOp, a: Operand, c: Operand) -> tuple[Codes, NDArray[np.uint8]]:
    if op in (_Op.EQ, _Op.EQ_SIGNALING):
        truth = a.numbers == c.numbers
    else:
        truth = a.numbers < c.numbers if op in (_Op.LT, _Op.LT_QUIET) else a.numbers <= c.numbers
    invalid = a.nan | c.nan if op in SIGNALING else a.signaling | c.signaling
    return truth.astype(np.uint32), np.where(invalid, Flags.INVALID, 0).astype(np.uint8)


def _classified(a: Operand) -> Codes:
    """Return class masks as the RISC-V instruction `fclass` does."""
    magnitude = np.abs(a.numbers)
    # Bits 0 to 9 are -inf, -normal, -subnormal, -0, +0, +subnormal, +normal, +inf, signalling NaN and quiet NaN.
    rank = np.select([magnitude == 0, magnitude < a.normal, np.isinf(magnitude)], [0, 1, 3], 2)
    place = np.where(np.signbit(a.numbers), 3 - rank, 4 + rank)
    place = np.where(a.nan, np.where(a.signaling, 8, 9), place)
    return np.uint32(1) << place.astype(np.uint32)
