"""Slow exact reference (oracle) for casts, written from the published papers and numerics.md.

The oracle shares no source code with the fast kernels, except the definitions of formats.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from fractions import Fraction

from fp9.formats import FixedFormat, Format, HiFloat8, Kind, Specials, floor_log2, pow2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, NanSign, Overflow, Payload, Rounding


@dataclass(frozen=True, slots=True)
class Exact:
    """Exact number, zero, infinity or NaN, with a sign."""

    kind: Kind
    negative: bool = False
    magnitude: Fraction = Fraction(0)  # of a NaN: the fraction field, as a number in [0, 1)

    @property
    def value(self) -> Fraction:
        return -self.magnitude if self.negative else self.magnitude


@functools.lru_cache(maxsize=1 << 17)
def decode(code: int, fmt: Format) -> Exact:
    kind = fmt.kind_of(code)
    magnitude = abs(fmt.value_of(code)) if kind is Kind.FINITE else Fraction(0)
    if kind is Kind.NAN and isinstance(fmt, FixedFormat) and fmt.specials in (Specials.IEEE, Specials.NAN_ONLY):
        magnitude = Fraction((code >> fmt.padding) & ((1 << fmt.fraction_bits) - 1), 1 << fmt.fraction_bits)
    return Exact(kind, fmt.is_negative(code), magnitude)


def read(code: int, source: Format, policy: CastPolicy) -> Exact:
    # Some policies flush subnormal sources to zero.
    x = decode(code, source)
    subnormal = x.kind is Kind.FINITE and x.magnitude < pow2(source.min_normal_exponent)
    return exact(0, x.negative) if policy.flush_source and subnormal else x


def exact(value: Fraction | int, negative_zero: bool = False) -> Exact:
    value = Fraction(value)
    if value == 0:
        return Exact(Kind.ZERO, negative_zero)
    return Exact(Kind.FINITE, value < 0, abs(value))


# --- one rounding ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Neighbours of a magnitude x: the number `below` <= x, and the next larger number `below + ulp` > x."""

    below: Fraction
    ulp: Fraction
    excess: Fraction  # (x - below) / ulp


