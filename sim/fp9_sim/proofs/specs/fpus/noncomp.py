"""Specification of the operations of a multi-format FPU that need no rounding, such as comparisons.

Each operand is converted to a key: an unsigned integer that is larger for operands of larger magnitude. Keys of
operands in different formats can also be compared with each other. A key consists of the exponent and the normalised
fraction of a number. The key of a zero is 0, and the key of an infinity is the integer whose bits are all 1. For
operands of at most 8 bits, a table from the oracle maps each code to its key. The circuit under proof compares two
operands by the sign of their exact difference.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from fractions import Fraction

from fp9.formats import FixedFormat, Format, Kind, floor_log2, pow2
from fp9.formats.rounding import FLAG_BITS, Flags
from fp9.oracle import casts as oracle
from fp9.units import FpuGroup, MultiFpu, MultiFpuOp
from fp9.units.multi_fpu import CLASS_BITS, COMPARISONS, EXTREMA, GROUPS, NARROW_BITS, SIGNALING
from fp9_sim.proofs.miter import Case
from fp9_sim.proofs.specs.fpus.operand import Split, boxes, code, in_formats, selecting, signals, specification, splits

PROVES = (
    "result and flags of comparisons, minimum, maximum, sign injection and classification equal the order and the "
    "classes of the exact operands, for all operands of every format and every pair of formats, in each lane"
)

ASSUMES: tuple[str, ...] = ()

GROUP = FpuGroup.NONCOMP

_Op = MultiFpuOp
_INJECTIONS = {
    _Op.SGNJ: "c_code[{0}]",
    _Op.SGNJN: "!c_code[{0}]",
    _Op.SGNJX: "a_code[{0}] ^ c_code[{0}]",
}


def is_offered(unit: MultiFpu) -> bool:
    return GROUP in unit.groups


def cases(unit: MultiFpu) -> Iterator[Case]:
    for split in splits(unit):
        offered = split.lane.formats
        for op, a, c in itertools.product(GROUPS[GROUP], offered, offered):
            if op in COMPARISONS or a is c:  # other operations read both operands in the format of a
                yield _case(split, op, a, c)


def _case(split: Split, op: MultiFpuOp, a: Format, c: Format) -> Case:
    formats = {"a": a, "c": c} if op in COMPARISONS else {"a": a}
    fixed, condition = selecting(split, op, in_formats(split.lane, formats))
    lane = functools.partial(_lane, split.lane, op, a, c)
    right, wrong = (specification(split, a, condition, lane, broken) for broken in (False, True))
    names = " and ".join(fmt.name for fmt in formats.values())
    return Case(f"{op.value} of {names}{split.label}", fixed, right, wrong)


def _lane(lane: MultiFpu, op: MultiFpuOp, a: Format, c: Format, low: int) -> list[str]:
    lines = [*_operand(lane, "a", a, low)]
    if op is not _Op.CLASSIFY:
        lines += _operand(lane, "c", c, low)
        lines += [
            "  wire nan = a_nan || c_nan, both_zero = a_key == 0 && c_key == 0;",
            "  wire equal = a_key == c_key && (a_negative == c_negative || both_zero);",
            "  wire less = !equal && (a_negative != c_negative ? a_negative",
            "    : a_negative ? a_key > c_key : a_key < c_key);",
        ]
    value, invalid = _result(op, a)
    above = 0 if op in _PLAIN else boxes(lane, a)
    return [
        *lines,
        f"  wire [{max(lane.word, CLASS_BITS) - 1}:0] value = ({value}) | {lane.word}'d{above};",
        f"  wire [{lane.word - 1}:0] code = value[{lane.word - 1}:0];",
        f"  wire [{FLAG_BITS - 1}:0] raised = {invalid} ? {int(Flags.INVALID)} : 0;",
    ]


_PLAIN = (*COMPARISONS, _Op.CLASSIFY)
"""Operations whose result is no number."""


def _result(op: MultiFpuOp, fmt: Format) -> tuple[str, str]:
    """Return Verilog expressions for the result of an operation and for the flag `invalid`."""
    signals = "a_signals || c_signals"
    if op in COMPARISONS:
        holds = "equal" if op in (_Op.EQ, _Op.EQ_SIGNALING) else "less"
        holds += " || equal" if op in (_Op.LE, _Op.LE_QUIET) else ""
        return f"!nan && ({holds})", "nan" if op in SIGNALING else signals
    if op in EXTREMA:
        first = "less || equal && a_negative" if op is _Op.MIN else "!less && !(equal && a_negative)"
        nan = f"{fmt.bits}'d{fmt.nan_code(False) or 0}"
        return f"a_nan && c_nan ? {nan} : c_nan || !a_nan && ({first}) ? a_plain : c_plain", signals
    if op is _Op.CLASSIFY:
        away = "a_nan ? (a_signals ? 8 : 9) : a_negative ? 3 - a_away : 4 + a_away"
        return f"{CLASS_BITS}'d1 << ({away})", "1'b0"
    top = fmt.bits - 1
    kept = [] if fmt.signed_zero else ["a_key == 0 && !a_nan"]
    kept += ["a_nan"] if fmt.has_nan and fmt.nan_code(True) == fmt.nan_code(False) else []
    injected = f"{{{_INJECTIONS[op].format(top)}, a_code[{top - 1}:0]}}"
    return (f"{' || '.join(kept)} ? a_plain : {injected}" if kept else injected), "1'b0"


# --- operands ---------------------------------------------------------------------------------------------------------


def _operand(lane: MultiFpu, name: str, fmt: Format, low: int) -> Iterator[str]:
    """Yield Verilog wires for the operand at input port `name`: code, number class, and a key for comparisons."""
    yield code(lane, name, fmt, low)
    keys = _Keys(lane)
    if isinstance(fmt, FixedFormat) and fmt.bits > NARROW_BITS:
        yield from keys.fields(name, fmt)
    else:
        yield from keys.table(name, fmt)
    yield f"  wire {name}_negative = {name}_code[{fmt.bits - 1}] && ({name}_key != 0 || {int(fmt.signed_zero)});"
    yield f"  wire {name}_signals = {signals(name, fmt)};"
    lowest = keys.of(pow2(fmt.min_normal_exponent))
    # The wire `NAME_away` is 0 for zero, 1 for subnormal numbers, 2 for normal numbers, and 3 for infinities.
    yield f"  wire [1:0] {name}_away = {name}_key == 0 ? 0 : &{name}_key ? 3 : {name}_key < {lowest} ? 1 : 2;"
    # In formats without signed zeros or signed NaNs, the canonical code replaces every code of zero or NaN.
    yield f"  wire [{fmt.bits - 1}:0] {name}_plain = {_plain(name, fmt)};"


def _plain(name: str, fmt: Format) -> str:
    plain = f"{name}_code"
    if not fmt.signed_zero:
        plain = f"{name}_key == 0 ? {fmt.bits}'d0 : {plain}"
    if fmt.has_nan and fmt.nan_code(True) == fmt.nan_code(False):
        plain = f"{name}_nan ? {fmt.bits}'d{fmt.nan_code(False)} : {plain}"
    return plain


class _Keys:
    """Keys of operands: unsigned integers that are larger for operands of larger magnitude, also across formats."""

    def __init__(self, unit: MultiFpu) -> None:
        self._lowest = min(floor_log2(fmt.value_of(fmt.smallest_code)) for fmt in unit.formats) - 1
        self._fraction = max(fmt.precision for fmt in unit.formats) - 1
        exponents = max(floor_log2(fmt.max_magnitude) for fmt in unit.formats) - self._lowest
        self.width = (exponents + 1).bit_length() + self._fraction

    def of(self, magnitude: Fraction) -> int:
        exponent = floor_log2(magnitude)
        return int((exponent - self._lowest - 1 + magnitude / pow2(exponent)) * 2**self._fraction)

    def table(self, name: str, fmt: Format) -> Iterator[str]:
        # The top bit of a table row is 1 if the operand is NaN. The other bits of the row are the operand's key.
        infinity = (1 << self.width) - 1
        yield f"  reg [{self.width}:0] {name}_row;"
        yield f"  always @* case ({name}_code)"
        for row in range(1 << fmt.bits):
            number = oracle.decode(row, fmt)
            key = self.of(number.magnitude) if number.kind is Kind.FINITE else infinity * (number.kind is Kind.INF)
            yield f"    {row}: {name}_row = {self.width + 1}'d{(number.kind is Kind.NAN) << self.width | key};"
        yield "  endcase"
        yield f"  wire {name}_nan = {name}_row[{self.width}];"
        yield f"  wire [{self.width - 1}:0] {name}_key = {name}_row[{self.width - 1}:0];"

    def fields(self, name: str, fmt: FixedFormat) -> Iterator[str]:
        p, width, infinity = fmt.fraction_bits, self.width, fmt.inf_code(False)
        yield f"  wire [{fmt.bits - 2}:0] {name}_ordinal = {name}_code[{fmt.bits - 2}:0];"
        yield f"  wire [{p - 1}:0] {name}_fraction = {name}_code[{p - 1}:0];"
        yield f"  wire {name}_inf = {f'{name}_ordinal == {infinity}' if infinity else 0};"
        yield f"  wire {name}_nan = {name}_ordinal > {fmt.max_code} && !{name}_inf;"
        steps = self._fraction - p
        first = self.of(pow2(fmt.min_normal_exponent)) - (fmt.subnormals << self._fraction)
        yield f"  wire [{width - 1}:0] {name}_normal = ({{{width}'d0, {name}_ordinal}} << {steps}) + {first};"
        yield f"  wire [{width - 1}:0] {name}_subnormal = "
        for place in reversed(range(p)):
            key = self.of(pow2(fmt.min_normal_exponent - p + place)) - (1 << self._fraction)
            yield f"    {name}_fraction[{place}] ? ({{{width}'d0, {name}_fraction}} << {p - place + steps}) + {key} :"
        yield "    0;"
        small = f"{name}_ordinal[{fmt.bits - 2}:{p}] == 0" if fmt.subnormals else f"{name}_ordinal == 0"
        number = f"{small} ? {name}_subnormal : {name}_normal" if fmt.subnormals else f"{small} ? 0 : {name}_normal"
        yield f"  wire [{width - 1}:0] {name}_key = {name}_inf ? ~{width}'d0 : {name}_nan ? 0 : {number};"
