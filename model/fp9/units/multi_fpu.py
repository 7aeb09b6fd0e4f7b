"""Specification of the `multi_fpu` unit, a floating-point unit for several formats."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import ClassVar, NamedTuple

from fp9.engines import check_exponents
from fp9.formats import FixedFormat, Format, HiFloat8, Specials
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import NanSign, Overflow, Rounding
from fp9.units.base import FLAGS_PORT, Port, Unit, check_offers, check_shared, format_tuple, select_width, value_words
from fp9.units.cast import MAX_RANDOM_BITS, SCALE_BITS, Cast
from fp9.units.clocking import OMIT_IF_DEFAULT, Handshake

# Largest width of a narrow format, and width of a lane.
NARROW_BITS = 8

# Number of bits of a class mask (RISC-V unprivileged specification, FCLASS).
CLASS_BITS = 10


class FpuGroup(Enum):
    """Group of FPU operations. A specification includes all operations of a group, or none."""

    ADDMUL = "addmul"
    """fused multiply-add with four sign variants, addition, subtraction, multiplication"""
    CONV = "conv"
    """conversion from every format to every other format"""
    NONCOMP = "noncomp"
    """sign injection, minimum, maximum, comparison, classification"""
    INTCONV = "intconv"
    """conversion to integers and from integers"""
    DIVSQRT = "divsqrt"
    """division and square root"""
    DOT = "dot"
    """exact dot products of narrow operands, with addend; last, as lanes have the numbers of all other operations"""


class Division(Enum):
    """Circuit for division and square root."""

    ARRAY = "array"
    """an array with one row of subtractors for each bit of the result; one result per clock cycle"""
    ITERATIVE = "iterative"
    """few rows, which compute the result in several clock cycles; the unit accepts no operation meanwhile"""


class Integer(NamedTuple):
    """An integer format in two's complement, signed or unsigned."""

    bits: int
    signed: bool

    @property
    def name(self) -> str:
        return f"{'int' if self.signed else 'uint'}{self.bits}"

    @property
    def lowest(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << self.bits - self.signed) - 1


INTEGERS = tuple(Integer(bits, signed) for bits in (8, 16, 32) for signed in (True, False))


class MultiFpuOp(Enum):
    """Operations of a `multi_fpu` unit.

    The value of each enumeration member, such as "fmadd", names one operation that the input port `op` selects.
    """

    FMADD = "fmadd"
    """result = round(a * b + c)"""
    FMSUB = "fmsub"
    """result = round(a * b - c)"""
    FNMSUB = "fnmsub"
    """result = round(-(a * b) + c)"""
    FNMADD = "fnmadd"
    """result = round(-(a * b) - c)"""
    ADD = "add"
    """result = round(a + c)"""
    SUB = "sub"
    """result = round(a - c)"""
    MUL = "mul"
    """result = round(a * b)"""
    CONVERT = "convert"
    """result = round(a)"""
    SGNJ = "sgnj"
    """result = a with the sign of c"""
    SGNJN = "sgnjn"
    """result = a with the inverted sign of c"""
    SGNJX = "sgnjx"
    """result = a with the exclusive OR of both signs"""
    MIN = "min"
    """result = minimumNumber(a, c), IEEE 754-2019 section 9.6"""
    MAX = "max"
    """result = maximumNumber(a, c), IEEE 754-2019 section 9.6"""
    EQ = "eq"
    """result = 1 where a = c, else 0; only a signalling NaN raises `invalid`"""
    LT = "lt"
    """result = 1 where a < c, else 0; any NaN raises `invalid`"""
    LE = "le"
    """result = 1 where a <= c, else 0; any NaN raises `invalid`"""
    EQ_SIGNALING = "eq_signaling"
    """as `eq`, but any NaN raises `invalid`"""
    LT_QUIET = "lt_quiet"
    """as `lt`, but only a signalling NaN raises `invalid`"""
    LE_QUIET = "le_quiet"
    """as `le`, but only a signalling NaN raises `invalid`"""
    CLASSIFY = "classify"
    """result = the class mask of a (RISC-V FCLASS)"""
    TO_INTEGER = "to_integer"
    """result = a, rounded to an integer; the nearest limit and `invalid` beyond the integer format"""
    FROM_INTEGER = "from_integer"
    """result = round(the integer in a)"""
    DOT2 = "dot2"
    """result = round(a0 * b0 + a1 * b1 + c), for the narrow operands in the low 16 bits of a and b"""
    DOT4 = "dot4"
    """result = round(a0 * b0 + ... + a3 * b3 + c), for the narrow operands in the 32 bits of a and b"""
    DIV = "div"
    """result = round(a / b)"""
    SQRT = "sqrt"
    """result = round(square root of a)"""