@functools.lru_cache(maxsize=1 << 17)
def neighbours(magnitude: Fraction, fmt: Format) -> Neighbours:
    """Return the neighbours of a positive magnitude, as if `fmt` had no largest exponent."""
    ulp = pow2(fmt.quantum(floor_log2(magnitude)))
    steps = magnitude / ulp
    return Neighbours((steps.numerator // steps.denominator) * ulp, ulp, steps - steps.numerator // steps.denominator)


@dataclass(frozen=True, slots=True)
class RandomBits:
    """Random integer for stochastic rounding. The top bit of the random integer has the weight of half an ulp."""

    value: int
    width: int


@dataclass(frozen=True, slots=True)
class HybridBits:
    """Threshold of HiFloat8's hybrid rounding (HiF8 section 3.2)."""

    threshold: int
    width: int  # bits of the threshold
    strict: bool = False
    doc_overflow: bool = False


def _rounds_up(
    x: Exact, near: Neighbours, fmt: Format, rounding: Rounding, bits: RandomBits | HybridBits | None
) -> bool:
    # Only hybrid rounding can round up a magnitude that is exact in the format.
    half = Fraction(1, 2)
    match rounding:
        case Rounding.RNE:
            return near.excess > half or (near.excess == half and _is_odd(near.below, fmt))
        case Rounding.RNA:
            return near.excess >= half
        case Rounding.RTZ:
            return False
        case Rounding.RUP:
            return near.excess > 0 and not x.negative
        case Rounding.RDN:
            return near.excess > 0 and x.negative
        case Rounding.RTO:
            return near.excess > 0 and not _is_odd(near.below, fmt)
        case Rounding.SR:
            assert isinstance(bits, RandomBits)
            return near.excess * (1 << bits.width) // 1 + bits.value >= 1 << bits.width
        case Rounding.SRB:
            assert isinstance(bits, RandomBits)
            return near.excess * (2 << bits.width) // 1 + 2 * bits.value + 1 >= 2 << bits.width
        case Rounding.SRC:
            assert isinstance(bits, RandomBits)
            return round(near.excess * (1 << bits.width)) + bits.value >= 1 << bits.width
        case Rounding.BIAS:
            return _rounds_up(x, near, fmt, Rounding.SR, bits)
        case Rounding.HYBRID:
            assert isinstance(bits, HybridBits)
            return _hybrid_up(x.magnitude, near, bits)


def _is_odd(below: Fraction, fmt: Format) -> bool:
    # A number above the largest number of the format has the code that an unbounded exponent range would give. In a
    # format without fraction bits, the lowest bit of a code is the last bit of the exponent.
    if below > fmt.max_magnitude:
        exponent = floor_log2(below)
        steps = below / pow2(fmt.quantum(exponent))
        counted = exponent - fmt.min_normal_exponent + 1 if fmt.quantum(exponent) == exponent else steps
        return bool(int(counted) & 1)
    if below != 0 and _rounds_to_zero_code(below, fmt):
        return False
    return bool(fmt.code_of(below) >> fmt.padding & 1)


def _hybrid_up(magnitude: Fraction, near: Neighbours, bits: HybridBits) -> bool:
    exponent = floor_log2(magnitude)
    if abs(exponent) < HiFloat8.STOCHASTIC_FROM:
        return near.excess >= Fraction(1, 2)
    if exponent < -HiFloat8.DENORMAL_OFFSET:
        return False
    if magnitude >= HiFloat8.CERTAIN_OVERFLOW and not bits.doc_overflow:
        return True
    field = near.excess * (1 << bits.width) // 1
    return field > bits.threshold if bits.strict else field >= bits.threshold


def _rounds_to_zero_code(magnitude: Fraction, fmt: Format) -> bool:
    return fmt.flushes and magnitude <= pow2(fmt.min_normal_exponent)


def round_magnitude(x: Exact, fmt: Format, rounding: Rounding, bits: RandomBits | HybridBits | None = None) -> Fraction:
    """Round a finite nonzero magnitude once to `fmt`, as if `fmt` had no largest exponent."""
    if rounding is Rounding.BIAS:
        return _biased(x, fmt, bits)
    near = neighbours(x.magnitude, fmt)
    rounded = near.below + (near.ulp if _rounds_up(x, near, fmt, rounding, bits) else 0)
    below_numbers = fmt.flushes and x.magnitude < pow2(fmt.min_normal_exponent)
    if below_numbers or _rounds_to_zero_code(rounded, fmt):
        kept = rounding.keeps_nonzero(x.negative)
        return abs(fmt.value_of(fmt.smallest_code)) if kept else Fraction(0)
    return rounded


def _biased(x: Exact, fmt: Format, bits: RandomBits | HybridBits | None) -> Fraction:
    """Add random bits to the bits that follow the significand, then truncate."""
    # The conversion instructions of x86 with a bias operand round in this way.
    lift = max(0, fmt.min_normal_exponent - floor_log2(x.magnitude))
    lifted = Exact(Kind.FINITE, x.negative, x.magnitude * pow2(lift))
    biased = round_magnitude(lifted, fmt, Rounding.SR, bits) * pow2(-lift)
    return neighbours(biased, fmt).below


def _is_tiny(x: Exact, fmt: Format, rounding: Rounding, bits: RandomBits | HybridBits | None) -> bool:
    """Return whether x is tiny after rounding with an unbounded exponent (IEEE 754-2019 section 7.5)."""
    if not fmt.can_underflow or x.magnitude >= pow2(fmt.min_normal_exponent + 1):
        return False
    lift = max(0, fmt.min_normal_exponent + 1 + fmt.flushes - floor_log2(x.magnitude))
    lifted = Exact(Kind.FINITE, x.negative, x.magnitude * pow2(lift))
    rounded = round_magnitude(lifted, fmt, rounding, bits) * pow2(-lift)
    return rounded < max(pow2(fmt.min_normal_exponent), abs(fmt.value_of(fmt.smallest_code)))


def encode(x: Exact, fmt: Format, policy: CastPolicy, bits: RandomBits | HybridBits | None = None) -> tuple[int, Flags]:
    """Cast the exact number `x` to `fmt`, and return the code and flags (numerics.md).

    Raises ValueError if the result is NaN and `fmt` has no NaN.
    """
    if x.kind is Kind.NAN:
        return _with_payload(x, fmt, policy), Flags.INVALID if policy.nan_to_zero else Flags(0)
    below = x.kind is not Kind.ZERO and x.negative and not (fmt.signed or fmt.ends_at_zero)
    if (x.kind is Kind.ZERO and not fmt.has_zero) or below:
        return _nan(x.negative, fmt, policy), Flags.INVALID
    if x.kind is Kind.INF:
        return _infinite(x.negative, fmt, policy)
    if x.kind is Kind.ZERO:
        return fmt.code_of(Fraction(0), x.negative), Flags(0)
    if not fmt.has_zero and x.magnitude < fmt.value_of(fmt.smallest_code):
        return fmt.smallest_code, Flags.INEXACT | Flags.UNDERFLOW
    rounded = round_magnitude(x, fmt, policy.rounding_for(fmt), bits)
    if rounded > fmt.max_magnitude or (rounded != 0 and x.negative and not fmt.signed):
        stays = policy.saturates(fmt, x.negative)
        code = _max(x.negative, fmt) if stays else _beyond(x.negative, fmt, policy)
        return code, Flags.OVERFLOW | Flags.INEXACT
    if rounded == x.magnitude:
        return fmt.code_of(rounded, x.negative), Flags(0)
    tiny = _is_tiny(x, fmt, policy.rounding_for(fmt), bits)
    return fmt.code_of(rounded, x.negative), Flags.INEXACT | (Flags.UNDERFLOW if tiny else Flags(0))


def _nan(negative: bool, fmt: Format, policy: CastPolicy) -> int:
    code = 0 if policy.nan_to_zero else policy.nan_code(fmt, negative and policy.nan_sign is NanSign.KEPT)
    if code is None:
        raise ValueError(f"NaN given, and {fmt.name} has no NaN; remove it or ask for nan_to_zero")
    return code


def _with_payload(x: Exact, fmt: Format, policy: CastPolicy) -> int:
    plain = _nan(x.negative, fmt, policy)
    if policy.payload is Payload.LOST:
        return plain
    infinity = fmt.inf_code(x.negative and policy.nan_sign is NanSign.KEPT)
    assert infinity is not None and fmt.padding == 0, "only a format with the special codes of IEEE 754 has payloads"
    quiet = 1 << (fmt.precision - 2)
    kept = int(x.magnitude * 2 * quiet)
    return infinity | (kept if policy.payload is Payload.KEPT and kept else kept | quiet)


def _max(negative: bool, fmt: Format) -> int:
    if negative and not fmt.signed:
        return fmt.code_of(Fraction(0))
    return fmt.code_of(fmt.max_magnitude, negative)


def _infinite(negative: bool, fmt: Format, policy: CastPolicy) -> tuple[int, Flags]:
    # An infinity that stays an infinity raises no flag.
    nan_only_at_zero = isinstance(fmt, FixedFormat) and fmt.specials is Specials.NEGATIVE_ZERO
    if policy.overflow is Overflow.SATURATE and nan_only_at_zero and not policy.inf_clip:
        return _nan(negative, fmt, policy), Flags.INVALID
    code = _max(negative, fmt) if policy.clips(fmt, negative) else _beyond(negative, fmt, policy)
    return code, Flags(0) if code == fmt.inf_code(negative) else Flags.INVALID


def _beyond(negative: bool, fmt: Format, policy: CastPolicy) -> int:
    code = fmt.inf_code(negative)
    if code is not None:
        return code
    signed = replace(policy, nan_sign=NanSign.KEPT) if policy.nan_sign is NanSign.OVERFLOW else policy
    return _nan(negative, fmt, signed)
