"""Parameters of the dot engine: which sums are exact, where they are rounded, and to which format (numerics.md,
sums).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any

from fp9.formats import FixedFormat, Format, Kind, Specials, UnsignedFloat, fixed_format, format
from fp9.rounding import Overflow, Rounding, choice


class Truncation(Enum):
    """Treatment of the bits below the window in alignment."""

    ZERO = "zero"
    """dropped from the magnitude: rounds toward zero"""
    FLOOR = "floor"
    """dropped from two's complement: rounds toward minus infinity"""
    JAM = "jam"
    """dropped from the magnitude; if a dropped bit is 1, the last remaining bit becomes 1 (sticky)"""


class Addend(Enum):
    """Alignment of the addend C with the products if there is a window."""

    INSIDE = "inside"
    """aligned with the products; its exponent counts for the window"""
    ALIGNED = "aligned"
    """aligned and truncated with the products; the largest product alone determines the window"""
    OUTSIDE = "outside"
    """added exactly to the aligned sum of the products"""


class Scaling(Enum):
    """Point at which power-of-two scales of the operands are applied."""

    PRODUCTS = "products"
    """added to the exponent of every product, before alignment"""
    SUMS = "sums"
    """each chunk (or all of K, without chunks) is summed from +0, and its sum is scaled when it is added to
    the total
    """


class MacOp(IntEnum):
    """Operation of an accumulator in one step; every operation outputs the accumulator afterwards."""

    ACCUMULATE = 0
    """acc = round(sum of products + acc); with chunks, chunk = round(sum of products + chunk)"""
    LOAD = 1
    """acc = round(sum of products + c): starts a new sum; with operands of +0, loads c. With chunks, acc = c and
    chunk = round(sum of products)"""
    CLEAR = 2
    """acc = +0, and chunk = +0"""
    HOLD = 3
    """acc is unchanged and is read"""
    FOLD = 4
    """only with chunks: add an open chunk to the accumulator before it is full, at the end of a sum of any length"""


MAX_WINDOW = 40
"""Most fraction bits of a window. With at most MAX_PRODUCTS products, the sum of a step is an integer of 53 bits."""
MAX_PRODUCTS = 1 << 10
MAX_EXPONENT = 1 << 9
"""Largest magnitude of exponents of results and of `zero_exponent`.

With operands in FP32's exponent range, float64 then represents every product and addend in units of a window's
last place.
"""

_FP32 = fixed_format("fp32")