_O = MultiFpuOp

SIGN_INJECTIONS = (_O.SGNJ, _O.SGNJN, _O.SGNJX)
EXTREMA = (_O.MIN, _O.MAX)
COMPARISONS = (_O.EQ, _O.LT, _O.LE, _O.EQ_SIGNALING, _O.LT_QUIET, _O.LE_QUIET)
SIGNALING = (_O.LT, _O.LE, _O.EQ_SIGNALING)
"""Comparisons for which every NaN raises `invalid`."""
DOTS = {_O.DOT2: 2, _O.DOT4: 4}
"""Number of products of each dot product operation."""
PRODUCTS = (_O.FMADD, _O.FMSUB, _O.FNMSUB, _O.FNMADD, _O.MUL)
"""Operations with one product of two operands."""
PAIRS = (*PRODUCTS, _O.DIV)
"""Operations that read one operand a and one operand b."""
SINGLES = (_O.MUL, _O.CONVERT, _O.CLASSIFY, _O.TO_INTEGER, _O.FROM_INTEGER, _O.DIV, _O.SQRT)
"""Operations that do not read the operand c."""
ROUNDED = (*PAIRS, *DOTS, _O.ADD, _O.SUB, _O.CONVERT, _O.FROM_INTEGER, _O.SQRT)
"""Operations whose result is a number, rounded to the selected format."""

GROUPS: dict[FpuGroup, tuple[MultiFpuOp, ...]] = {
    FpuGroup.ADDMUL: (_O.FMADD, _O.FMSUB, _O.FNMSUB, _O.FNMADD, _O.ADD, _O.SUB, _O.MUL),
    FpuGroup.CONV: (_O.CONVERT,),
    FpuGroup.NONCOMP: (*SIGN_INJECTIONS, *EXTREMA, *COMPARISONS, _O.CLASSIFY),
    FpuGroup.INTCONV: (_O.TO_INTEGER, _O.FROM_INTEGER),
    FpuGroup.DIVSQRT: (_O.DIV, _O.SQRT),
    FpuGroup.DOT: tuple(DOTS),
}
"""Operations of each group, in the order of their operation codes."""


class ResultCast(Cast):
    """Internal cast unit of a `multi_fpu` unit: rounds an exact sum to the selected result format."""

    def _check_targets(self) -> None:
        """Accept every target format, because `MultiFpu` has already checked the formats."""


