"""Generator of C functions that decode and encode number formats."""

from __future__ import annotations

from typing import NamedTuple

from fp9.cmodel.text import comment, filled, identifier
from fp9.engines import alignment_exponent
from fp9.formats import FixedFormat, Format, HiFloat8, Kind, PowerOfTwo, ScaledInteger, Specials, UnsignedFloat


class Layout(NamedTuple):
    """Constants of a format for the C struct `fp9_layout`, where -1 means a missing infinity or NaN."""

    bits: int
    fraction_bits: int
    padding: int
    lowest: int
    subnormals: bool
    is_signed: bool
    has_zero: bool
    signed_zero: bool
    ends_at_zero: bool
    twos_complement: bool
    underflows: bool
    largest: int
    infinity: int
    nan: int
    nan_sign: int
    nan_at_zero: int
    aligned: int


def layout_of(fmt: Format) -> Layout:
    fraction_bits, lowest, subnormals = _grid(fmt)
    nan, infinity = fmt.nan_code(False), fmt.inf_code(False)
    last_place = fmt.quantum(fmt.min_normal_exponent)
    return Layout(
        fmt.bits,
        fraction_bits,
        fmt.padding,
        lowest,
        subnormals,
        fmt.signed,
        fmt.has_zero,
        fmt.signed_zero,
        fmt.ends_at_zero,
        fmt.twos_complement,
        fmt.can_underflow,
        fmt.max_code >> fmt.padding,
        -1 if infinity is None else infinity >> fmt.padding,
        -1 if nan is None else nan,
        0 if nan is None else nan ^ (fmt.nan_code(True) or 0),
        _nan_at_zero(fmt),
        alignment_exponent(fmt, fmt.min_normal_exponent) - last_place,
    )


def _grid(fmt: Format) -> tuple[int, int, bool]:
    match fmt:
        case FixedFormat() | UnsignedFloat():
            return fmt.fraction_bits, fmt.lowest_exponent, fmt.subnormals
        case PowerOfTwo():
            return 0, fmt.min_normal_exponent, False
        case ScaledInteger():  # integers are encoded like subnormal numbers, below the lowest normal exponent
            return fmt.precision, fmt.precision - fmt.bias, True
    raise TypeError(f"{fmt.name} has no fields of fixed places")


def _nan_at_zero(fmt: Format) -> int:
    if not isinstance(fmt, FixedFormat) or fmt.kind_of(fmt.sign_mask) is not Kind.NAN:
        return 0
    return 2 if fmt.specials is Specials.NEGATIVE_ZERO else 1


def is_tapered(fmt: Format) -> bool:
    return isinstance(fmt, HiFloat8)


def format_text(fmt: Format) -> str:
    if is_tapered(fmt):
        return ""
    values = [_literal(field, value) for field, value in layout_of(fmt)._asdict().items()]
    words = {"name": identifier(fmt), "guard": identifier(fmt).upper(), "values": ", ".join(values)}
    return filled(_FORMAT, words | {"says": comment(_sentence(fmt)).rstrip()})


def _literal(field: str, value: int) -> str:
    as_code = field in ("largest", "infinity", "nan", "nan_sign") and value > 9
    return f"0x{value:X}" if as_code else str(int(value))


def _sentence(fmt: Format) -> str:
    match fmt:
        case FixedFormat():
            specials = fmt.specials.value
            below = "subnormals" if fmt.subnormals else "no subnormals"
            widths = f"1 sign, {fmt.exponent_bits} exponent, {fmt.fraction_bits} fraction bits, bias {fmt.bias}"
            padded = f", {fmt.padding} bits of zero" if fmt.padding else ""
            return f"{fmt.name}: {widths}{padded}, {below}; {specials}"
        case UnsignedFloat():
            return (
                f"{fmt.name}: {fmt.exponent_bits} exponent, {fmt.fraction_bits} fraction bits, bias {fmt.bias}, no sign"
            )
        case ScaledInteger():
            return f"{fmt.name}: two's complement integer times 2^{-fmt.bias}"
    return f"{fmt.name}: power of two, bias {-fmt.min_normal_exponent}, no sign, no zero"


_FORMAT = """\
#ifndef FP9_FORMAT_@{guard}
#define FP9_FORMAT_@{guard}
@{says}
FP9_FN fp9_layout fp9_@{name}(void)
{
    fp9_layout f = {@{values}};
    return f;
}
FP9_FN fp9_number fp9_@{name}_decode(uint32_t code) { return fp9_decode(fp9_@{name}(), code); }
FP9_FN uint32_t fp9_@{name}_encode(fp9_number x, fp9_policy p, uint32_t *flags)
{ return fp9_encode(fp9_@{name}(), x, p, flags); }
#endif
"""
