"""Exact reference for the scales and elements of blocks, from published scale rules."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import cache

from fp9.formats import Format, Kind, floor_log2, format, pow2
from fp9.formats.blocks import BlockFormat


def scale_code(amax: Fraction, block: BlockFormat, rule: str) -> int:
    """Return the scale code of a block of finite numbers whose largest magnitude is `amax`."""
    if rule == "hif4":
        return nearest(bfloat16(amax * bfloat16(Fraction(1, 7))), block.scale)
    if not block.powers_of_two:
        quotient = amax / block.element.max_magnitude
        return nearest(quotient, block.scale) if rule == "rne" else not_below(quotient, block.scale)
    if amax == 0:
        return 0
    return min(max(exponent(amax, block.element, rule) + 127, 0), 254)


def exponent(amax: Fraction, element: Format, rule: str) -> int:
    # The caller clips the exponent to the scale format's range.
    top, largest = floor_log2(element.max_magnitude), element.max_magnitude
    match rule:
        case "floor":
            return floor_log2(amax) - top
        case "ceil":
            return floor_log2(amax) - top + (amax > pow2(floor_log2(amax)))
        case "even":
            ulp = pow2(floor_log2(amax) - element.precision + 1)
            return floor_log2((amax / ulp + Fraction(1, 2)) // 1 * ulp) - top
        case "rceil":
            fits = floor_log2(amax / largest)
            return fits + (amax > largest * pow2(fits))
        case "rne":
            below = floor_log2(amax / largest)
            excess = amax / largest / pow2(below) - 1
            odd = (below + 127) % 2
            return below + (excess > Fraction(1, 2) or (excess == Fraction(1, 2) and odd))
    raise AssertionError(rule)


@cache
def numbers(fmt: Format) -> tuple[list[Fraction], list[int]]:
    codes = [int(code) for code in fmt.ordered_magnitudes()]
    return [fmt.value_of(code) if fmt.kind_of(code) is not Kind.ZERO else Fraction(0) for code in codes], codes


def not_below(x: Fraction, fmt: Format) -> int:
    """Return the code of the smallest number that is at least `x`.

    If all numbers of the format are smaller than `x`, return the code of the largest number.
    """
    values, codes = numbers(fmt)
    return codes[min(bisect_left(values, x), len(values) - 1)]


def nearest(x: Fraction, fmt: Format) -> int:
    """Return the code of the number nearest to `x`, with ties to the even code."""
    values, codes = numbers(fmt)
    place = bisect_left(values, x)
    if place in (0, len(values)):
        return codes[0] if place == 0 else codes[-1]
    below, above = x - values[place - 1], values[place] - x
    up = above < below or (above == below and codes[place] % 2 == 0)
    return codes[place] if up else codes[place - 1]


def bfloat16(x: Fraction) -> Fraction:
    """Return `x` rounded to the 8 significand bits of bfloat16, ties to even, with unbounded exponent."""
    if x == 0:
        return x
    ulp = pow2(floor_log2(x) - 7)
    return round(x / ulp) * ulp


def element_code(x: Fraction, scale: Fraction, fmt: Format) -> int:
    return with_sign(nearest(abs(x) / scale, fmt), x < 0, fmt)


def with_sign(code: int, negative: bool, fmt: Format) -> int:
    if not negative:
        return code
    return -code & 0xFF if fmt.twos_complement else code | 1 << (fmt.bits - 1)


def four_over_six(xs: list[Fraction], block: BlockFormat) -> tuple[int, list[int]]:
    """Return the scale code and the element codes of a block, with the scale rule "four over six"."""
    tries = []
    # The block's largest magnitude maps to 4 if 4 gives a smaller sum of squared errors than 6.
    for top in (6, 4):
        code = nearest(max(map(abs, xs)) / top, block.scale)
        scale = block.scale.value_of(code) if code else Fraction(0)
        found = [element_code(x, scale, block.element) if scale else 0 for x in xs]
        errors = [x - block.element.value_of(element) * scale for x, element in zip(xs, found, strict=True)]
        tries.append((sum(error**2 for error in errors), code, found))
    _, code, found = tries[tries[1][0] < tries[0][0]]
    return code, found


def hif4_codes(xs: list[Fraction]) -> tuple[list[int], int, list[int], list[int]]:
    """Return a HiF4 block: 64 element codes, scale code, 8 level-1 bits and 16 level-2 bits (arXiv 2602.11287)."""
    e6m2 = format("e6m2")
    code = nearest(bfloat16(max(map(abs, xs)) * bfloat16(Fraction(1, 7))), e6m2)
    reciprocal = bfloat16(1 / e6m2.value_of(code))
    eights = [int(max(map(abs, xs[i : i + 8])) * reciprocal >= 4) for i in range(0, 64, 8)]
    fours = [int(max(map(abs, xs[i : i + 4])) * reciprocal / 2 ** eights[i // 8] >= 2) for i in range(0, 64, 4)]
    elements = []
    for i, x in enumerate(xs):
        quarters = abs(x) * reciprocal / 2 ** (eights[i // 8] + fours[i // 4]) * 4
        elements.append(min(int(quarters + Fraction(1, 2)), 7) | (8 if x < 0 else 0))
    return elements, code, eights, fours
