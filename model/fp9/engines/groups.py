"""Field groups of an engine: step, window, chunk, result and NaN policy. Each field has a formula.

The formulas write a[k] and b[k] for operands, p[k] = a[k] * b[k] for their product, and C for the addend.
floor_n(x) keeps n fraction bits of x below the largest exponent of a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fp9.formats import FixedFormat, fixed_format, format
from fp9.formats.rounding import Overflow, Rounding, choice


class Truncation(Enum):
    """How alignment treats the bits below the window."""

    ZERO = "zero"
    """dropped from the magnitude: rounds toward zero"""
    FLOOR = "floor"
    """dropped from two's complement: rounds toward minus infinity"""
    JAM = "jam"
    """dropped from the magnitude. If a dropped bit is 1, the last remaining bit becomes 1 (sticky)"""


class Addend(Enum):
    """How the addend C is aligned with the products. The alignment applies only to engines with a window."""

    INSIDE = "inside"
    """aligned with the products; its exponent counts for the window"""
    ALIGNED = "aligned"
    """aligned and truncated with the products. The largest product alone determines the window"""
    OUTSIDE = "outside"
    """added exactly to the aligned sum of the products"""


class Scaling(Enum):
    """Where power-of-two scales of the operands are applied."""

    PRODUCTS = "products"
    """added to the exponent of every product, before alignment"""
    SUMS = "sums"
    """each chunk is summed from +0, and its sum is scaled when it is added to the total. Without chunks, all of K
    is one chunk
    """


_FP32 = fixed_format("fp32")


@dataclass(frozen=True)
class Result:
    """What a step rounds to: R = round(C + p[0] + ... + p[G-1]), a number of `format`."""

    format: FixedFormat = _FP32
    """R is a number of this format. The result of a step must be an accumulator format. The result of an exact sum
    can be any format with a NaN.
    """
    rounding: Rounding = Rounding.RNE
    """R = rounding(S) for the sum S of a step."""
    overflow: Overflow = Overflow.INF
    """R = overflow(S) where a finite S rounds to more than the largest number of `format`. An infinite S stays
    infinite.
    """
    flush: bool = False
    """R = 0 with the sign of S where |R| is below the smallest normal number (x86's FTZ)."""
    flush_addend: bool = False
    """C = 0 with its sign where |C| is below the smallest normal number (x86's DAZ). C includes the sums so far."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", format(self.format))
        object.__setattr__(self, "rounding", choice(Rounding, self.rounding, "rounding"))
        object.__setattr__(self, "overflow", choice(Overflow, self.overflow, "overflow"))


@dataclass(frozen=True)
class Step:
    """What one step adds to the addend: S = C + p[0] + ... + p[G-1]."""

    products: int = 1
    """G in S = C + p[0] + ... + p[G-1]. A sum over K takes K / G steps, rounded up."""
    exact: bool = False
    """S = C + p[0] + ... + p[K-1] for the whole sum, rounded once (Kulisch). `products` then has no effect."""
    group: int | None = None
    """g: s * t * (p[0] + ... + p[g-1]) is one term of the window, for scales s and t of g products (NVFP4).

    The inner sum is exact. The exponent of s * t alone aligns the term. If all products of a group are zero, the
    term counts as zero.
    """
    scaling: Scaling = Scaling.PRODUCTS
    """`products`: S = C + s * t * p[0] + .... `sums`: total = round(total + s * t * round(p[0] + ...))."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaling", choice(Scaling, self.scaling, "scaling"))


@dataclass(frozen=True)
class Window:
    """Which bits alignment keeps: S = floor_n(C) + floor_n(p[0]) + ... + floor_n(p[G-1]) for a width of n."""

    width: int | None = None
    """n: bits below 2^(E - n) are cut from every term, E the largest exponent of the step. None: S is exact."""
    truncation: Truncation = Truncation.ZERO
    """floor_n(x): `zero` cuts the magnitude, `floor` rounds down, `jam` sets the last bit if a cut bit is 1."""
    addend: Addend = Addend.INSIDE
    """`inside`: E is the largest exponent of C and all p. `aligned`: E is that of all p, and C is cut. `outside`:
    E is that of all p, and C is not cut.
    """
    zero_exponent: int | None = None
    """E is at least this exponent where a product or the addend is 0. None: zeros do not count for E."""
    interleaved: int | None = None
    """J: S = floor_J(E + O + C), with E = p[0] + p[2] + ... and O = p[1] + p[3] + ... (CDNA3).

    A window of n bits cuts the terms of E and of O, each at its own largest exponent. It then cuts E, O and C
    where they are added. None: one sum.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "truncation", choice(Truncation, self.truncation, "truncation"))
        object.__setattr__(self, "addend", choice(Addend, self.addend, "addend"))


@dataclass(frozen=True)
class Chunk:
    """Where a sum is divided: total = round(total + chunk), chunk = the steps of L products from +0."""

    length: int | None = None
    """L: number of products in a chunk, a multiple of G. None: steps add to the total itself."""
    promotion: FixedFormat | None = None
    """total = round(total + chunk) is a number of this format, rounded by its default rounding. None: the result's
    format.
    """
    interleave: int | None = None
    """I: element k belongs to step (k // I) mod (L / G). With I = 2 and two steps, elements with k mod 4 < 2 come
    first.

    Missing elements of the last chunk are +0. None: element k belongs to step k // G.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "promotion", None if self.promotion is None else format(self.promotion))


@dataclass(frozen=True)
class NanPolicy:
    """Which sums are NaN, and the code of NaN."""

    code: int | None = None
    """R = code where S is NaN. None: the NaN of the total's format."""
    invalid_code: int | None = None
    """R = invalid_code where S is NaN and no operand is, as in Inf - Inf. None: `code`."""
    infinity_run: int | None = None
    """r: among r neighbouring products +Inf + -Inf = 0, to which a later infinity adds (AMX).

    S = NaN where infinities have cancelled at the end of a run. None: +Inf + -Inf = NaN."""
    zero_bypass: bool = False
    """0 * NaN-Inf = 0 in formats with a merged NaN-Inf. False: 0 * NaN-Inf = NaN-Inf."""