@dataclass(frozen=True)
class MultiFpu(Unit):
    """Specification of an FPU for several formats: arithmetic, conversions and comparisons in one datapath.

    Every operation rounds once. The ports `a_format`, `b_format`, `c_format` and `result_format` select the formats of
    the operands a, b and c and of the result. If the field `mixed` is false, the port `source_format` selects the
    format of a and b, and the port `result_format` selects the format of c and of the result. The operations for sign
    injection, minimum and maximum use the format of operand a for operand c and for the result. A code that is narrower
    than its port occupies the low bits of the port. All bits above a result are 0.

    With the group `intconv`, the port `integer_format` selects the format of an integer operand or result. An integer
    operand occupies the low bits of port a. A signed integer result is sign-extended to the width of the result port,
    and an unsigned integer result is zero-extended.

    The operations of the group `dot` add products of operands of at most 8 bits exactly, and round once. For dot
    products, the ports `a_format` and `b_format` select formats of at most 8 bits. A dot product uses only the unit's
    `formats` of at most 8 bits. A select value that is too large selects the last one. The operation `dot4` needs a
    word of 32 bits.

    The group `divsqrt` needs formats of at most 16 bits. Division by zero raises only the flag `divide_by_zero`. The
    result of a division by zero is infinity, or the value by which the overflow policy replaces infinity. With
    `division` = `iterative`, a division or square root occupies the unit for several clock cycles. The result format of
    a division determines how many clock cycles the division takes.

    The field `overflow` lists overflow policies for results of at most 8 bits, and the port `overflow` selects a
    policy. For results of at least 16 bits, the unit handles overflow as IEEE 754-2019 section 7.4 specifies. With
    `wide_overflow`, the port `overflow` selects the policy for results of every width. Results in formats without NaN
    saturate. A NaN result in a format without NaN becomes 0 and raises `invalid`. Other NaN results are canonical and
    positive. In formats with the special codes of IEEE 754, a NaN is signalling if its first fraction bit is 0.

    With `lanes`, the port `vector` selects an operation on the whole word or an operation in each 8-bit lane. A flag is
    set if any lane raises the flag. With `half_lanes`, a 32-bit word also has two 16-bit lanes for formats of at most
    16 bits. If a unit has lanes of both widths, the port `vector` is 1 for 8-bit lanes and 2 for 16-bit lanes.

    With `nan_boxing`, a code narrower than the word counts as NaN unless all bits above the code are 1, as in RISC-V.
    With `nan_boxing`, all bits above a narrow result are 1.

    For the stochastic rounding mode `sr`, each lane has an input port `random` of `random_bits` bits. The unit adds the
    random bits to the bits below the last bit of the result. The rounding `hybrid` applies to conversions from FP32,
    FP16 or BF16 to HiFloat8. In all other operations, `hybrid` means `rna`.

    With `scale`, the operation `convert` multiplies its operand by 2^scale exactly before the single rounding. The port
    `scale` is a signed number. NaN and infinities are not scaled.

    The field `tag` is the number of bits that pass unchanged from the port `tag` to the port `result_tag`.

    With `tiny_before_rounding`, an inexact result raises `underflow` if its exact magnitude is below the smallest
    normal number. Without `tiny_before_rounding`, the unit rounds the exact value as if the exponent range were
    unbounded, and compares the rounded magnitude with the smallest normal number (IEEE 754-2019 section 7.5).
    """

    kind: ClassVar[str] = "multi_fpu"
    name: str
    formats: tuple[Format, ...]
    groups: tuple[FpuGroup, ...] = (FpuGroup.ADDMUL, FpuGroup.CONV, FpuGroup.NONCOMP)
    roundings: tuple[Rounding, ...] = (Rounding.RNE, Rounding.RTZ, Rounding.RDN, Rounding.RUP, Rounding.RNA)
    overflow: tuple[Overflow, ...] = (Overflow.SATURATE, Overflow.INF)
    mixed: bool = True
    flags: bool = True
    stages: int = 0
    lanes: int = field(default=1, metadata=OMIT_IF_DEFAULT)
    half_lanes: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    nan_boxing: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    tag: int = field(default=0, metadata=OMIT_IF_DEFAULT)
    tiny_before_rounding: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    scale: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    wide_overflow: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    random_bits: int = field(default=16, metadata=OMIT_IF_DEFAULT)
    division: Division = field(default=Division.ARRAY, kw_only=True, metadata=OMIT_IF_DEFAULT)

    def __post_init__(self) -> None:
        object.__setattr__(self, "formats", format_tuple(self.name, "formats", self.formats))
        for fmt in self.formats:
            self._check_format(fmt)
        check_offers(self.name, "groups", self.groups)
        check_offers(self.name, "roundings", self.roundings)
        check_offers(self.name, "overflow", self.overflow)
        self._check_roundings()
        for policy in self.overflow:
            if policy not in _POLICIES:
                offered = ", ".join(p.value for p in _POLICIES)
                raise ValueError(f"{self.name}: overflow={policy.value} given; give some of {offered}")
        if not 0 <= self.tag <= MAX_TAG:
            raise ValueError(f"{self.name}: tag={self.tag} given; give 0 to {MAX_TAG} bits")
        self._check_order()
        self._check_lanes()
        self._check_groups()
        self._check_division()

    def _check_roundings(self) -> None:
        for mode in self.roundings:
            if mode not in _ROUNDINGS:
                offered = ", ".join(other.value for other in _ROUNDINGS)
                raise ValueError(f"{self.name}: roundings={mode.value} given; give some of {offered}")
        if not 1 <= self.random_bits <= MAX_RANDOM_BITS:
            raise ValueError(f"{self.name}: random_bits={self.random_bits} given; give 1 to {MAX_RANDOM_BITS}")
        if self.random_width and FpuGroup.DIVSQRT in self.groups:
            raise ValueError(f"{self.name}: roundings=sr given with groups=divsqrt; give one of them")
        if Rounding.HYBRID not in self.roundings:
            return
        if FpuGroup.CONV not in self.groups:
            raise ValueError(f"{self.name}: roundings=hybrid given without the group conv; add conv to groups")
        if not self.hybrid_sources or not any(fmt.offers(Rounding.HYBRID) for fmt in self.formats):
            raise ValueError(
                f"{self.name}: roundings=hybrid given with formats={value_words(self.formats)}; give hif8, and fp32, "
                "fp16 or bf16"
            )

    def _check_format(self, fmt: Format) -> None:
        offered = isinstance(fmt, FixedFormat | HiFloat8) and fmt.signed and not fmt.padding
        narrow = fmt.bits <= NARROW_BITS
        wide = isinstance(fmt, FixedFormat) and fmt.bits >= 2 * NARROW_BITS and fmt.specials in _WIDE_SPECIALS
        if not offered or not (narrow or wide):
            raise ValueError(
                f"{self.name}: formats={fmt.name} given; give signed formats of at most 8 bits, and fp16, bf16, "
                "dlfloat16 or fp32"
            )
        check_exponents(f"{self.name}: formats=", fmt, "")

    def _check_order(self) -> None:
        # Wide formats come last, because lanes select among the first formats.
        widths = [fmt.bits for fmt in self.formats]
        if widths != sorted(widths):
            raise ValueError(f"{self.name}: formats={value_words(self.formats)} given; name narrower formats first")

    def _check_lanes(self) -> None:
        counts = sorted({1, self.word // NARROW_BITS if self.word % NARROW_BITS == 0 else 1})
        if self.lanes not in counts:
            raise ValueError(
                f"{self.name}: lanes={self.lanes} given for formats with a word of {self.word} bits; give "
                f"{' or '.join(map(str, counts))}"
            )
        if self.lanes != 1 and not self.narrow:
            raise ValueError(
                f"{self.name}: lanes={self.lanes} given without a narrow format; give one of at most 8 bits, or 1 lane"
            )
        if self.nan_boxing and not all(fmt.has_nan for fmt in self.formats):
            finite = next(fmt.name for fmt in self.formats if not fmt.has_nan)
            raise ValueError(f"{self.name}: nan_boxing=true given with formats={finite}; give formats with a NaN")
        if self.half_lanes and (
            self.word != 4 * NARROW_BITS or all(fmt.bits != 2 * NARROW_BITS for fmt in self.formats)
        ):
            raise ValueError(
                f"{self.name}: half_lanes=true given with formats={value_words(self.formats)}; give a format of 16 "
                "bits and one of 32 bits"
            )
        given = f"lanes={self.lanes}" if self.lanes != 1 else "half_lanes=true"
        if self.nan_boxing and self.lane_widths:
            raise ValueError(f"{self.name}: nan_boxing=true given with {given}; give one of them")
        if self.lane_widths and self.groups == (FpuGroup.DOT,):
            raise ValueError(f"{self.name}: {given} given with groups=dot alone; leave it out")

    def _check_groups(self) -> None:
        if FpuGroup.DOT in self.groups and (not self.narrow or self.word < 2 * NARROW_BITS):
            raise ValueError(
                f"{self.name}: groups=dot given with formats={value_words(self.formats)}; give a format of at most 8 "
                "bits and one of at least 16 bits"
            )
        if FpuGroup.DIVSQRT in self.groups and self.word > 2 * NARROW_BITS:
            raise ValueError(
                f"{self.name}: groups=divsqrt given with formats={value_words(self.formats)}; give formats of at most "
                "16 bits"
            )
        if self.scale and FpuGroup.CONV not in self.groups:
            raise ValueError(f"{self.name}: scale=true given without the group conv; add conv to groups")

    def _check_division(self) -> None:
        if self.division is not Division.ITERATIVE:
            check_shared(self)
            return
        given = f"division={self.division.value}"
        if FpuGroup.DIVSQRT not in self.groups:
            raise ValueError(f"{self.name}: {given} given without the group divsqrt; add divsqrt to groups")
        if self.handshake is not Handshake.READY:
            raise ValueError(f"{self.name}: {given} given with handshake={self.handshake.value}; give handshake=ready")
        # The divider has a register in front of the sum, and the last stage has a register behind it.
        check_shared(self, lowest=2, beside=given)

    @cached_property
    def word(self) -> int:
        return max(NARROW_BITS, *(fmt.bits for fmt in self.formats))

    @property
    def narrow(self) -> tuple[Format, ...]:
        return tuple(fmt for fmt in self.formats if fmt.bits <= NARROW_BITS)

    @property
    def random_width(self) -> int:
        """Return the number of random bits of an operation, or 0 without stochastic rounding."""
        return self.random_bits if Rounding.SR in self.roundings else 0

    @property
    def random_ports(self) -> tuple[str, ...]:
        lanes = range(len(self.lane_places) if self.random_width else 0)
        return ("random",) if len(lanes) == 1 else tuple(f"random{lane}" for lane in lanes)

    @property
    def lane_widths(self) -> tuple[int, ...]:
        # The values 1 and 2 of the port `vector` select these lane widths, in bits.
        return (*(NARROW_BITS for _ in range(self.lanes > 1)), *(2 * NARROW_BITS for _ in range(self.half_lanes)))

    @property
    def lane_places(self) -> tuple[tuple[int, int], ...]:
        """For the whole word and for each lane that starts above bit 0, return the lowest bit and the width in bits."""
        step = min((*self.lane_widths, self.word))
        widths = {
            low: [width for width in self.lane_widths if low % width == 0] for low in range(step, self.word, step)
        }
        return ((0, self.word), *((low, max(found)) for low, found in widths.items()))

    @property
    def hybrid_sources(self) -> tuple[FixedFormat, ...]:
        offered = self.formats if Rounding.HYBRID in self.roundings else ()
        return tuple(
            fmt for fmt in offered if isinstance(fmt, FixedFormat) and fmt.bits > NARROW_BITS and fmt.native_dtype
        )

    def reads_source(self, op: MultiFpuOp, source: Format, target: Format) -> bool:
        return op is _O.CONVERT and source in self.hybrid_sources and target.offers(Rounding.HYBRID)

    @cached_property
    def operations(self) -> tuple[MultiFpuOp, ...]:
        """Return the operations that the unit offers, in the order of their operation codes."""
        offered = (op for group in FpuGroup if group in self.groups for op in GROUPS[group])
        return tuple(op for op in offered if DOTS.get(op, 1) * NARROW_BITS <= self.word)

    @property
    def dot_products(self) -> int:
        """Return the largest number of products in a dot product, or 0 if the unit has no dot product."""
        return max((DOTS[op] for op in self.operations if op in DOTS), default=0)

    @property
    def division_rows(self) -> int:
        """Return the number of result bits that an iterative division computes in a clock cycle."""
        return max(-(-_quotient_bits(fmt) // _most_iterations(fmt)) for fmt in self.formats)

    def division_clocks(self, result: Format) -> int:
        """Return the number of clock cycles in which an iterative division computes a result in format `result`."""
        return -(-_quotient_bits(result) // self.division_rows)

    @property
    def extra_clocks(self) -> int:
        iterative = self.division is Division.ITERATIVE
        return max(map(self.division_clocks, self.formats)) if iterative else 0

    @property
    def slow_operations(self) -> str:
        if not self.extra_clocks:
            return ""
        by_clocks: dict[int, list[str]] = {}
        for fmt in self.formats:
            by_clocks.setdefault(self.division_clocks(fmt), []).append(fmt.name)
        times = (f"{count} more clocks for results in {', '.join(names)}" for count, names in by_clocks.items())
        return f"Division and square root take {', and '.join(times)}. Meanwhile, the unit accepts no operation."

    @cached_property
    def integers(self) -> tuple[Integer, ...]:
        return tuple(i for i in INTEGERS if i.bits <= self.word) if FpuGroup.INTCONV in self.groups else ()

    @cached_property
    def lane_units(self) -> dict[int, MultiFpu]:
        """Return a dictionary from each lane width in bits to the specification of the FPU for one lane.

        The FPU for one lane has no dot products, and supports only formats that fit in the lane.
        """
        groups = tuple(group for group in self.groups if group is not FpuGroup.DOT)
        formats = {width: tuple(fmt for fmt in self.formats if fmt.bits <= width) for width in self.lane_widths}
        return {
            width: _LaneUnit(
                f"{self.name}_lane",
                some,
                groups,
                self.roundings,
                self.overflow,
                self.mixed,
                self.flags,
                tiny_before_rounding=self.tiny_before_rounding,
                scale=self.scale,
                wide_overflow=self.wide_overflow,
                random_bits=self.random_bits,
            )
            for width, some in formats.items()
        }

    @cached_property
    def narrow_unit(self) -> MultiFpu:
        # The golden model decodes the operands of dot products with this unit, without NaN boxing.
        return MultiFpu(f"{self.name}_narrow", self.narrow)

    def format_port(self, operand: str) -> str:
        if self.mixed:
            return f"{operand}_format"
        return "source_format" if operand in "ab" else "result_format"

    @property
    def overflow_choices(self) -> tuple[Overflow, ...]:
        return self.overflow if self._overflow_formats else ()

    @property
    def _overflow_formats(self) -> tuple[Format, ...]:
        """Return the result formats whose overflow policy the port `overflow` selects."""
        return tuple(fmt for fmt in self.formats if self.fixed_overflow(fmt) is None)

    def fixed_overflow(self, target: Format) -> Overflow | None:
        """Return the overflow policy of a result format, or None if the port `overflow` selects the policy."""
        if not target.has_nan:
            return Overflow.SATURATE
        return Overflow.DIRECTED if target.bits > NARROW_BITS and not self.wide_overflow else None

    def policy(self, target: Format, rounding: Rounding, overflow: Overflow) -> CastPolicy:
        # `rna` replaces rounding modes that the target format does not support.
        offered = rounding if target.offers(rounding) else Rounding.RNA
        fixed = self.fixed_overflow(target) or overflow
        return CastPolicy(offered, fixed, nan_to_zero=not target.has_nan, nan_sign=NanSign.LOST)

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """Return the names of the operands that at least one operation reads."""
        reads_b = any(op in (*PAIRS, *DOTS) for op in self.operations)
        reads_c = any(op not in SINGLES for op in self.operations)
        return ("a", *("b" for _ in range(reads_b)), *("c" for _ in range(reads_c)))

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        docs = {"a": "first factor or only operand", "b": "second factor", "c": "addend or second operand"}
        several = len(self.formats) > 1
        ports = []
        if len(self.operations) > 1:
            names = tuple(op.value for op in self.operations)
            ports.append(Port("op", select_width(len(names)), "operation", choices=names))
        for name in self.operands:
            select = self.format_port(name) if several else None
            ports.append(Port(name, self.word, docs[name], self.formats, select))
        if several:
            choices = tuple(fmt.name for fmt in self.formats)
            selects = dict.fromkeys(self.format_port(name) for name in (*self.operands, "result"))
            ports += [Port(name, select_width(len(choices)), _SELECTS[name], choices=choices) for name in selects]
        for name, doc, choices in (
            ("integer_format", "format of an integer", tuple(integer.name for integer in self.integers)),
            ("rounding", "rounding", tuple(mode.value for mode in self.roundings)),
            (
                "overflow",
                f"overflow policy of results in {value_words(self._overflow_formats)}",
                tuple(p.value for p in self.overflow_choices),
            ),
        ):
            if len(choices) > 1:
                ports.append(Port(name, select_width(len(choices)), doc, choices=choices))
        if self.scale:
            ports.append(Port("scale", SCALE_BITS, "`convert` multiplies its operand by 2^scale", signed=True))
        ports += [Port(name, self.random_bits, "random bits of sr") for name in self.random_ports]
        if self.lane_widths:
            doc = " and ".join(
                f"{value} for an operation in each {width}-bit lane" for value, width in enumerate(self.lane_widths, 1)
            )
            ports.append(Port("vector", len(self.lane_widths), doc))
        if self.tag:
            ports.append(Port("tag", self.tag, "passed to the result's tag"))
        return tuple(ports)

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        select = self.format_port("result") if len(self.formats) > 1 else None
        result = Port("result", self.word, "the code in the result's format, a truth value, or a class mask")
        if any(op in ROUNDED for op in self.operations):
            result = replace(result, formats=self.formats, select=select)
        ports = [result]
        if self.flags:
            divides = FpuGroup.DIVSQRT in self.groups
            doc = FLAGS_PORT.doc.replace("16 ", "8 division by zero, 16 ") if divides else FLAGS_PORT.doc
            ports.append(replace(FLAGS_PORT, doc=doc))
        if self.tag:
            ports.append(Port("result_tag", self.tag, "the operation's tag"))
        return tuple(ports)


class _LaneUnit(MultiFpu):
    """Specification of the FPU that computes one lane of a multi-lane FPU."""

    def _check_roundings(self) -> None:
        """Accept all rounding modes, because the multi-lane FPU has already checked the rounding modes."""


def _quotient_bits(result: Format) -> int:
    # A quotient of two significands can begin with a zero, and rounding reads a guard bit.
    return result.precision + 2


def _most_iterations(result: Format) -> int:
    # One more clock cycle takes the operation into the divider's register.
    return (4 if result.bits <= NARROW_BITS else 10) - 1


MAX_TAG = 32

_ROUNDINGS = tuple(mode for mode in Rounding if mode.is_carry or not mode.needs_bits)
_POLICIES = (Overflow.SATURATE, Overflow.INF, Overflow.DIRECTED)
_WIDE_SPECIALS = (Specials.IEEE, Specials.MERGED)

_SELECTS = {
    "a_format": "format of a",
    "b_format": "format of b",
    "c_format": "format of c",
    "source_format": "format of a and b",
    "result_format": "format of the result",
}
