"""Reference results of a multi-format FPU in exact fractions (IEEE 754-2019 and RISC-V)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from fp9.formats import FixedFormat, Kind, Specials, floor_log2, pow2
from fp9.formats.rounding import Flags, Rounding
from fp9.oracle import casts
from fp9.oracle.casts import Exact
from fp9.oracle.terms import product, total
from fp9.reference.choices import Row, chosen, signed
from fp9.reference.operations import hybrid_bits
from fp9.units import SCALE_BITS
from fp9.units.multi_fpu import DOTS, ROUNDED
from fp9.units.multi_fpu import MultiFpuOp as Op

if TYPE_CHECKING:
    from fp9.formats import Format
    from fp9.formats.policy import CastPolicy
    from fp9.units.multi_fpu import MultiFpu

_LANE = 8
_ROOT_BITS = 64
"""Fraction bits of a square root before it is rounded."""

_SIGNS = {  # whether the product and the addend are negated
    Op.FMADD: (False, False),
    Op.FMSUB: (False, True),
    Op.FNMSUB: (True, False),
    Op.FNMADD: (True, True),
    Op.ADD: (False, False),
    Op.SUB: (False, True),
}


def multi_fpu(unit: MultiFpu, rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        width = chosen((0, *unit.lane_widths), row, "vector")
        code, flags = _lanes(unit, row, width) if width else _compute(unit, _with_random(unit, row, 0))
        values = {"result": code, "flags": int(flags), "result_tag": row.get("tag", 0)}
        yield {port.name: values[port.name] for port in unit.outputs}


def _lanes(unit: MultiFpu, row: Row, width: int) -> tuple[int, Flags]:
    result, flags = 0, Flags(0)
    lows, mask = [low for low, _ in unit.lane_places], (1 << width) - 1
    for low in range(0, unit.word, width):
        codes = {name: row[name] >> low & mask for name in "abc" if name in row}
        code, raised = _compute(unit.lane_units[width], _with_random(unit, row, lows.index(low)) | codes)
        result, flags = result | (code & mask) << low, flags | raised
    return result, flags


def _with_random(unit: MultiFpu, row: Row, lane: int) -> Row:
    return row | {"random": row[unit.random_ports[lane]]} if unit.random_width else row


class _Number:
    """Operand of a multi-format FPU in one operation: its format, code and exact number."""

    def __init__(self, unit: MultiFpu, code: int, fmt: Format) -> None:
        self.fmt, ones = fmt, (1 << fmt.bits) - 1
        unboxed = unit.nan_boxing and code | ones != (1 << unit.word) - 1
        self.code = fmt.nan_code(False) or 0 if unboxed else code & ones
        self.exact = casts.decode(self.code, fmt)

    @property
    def is_nan(self) -> bool:
        return self.exact.kind is Kind.NAN

    @property
    def signals(self) -> bool:
        # The first payload bit of a signalling NaN is 0.
        has_payload = isinstance(self.fmt, FixedFormat) and self.fmt.specials is Specials.IEEE
        return self.is_nan and has_payload and self.exact.magnitude * 2 < 1

    @property
    def order(self) -> tuple[int, object, bool]:
        infinite = self.exact.kind is Kind.INF
        side = (-1 if self.exact.negative else 1) if infinite else 0
        return side, 0 if infinite else self.exact.value, not self.exact.negative


def _compute(unit: MultiFpu, row: Row) -> tuple[int, Flags]:
    op: Op = chosen(unit.operations, row, "op")
    in_format_of_a = op in (Op.SGNJ, Op.SGNJN, Op.SGNJX, Op.MIN, Op.MAX)
    formats = {name: chosen(unit.formats, row, unit.format_port(name)) for name in ("a", "b", "c", "result")}
    if in_format_of_a:
        formats["c"] = formats["result"] = formats["a"]
    x = {name: _Number(unit, row[name], formats[name]) for name in "abc" if name in row}
    if op is Op.TO_INTEGER:
        return _to_integer(unit, row, x["a"])
    if op in DOTS:
        code, flags = _dot(unit, row, op, x, formats["result"])
    elif op in (Op.DIV, Op.SQRT):
        code, flags = _divided(unit, row, op, x, formats["result"])
    elif op in ROUNDED:
        code, flags = _arithmetic(unit, row, op, x, formats["result"])
    elif op is Op.CLASSIFY:
        return 1 << _class_of(x["a"]) & ((1 << unit.word) - 1), Flags(0)
    elif in_format_of_a:
        chosen_by = _extremum if op in (Op.MIN, Op.MAX) else _with_sign
        code, flags = chosen_by(op, x["a"], x["c"])
    else:
        return _truth(op, x["a"], x["c"])
    boxes = (1 << unit.word) - (1 << formats["result"].bits) if unit.nan_boxing else 0
    return code | boxes, flags


def _rounding(
    unit: MultiFpu, row: Row, op: Op, a: _Number, result: Format
) -> tuple[CastPolicy, casts.RandomBits | casts.HybridBits | None]:
    """Return the cast policy, and the random bits or hybrid threshold that the rounding mode needs."""
    rounding, overflow = chosen(unit.roundings, row, "rounding"), chosen(unit.overflow, row, "overflow")
    if rounding.needs_bits:
        return unit.policy(result, rounding, overflow), casts.RandomBits(row["random"], unit.random_bits)
    if not rounding.reads_source:
        return unit.policy(result, rounding, overflow), None
    if unit.reads_source(op, a.fmt, result):
        return unit.policy(result, rounding, overflow), hybrid_bits(a.code, a.fmt)
    return unit.policy(result, Rounding.RNA, overflow), None


def _arithmetic(unit: MultiFpu, row: Row, op: Op, x: dict[str, _Number], result: Format) -> tuple[int, Flags]:
    # The product 0 x infinity is invalid even if the addend is a quiet NaN (RISC-V, F extension).
    read, value = [x["a"]], x["a"].exact
    if op is Op.FROM_INTEGER:
        read, value = [], _integer(unit, row)
    elif op is Op.CONVERT and unit.scale and value.kind is Kind.FINITE:
        value = replace(value, magnitude=value.magnitude * pow2(signed(row["scale"], SCALE_BITS)))
    elif op not in (Op.ADD, Op.SUB, Op.CONVERT):
        read.append(x["b"])
        value = product(value, x["b"].exact)
    invalid = value.kind is Kind.NAN and not any(each.is_nan for each in read)
    if op in _SIGNS:
        of_product, of_addend = _SIGNS[op]
        read.append(x["c"])
        terms = [_negated(value, of_product), _negated(x["c"].exact, of_addend)]
        value = total(terms, chosen(unit.roundings, row, "rounding"))
        invalid |= value.kind is Kind.NAN and all(term.kind is not Kind.NAN for term in terms)
    invalid |= any(each.signals for each in read)
    code, flags = _encoded(unit, value, result, *_rounding(unit, row, op, x["a"], result))
    return code, Flags.INVALID if invalid else flags


def _encoded(
    unit: MultiFpu,
    value: Exact,
    result: Format,
    policy: CastPolicy,
    bits: casts.RandomBits | casts.HybridBits | None,
) -> tuple[int, Flags]:
    code, flags = casts.encode(Exact(Kind.NAN) if value.kind is Kind.NAN else value, result, policy, bits)
    below_normal = value.kind is Kind.FINITE and value.magnitude < pow2(result.min_normal_exponent)
    if unit.tiny_before_rounding and below_normal and Flags.INEXACT in flags:
        flags |= Flags.UNDERFLOW
    return code, flags


def _dot(unit: MultiFpu, row: Row, op: Op, x: dict[str, _Number], result: Format) -> tuple[int, Flags]:
    c = x["c"]
    formats = [chosen(unit.narrow, row, unit.format_port(name)) for name in "ab"]
    terms, read, invalid = [c.exact], [c], False
    for shift in range(0, DOTS[op] * _LANE, _LANE):
        a, b = (_Number(unit.narrow_unit, row[name] >> shift, fmt) for name, fmt in zip("ab", formats, strict=True))
        terms.append(product(a.exact, b.exact))
        read += [a, b]
        invalid |= terms[-1].kind is Kind.NAN and not (a.is_nan or b.is_nan)
    value = total(terms, chosen(unit.roundings, row, "rounding"))
    invalid |= value.kind is Kind.NAN and all(term.kind is not Kind.NAN for term in terms)
    invalid |= any(each.signals for each in read)
    code, flags = _encoded(unit, value, result, *_rounding(unit, row, op, x["a"], result))
    return code, Flags.INVALID if invalid else flags


def _divided(unit: MultiFpu, row: Row, op: Op, x: dict[str, _Number], result: Format) -> tuple[int, Flags]:
    a, b = x["a"], x["b"] if op is Op.DIV else None
    read = [a] if b is None else [a, b]
    value = _root(a.exact) if b is None else _quotient(a.exact, b.exact)
    code, flags = _encoded(unit, value, result, *_rounding(unit, row, op, a, result))
    if any(each.signals for each in read) or (value.kind is Kind.NAN and not any(each.is_nan for each in read)):
        return code, Flags.INVALID
    if b is not None and b.exact.kind is Kind.ZERO and a.exact.kind is Kind.FINITE:
        return code, Flags.DIVIDE_BY_ZERO
    return code, flags


def _quotient(a: Exact, b: Exact) -> Exact:
    negative = a.negative != b.negative
    if Kind.NAN in (a.kind, b.kind) or (a.kind is b.kind and a.kind in (Kind.ZERO, Kind.INF)):
        return Exact(Kind.NAN)
    if a.kind is Kind.INF or b.kind is Kind.ZERO:
        return Exact(Kind.INF, negative)
    if a.kind is Kind.ZERO or b.kind is Kind.INF:
        return Exact(Kind.ZERO, negative)
    return Exact(Kind.FINITE, negative, a.magnitude / b.magnitude)


def _root(a: Exact) -> Exact:
    # An irrational square root is replaced by a nearby fraction, which gives the same rounded result.
    if a.kind is Kind.NAN or (a.negative and a.kind is not Kind.ZERO):
        return Exact(Kind.NAN)
    if a.kind is not Kind.FINITE:
        return a
    places = _ROOT_BITS + max(0, -floor_log2(a.magnitude))  # a small number has a small root
    square = a.magnitude * 4**places
    root = math.isqrt(square.numerator // square.denominator)
    exact = Fraction(root) if root * root == square else root + Fraction(1, 2)
    return Exact(Kind.FINITE, False, exact / 2**places)


def _integer(unit: MultiFpu, row: Row) -> Exact:
    integer = chosen(unit.integers, row, "integer_format")
    bits = row["a"] & ((1 << integer.bits) - 1)
    return casts.exact(signed(bits, integer.bits) if integer.signed else bits)


def _to_integer(unit: MultiFpu, row: Row, a: _Number) -> tuple[int, Flags]:
    # NaN becomes the highest integer (RISC-V, F extension).
    integer, x, mask = chosen(unit.integers, row, "integer_format"), a.exact, (1 << unit.word) - 1
    if x.kind is Kind.NAN:
        return integer.highest & mask, Flags.INVALID
    if x.kind is Kind.INF:
        return (integer.lowest if x.negative else integer.highest) & mask, Flags.INVALID
    rounding = chosen(unit.roundings, row, "rounding")
    random = Fraction(row["random"], 1 << unit.random_bits) if rounding.needs_bits else Fraction(0)
    whole = _whole(x.value, rounding, random)
    if not integer.lowest <= whole <= integer.highest:
        return (integer.lowest if x.negative else integer.highest) & mask, Flags.INVALID
    return whole & mask, Flags(0) if whole == x.value else Flags.INEXACT


def _whole(value: Fraction, rounding: Rounding, random: Fraction) -> int:
    # Stochastic rounding adds `random` to the magnitude.
    below, above = math.floor(value), math.ceil(value)
    toward_zero, away = (below, above) if value > 0 else (above, below)
    match rounding:
        case Rounding.RNE:
            return round(value)
        case Rounding.SR:
            return away if abs(value - toward_zero) + random >= 1 else toward_zero
        case Rounding.RNA | Rounding.HYBRID:
            return away if abs(value - toward_zero) >= Fraction(1, 2) else toward_zero
        case Rounding.RTO:
            return below if below & 1 else above
        case Rounding.RDN:
            return below
        case Rounding.RUP:
            return above
    return toward_zero


def _negated(value: Exact, negate: bool) -> Exact:
    return replace(value, negative=not value.negative) if negate else value


def _with_sign(op: Op, a: _Number, c: _Number) -> tuple[int, Flags]:
    sign = 1 << (a.fmt.bits - 1)
    if a.exact.kind is Kind.ZERO and not a.fmt.signed_zero:
        return 0, Flags(0)
    nan = a.fmt.nan_code(False)
    if a.is_nan and nan is not None and a.fmt.nan_code(True) == nan:
        return nan, Flags(0)
    bit = {Op.SGNJ: c.code, Op.SGNJN: ~c.code, Op.SGNJX: a.code ^ c.code}[op] & sign
    return a.code & (sign - 1) | bit, Flags(0)


def _extremum(op: Op, a: _Number, c: _Number) -> tuple[int, Flags]:
    numbers = [x for x in (a, c) if not x.is_nan]
    flags = Flags.INVALID if a.signals or c.signals else Flags(0)
    if not numbers:
        return a.fmt.nan_code(False) or 0, flags
    found = sorted(numbers, key=lambda x: x.order)[0 if op is Op.MIN else -1]
    unsigned_zero = found.exact.kind is Kind.ZERO and not found.fmt.signed_zero
    return 0 if unsigned_zero else found.code, flags


def _truth(op: Op, a: _Number, c: _Number) -> tuple[int, Flags]:
    nan = a.is_nan or c.is_nan
    loud = nan and op in (Op.LT, Op.LE, Op.EQ_SIGNALING)
    flags = Flags.INVALID if loud or a.signals or c.signals else Flags(0)
    if nan:
        return 0, flags
    less, equal = a.order[:2] < c.order[:2], a.order[:2] == c.order[:2]
    if op in (Op.EQ, Op.EQ_SIGNALING):
        return int(equal), flags
    return int(less or (equal and op in (Op.LE, Op.LE_QUIET))), flags


def _class_of(a: _Number) -> int:
    x = a.exact
    match x.kind:
        case Kind.NAN:
            return 8 if a.signals else 9
        case Kind.INF:
            away = 3
        case Kind.ZERO:
            away = 0
        case _:
            away = 2 if x.magnitude >= pow2(a.fmt.min_normal_exponent) else 1
    return 3 - away if x.negative else 4 + away