@dataclass(frozen=True)
class Engine:
    """Accumulator model. One step computes R = round(C + sum of `products` products); a sum over K is a chain of
    steps.

    `window` K keeps K fraction bits below the largest exponent of a step and truncates the other bits of every
    term (`truncation`). None sums exactly. `addend` says how C is aligned. `zero_exponent` is the exponent of a
    zero product or addend for the window.

    `interleaved` J sums even and odd products separately and keeps J fraction bits of the sum (CDNA3):
    R = round(floor_J(floor_K(even + odd) + floor_K(C))), even = sum of a[2i] * b[2i], odd = sum of a[2i+1] *
    b[2i+1]. Each half has a window of K bits, which truncates its products. floor_n keeps n fraction bits below
    the largest exponent.

    `exact` sums all of K exactly and rounds once, R = round(C + sum of all a[k] * b[k]) (Kulisch). `products` then
    has no effect. `result` is a fixed-field accumulator format, or any format with a NaN if `exact`.

    `chunk` L sums L products from +0 and adds that sum to the total with one rounding. `promotion` is the format
    of the total if it differs from `result`; the total uses that format's default rounding. `interleave` I assigns
    the elements of a chunk of S steps round robin, I neighbours at a time: element k belongs to step (k // I) mod
    S. With I = 2 and two steps, elements with k mod 4 < 2 come first. Missing elements of the last chunk are +0.

    `zero_bypass`: in formats with a merged NaN-Inf, 0 x NaN-Inf is 0. `scaling` says where scales are applied.
    `overflow` is the result of finite sums above the largest number; infinities stay infinite.

    `group` g sums g products exactly and multiplies the sum by its scales. The result is one term of the window,
    aligned by the exponent of the scales alone. A group of zero products, or with a zero scale, counts as zero
    (NVFP4).

    `flush_result` replaces every result that is tiny after rounding by a zero of its sign (FTZ in x86).
    `flush_addend` replaces subnormal addends, C and partial sums, by zeros of their sign (DAZ). `nan` is the code
    of NaN in `output`; None is the format's own. `invalid_nan` is the code of a NaN without a NaN operand; None is
    `nan`. `infinity_run` r cancels infinities of opposite signs among r neighbouring products of a step, so that a
    further infinity remains (AMX). If they are still cancelled at the end of a run, the result is NaN. None:
    infinities of opposite signs give NaN.

    Formats and choices may be given by name. Raises ValueError for parameters that do not fit together.

    >>> Engine(result="fp16", products=4, window=20).window
    20
    """

    name: str = "custom"
    result: FixedFormat = _FP32
    rounding: Rounding = Rounding.RNE
    products: int = 1
    window: int | None = None
    truncation: Truncation = Truncation.ZERO
    addend: Addend = Addend.INSIDE
    zero_exponent: int | None = None
    interleaved: int | None = None
    exact: bool = False
    chunk: int | None = None
    promotion: FixedFormat | None = None
    scaling: Scaling = Scaling.PRODUCTS
    zero_bypass: bool = False
    interleave: int | None = None
    overflow: Overflow = Overflow.INF
    group: int | None = None
    flush_result: bool = False
    flush_addend: bool = False
    nan: int | None = None
    invalid_nan: int | None = None
    infinity_run: int | None = None

    def __hash__(self) -> int:
        """Return a fast hash, since strategies are looked up by engine at every call.

        Choices are hashed by identity, because their own hash is slow. The name alone is not enough: a search
        tries hundreds of engines with the same name.
        """
        numbers = (
            self.products,
            self.window,
            self.zero_exponent,
            self.interleaved,
            self.chunk,
            self.interleave,
            self.group,
        )
        choices = (id(self.rounding), id(self.truncation), id(self.addend), self.exact, self.flush_result, self.nan)
        return hash((self.name, self.result.name, numbers, choices))

    def __post_init__(self) -> None:
        given: dict[str, Any] = {
            "result": format(self.result),
            "rounding": choice(Rounding, self.rounding, "rounding"),
            "truncation": choice(Truncation, self.truncation, "truncation"),
            "addend": choice(Addend, self.addend, "addend"),
            "scaling": choice(Scaling, self.scaling, "scaling"),
            "overflow": choice(Overflow, self.overflow, "overflow"),
            "promotion": None if self.promotion is None else format(self.promotion),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check_result()
        self._check_step()
        self._check_chunks()
        self._check_specials()

    def _fail(self, sentence: str) -> None:
        raise ValueError(f"engine {self.name}: {sentence}")

    def _check_result(self) -> None:
        if self.rounding.reads_source:
            offered = ", ".join(mode.value for mode in Rounding if not mode.reads_source)
            self._fail(f"rounding {self.rounding.value} given; give one of {offered}")
        if self.exact:
            if self.result.nan_code(False) is None:
                self._fail(f"{self.result.name} given as result; give a format with a NaN")
        elif not is_accumulator(self.result):
            self._fail(f"{self.result.name} given as result; give fp32, e8m13, fp16, bf16 or dlfloat16")
        if self.promotion is not None and not is_accumulator(self.promotion):
            self._fail(f"{self.promotion.name} given as promotion; give fp32, fp16, bf16 or dlfloat16")
        for name, fmt in (("result", self.result), ("promotion", self.output)):
            if not fmt.lies_within(-MAX_EXPONENT, MAX_EXPONENT):
                self._fail(
                    f"{name}={fmt.name} given; give a format of numbers from 2^-{MAX_EXPONENT} to 2^{MAX_EXPONENT}"
                )

    def _check_step(self) -> None:
        if not 1 <= self.products <= MAX_PRODUCTS:
            self._fail(f"{self.products} products a step given; give 1 to {MAX_PRODUCTS}")
        if self.window is not None and not 1 <= self.window <= MAX_WINDOW:
            self._fail(f"window of {self.window} fraction bits given; give 1 to {MAX_WINDOW}, or none for exact sums")
        if self.window is None and (self.interleaved is not None or self.zero_exponent is not None):
            self._fail("interleaved or zero_exponent given without a window; give window as well")
        if self.zero_exponent is not None and abs(self.zero_exponent) > MAX_EXPONENT:
            self._fail(f"zero_exponent={self.zero_exponent} given; give {-MAX_EXPONENT} to {MAX_EXPONENT}, or none")
        if self.interleaved is not None and not self._can_join():
            self._fail(
                f"interleaved={self.interleaved} given; it takes an even number of products, the addend inside, "
                f"truncation to zero, and window to {MAX_WINDOW} bits"
            )
        if self.group is not None and self._fails_to_group(self.group):
            self._fail(
                f"group={self.group} given; it takes a window with the addend inside, scales at products, no chunks, "
                f"no zero_bypass, and a divisor of the {self.products} products of a step"
            )
        for name, value in (("window", self.window), ("chunk", self.chunk)):
            if self.exact and value is not None:
                self._fail(f"{name}={value} given beside exact=true; leave one of them out: an exact sum has no {name}")

    def _can_join(self) -> bool:
        assert self.interleaved is not None and self.window is not None
        even_products = self.products % 2 == 0
        plain = self.addend is Addend.INSIDE and self.truncation is Truncation.ZERO and self.zero_exponent is None
        return even_products and plain and self.window <= self.interleaved <= MAX_WINDOW

    def _fails_to_group(self, size: int) -> bool:
        inside = self.window is not None and self.interleaved is None and self.addend is Addend.INSIDE
        scaled = self.scaling is Scaling.PRODUCTS and self.chunk is None and not self.zero_bypass
        return not (inside and scaled and size >= 1 and self.products % size == 0)

    def _check_chunks(self) -> None:
        if self.chunk is not None and (self.chunk < 1 or self.chunk % self.products):
            self._fail(f"chunks of {self.chunk} given; give a multiple of the {self.products} products of a step")
        if self.promotion is not None and self.chunk is None:
            self._fail("promotion given without chunks; give chunk, the products between two promotions")
        if self.interleave is not None and self._fails_to_interleave(self.interleave):
            self._fail(
                f"interleave={self.interleave} given; it takes chunks, and a divisor of the {self.products} products "
                "of a step"
            )

    def _fails_to_interleave(self, run: int) -> bool:
        return self.chunk is None or run < 1 or self.products % run != 0

    def _check_specials(self) -> None:
        normal_alone = [fmt.name for fmt in (self.result, self.output) if not _has_subnormals(fmt)]
        if self.flush_result and normal_alone:
            self._fail(f"flush_result=true given; leave it out: {normal_alone[0]} has no subnormal numbers to flush")
        for name, code in (("nan", self.nan), ("invalid_nan", self.invalid_nan)):
            if code is not None and not (0 <= code >> self.output.bits == 0 and self._is_nan(code)):
                self._fail(f"{name}={code:#x} given; give a code of {self.output.name} that is NaN")
            if code is not None and self.output.nan_is_inf:
                self._fail(
                    f"{name}={code:#x} given; leave it out: infinities of {self.output.name} have its NaN's code"
                )
        if self.infinity_run is not None and (self.window is not None or self.infinity_run < 1):
            self._fail(
                f"infinity_run={self.infinity_run} given; it takes 1 product or more, and steps without a window"
            )

    def _is_nan(self, code: int) -> bool:
        return self.output.kind_of(code) is Kind.NAN

    @property
    def output(self) -> FixedFormat:
        """Return the format of the total and of C: `promotion` if given, else `result`."""
        return self.promotion or self.result

    @property
    def output_rounding(self) -> Rounding:
        """Return the rounding of the total."""
        return self.rounding if self.promotion is None else self.promotion.default_rounding

    @property
    def addend_format(self) -> FixedFormat:
        """Return the format of C's codes: FP32 if the total is FP32 with fewer fraction bits."""
        return _FP32 if self.output.padded_dtype == _FP32.native_dtype else self.output

    @property
    def within_chunk(self) -> Engine:
        """Return the engine of the steps within one chunk, whose addend is the chunk; the engine itself if there are
        no chunks.
        """
        if self.chunk is None:
            return self
        nan, invalid_nan = self.nans_of_steps
        return replace(self, chunk=None, promotion=None, interleave=None, nan=nan, invalid_nan=invalid_nan)

    @property
    def nans_of_steps(self) -> tuple[int | None, int | None]:
        """Return `nan` and `invalid_nan` of a step's result; (None, None) with chunks, where they apply to the
        total.
        """
        return (self.nan, self.invalid_nan) if self.chunk is None else (None, None)

    @property
    def steps_of_chunk(self) -> int:
        """Return the number of steps in a chunk; 0 if there are no chunks."""
        return (self.chunk or 0) // self.products

    def order(self, depth: int) -> list[int]:
        """Return the indices of a sum of `depth` products in the order in which steps take them.

        If the last chunk is not full, its steps take the elements that exist.
        """
        if self.interleave is None or self.chunk is None:
            return list(range(depth))
        chunk, run, steps = self.chunk, self.interleave, self.steps_of_chunk
        return sorted(range(depth), key=lambda k: (k // chunk, k % chunk // run % steps, k))

    @property
    def joining(self) -> Engine:
        """Return the engine of the step that adds a chunk to the total: an exact sum of two numbers, rounded once."""
        kept = {
            name: getattr(self, name) for name in ("overflow", "flush_result", "flush_addend", "nan", "invalid_nan")
        }
        return Engine(f"{self.name}: join", self.output, self.output_rounding, **kept)

    @property
    def is_fused(self) -> bool:
        """Return whether the engine is plain steps: one exact sum and one rounding each, without chunks or zero
        bypass.
        """
        return self.window is None and not self.exact and self.chunk is None and not self.zero_bypass

    @property
    def ends_plainly(self) -> bool:
        """Return whether overflow, subnormal numbers, infinities and NaN of sums follow IEEE 754."""
        flushes = self.flush_result or self.flush_addend
        own_nan = self.nan is None and self.invalid_nan is None
        return self.overflow is Overflow.INF and not flushes and own_nan and self.infinity_run is None

    def steps(self, depth: int) -> int:
        """Return the number of roundings for `depth` products: one for each step, and one for each chunk added to the
        total.
        """
        if self.exact:
            return 1
        chunk = self.chunk or depth
        if self.interleave is not None:
            depth = -(-depth // chunk) * chunk
        full, rest = divmod(depth, chunk) if chunk else (0, 0)
        steps = full * -(-chunk // self.products) + -(-rest // self.products)
        return steps + (full + (rest > 0) if self.chunk else 0)


def is_accumulator(fmt: Format) -> bool:
    """Return whether steps can round to a format: fixed fields, with NaN and infinity or a merged NaN-Inf at
    the top.
    """
    return isinstance(fmt, FixedFormat) and fmt.specials in (Specials.IEEE, Specials.MERGED)


def _has_subnormals(fmt: Format) -> bool:
    return isinstance(fmt, FixedFormat) and fmt.subnormals


def alignment_exponent(fmt: Format, exponent: int) -> int:
    """Return the exponent that aligns a number of `fmt` in [2^exponent, 2^(exponent+1)); its significand is below 2.

    Subnormal numbers have the format's lowest exponent. Integers have the exponent of the largest integer.
    """
    if isinstance(fmt, FixedFormat | UnsignedFloat):
        return max(exponent, fmt.lowest_exponent)
    return exponent if fmt.can_underflow else fmt.quantum(exponent) + _INTEGER_FRACTION_BITS


NO_EXPONENT = -128
"""Byte in place of the alignment exponent of a zero; it is below the exponents of all 8-bit numbers."""

_INTEGER_FRACTION_BITS = 6
