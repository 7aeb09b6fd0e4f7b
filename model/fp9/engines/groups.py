"""Field groups of an accumulator model (engine): step, window, chunk, result and NaN policy.

In the formulas, a[k] and b[k] are operands, p[k] = a[k] * b[k] is a product, and C is the addend. The function
floor_n(x) drops the bits of x below 2^(E - n), where E is the largest exponent of a step's terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fp9.formats import FixedFormat, fixed_format, format
from fp9.formats.rounding import Overflow, Rounding, choice


class Truncation(Enum):
    """Treatment of the low bits that an accumulator shifts out when it aligns terms."""

    ZERO = "zero"
    """drop the bits of the magnitude, which rounds toward zero"""
    FLOOR = "floor"
    """drop the bits of the two's complement number, which rounds toward minus infinity"""
    JAM = "jam"
    """drop the bits of the magnitude, and set the last remaining bit if a dropped bit is 1 (sticky)"""


class Addend(Enum):
    """How an accumulator aligns the addend C with the products before it drops low bits."""

    INSIDE = "inside"
    """align C with the products. The largest exponent of C and the products determines the window"""
    ALIGNED = "aligned"
    """align and truncate C with the products. The largest product alone determines the window"""
    OUTSIDE = "outside"
    """add C exactly to the aligned sum of the products"""


class Scaling(Enum):
    """What the scales of a dot product multiply: every product, or the sum of every chunk."""

    PRODUCTS = "products"
    """multiply every product by its scales before alignment"""
    SUMS = "sums"
    """sum every chunk from +0, and multiply the chunk's sum by its scales when adding the chunk to the total. Without
    chunks, the whole sum is one chunk
    """


_FP32 = fixed_format("fp32")


@dataclass(frozen=True)
class Result:
    """Format and rounding of a step's result, R = round(C + p[0] + ... + p[G-1]), for addend C and G products p."""

    format: FixedFormat = _FP32
    """Format of the result R. An engine with `step.exact` accepts every fixed-field format with a NaN. Other engines
    need an accumulator format, such as fp32 or fp16.
    """
    rounding: Rounding = Rounding.RNE
    """R = rounding(S) for the sum S of a step."""
    overflow: Overflow = Overflow.INF
    """R = overflow(S) if a finite S rounds to more than the largest number of `format`. An infinite S stays
    infinite.
    """
    flush: bool = False
    """If true, R = 0 with the sign of S if |R| is below the smallest normal number (x86's FTZ)."""
    flush_addend: bool = False
    """If true, C = 0 with the sign of C if |C| is below the smallest normal number (x86's DAZ). The rule also applies
    to the results of earlier steps.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", format(self.format))
        object.__setattr__(self, "rounding", choice(Rounding, self.rounding, "rounding"))
        object.__setattr__(self, "overflow", choice(Overflow, self.overflow, "overflow"))


@dataclass(frozen=True)
class Step:
    """Sum of one accumulation step: the addend and G products, S = C + p[0] + ... + p[G-1]."""

    products: int = 1
    """G in S = C + p[0] + ... + p[G-1]. A sum of K products takes K / G steps, rounded up."""
    exact: bool = False
    """If true, S = C + p[0] + ... + p[K-1] is exact for the whole sum and is rounded once (Kulisch). The field
    `products` then has no effect.
    """
    group: int | None = None
    """Number g of products that share the scales s and t (NVFP4). The window aligns s * t * (p[0] + ... + p[g-1]) as
    one term.

    The sum of the g products is exact. The exponent of s * t alone aligns the term. A group of g zero products counts
    as a zero term.
    """
    scaling: Scaling = Scaling.PRODUCTS
    """`products`: S = C + s * t * p[0] + .... `sums`: total = round(total + s * t * round(p[0] + ...))."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaling", choice(Scaling, self.scaling, "scaling"))


@dataclass(frozen=True)
class Window:
    """Addition window: a step truncates the addend C and the products p to n fraction bits, and then adds them.

    The sum of a step is S = floor_n(C) + floor_n(p[0]) + ..., where floor_n truncates a term to the window's n fraction
    bits.
    """

    width: int | None = None
    """Number n of fraction bits in the window. The engine drops the bits of every term below 2^(E - n), where E is the
    largest exponent of the step. Without a width, S is exact.
    """
    truncation: Truncation = Truncation.ZERO
    """Definition of floor_n(x): `zero` drops bits of the magnitude, `floor` rounds down, and `jam` sets the last bit if
    a dropped bit is 1.
    """
    addend: Addend = Addend.INSIDE
    """`inside`: E is the largest exponent of the products and C. `aligned`: E is the largest exponent of the products,
    and C is truncated. `outside`: E is the largest exponent of the products, and C is not truncated.
    """
    zero_exponent: int | None = None
    """Lower limit of E if a product or the addend is 0. Without `zero_exponent`, zeros do not affect E."""
    interleaved: int | None = None
    """J in S = floor_J(A + B + C), where A = p[0] + p[2] + ... and B = p[1] + p[3] + ... (CDNA3).

    The window of n bits truncates the terms of A and the terms of B separately, below the largest exponent of A's or
    B's terms. The window truncates A, B and C again before their sum. Without `interleaved`, a step has one sum.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "truncation", choice(Truncation, self.truncation, "truncation"))
        object.__setattr__(self, "addend", choice(Addend, self.addend, "addend"))


@dataclass(frozen=True)
class Chunk:
    """Division of a long sum into chunks of L products: total = round(total + chunk). Every chunk is summed from +0."""

    length: int | None = None
    """Number L of products in a chunk, a multiple of G. Without a length, the steps add to the total directly."""
    promotion: FixedFormat | None = None
    """Format of the total in total = round(total + chunk), which is rounded by the format's default rounding mode.
    Without `promotion`, the total has the format of the result.
    """
    interleave: int | None = None
    """Number I of neighbouring products that go to the same step: product k belongs to step (k // I) mod (L / G). With
    I = 2 and two steps, products with k mod 4 < 2 belong to the first step.

    Missing products of the last chunk are +0. Without `interleave`, product k belongs to step k // G.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "promotion", None if self.promotion is None else format(self.promotion))


@dataclass(frozen=True)
class NanPolicy:
    """Codes of an accumulator's NaN results, and rules for when a sum is NaN."""

    code: int | None = None
    """R = code if S is NaN. Without a code, R is the canonical NaN of the total's format."""
    invalid_code: int | None = None
    """R = invalid_code if S is NaN but no operand is NaN, as in Inf - Inf. Without `invalid_code`, R = code."""
    infinity_run: int | None = None
    """Number r of neighbouring products among which +Inf and -Inf cancel, so that a later infinity decides S (AMX).

    S = NaN if infinities have cancelled at the end of r products. Without `infinity_run`, +Inf + -Inf = NaN."""
    zero_bypass: bool = False
    """If true, 0 * NaN-Inf = 0 in formats with a NaN-Inf. If false, 0 * NaN-Inf = NaN-Inf."""
