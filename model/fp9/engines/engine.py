"""The dot engine's parameters: which sums are exact, where they are rounded, and to what (numerics.md, sums)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Any

from fp9.formats import FixedFormat, Format, Kind, Specials, UnsignedFloat, fixed_format, format
from fp9.rounding import Overflow, Rounding, choice


class Truncation(Enum):
    """What alignment does with the bits below the window."""

    ZERO = "zero"
    """dropped from the magnitude: toward zero"""
    FLOOR = "floor"
    """dropped from two's complement: toward minus infinity"""
    JAM = "jam"
    """dropped from the magnitude, and where any of them is 1 the last bit kept becomes 1 (sticky)"""


class Addend(Enum):
    """How the addend C meets the products where a window is set."""

    INSIDE = "inside"
    """aligned with the products; its exponent counts for the window"""
    ALIGNED = "aligned"
    """aligned with the products, and cut where they are; the window hangs at the largest product"""
    OUTSIDE = "outside"
    """added exactly to the aligned sum of the products"""


class Scaling(Enum):
    """Where power-of-two scales of the operands enter."""

    PRODUCTS = "products"
    """added to the exponent of every product, before alignment"""
    SUMS = "sums"
    """each chunk is summed from +0 (all of K where there are no chunks), and its sum is scaled as it joins the total"""


class MacOp(IntEnum):
    """What an accumulator does with a step; every operation gives the accumulator afterwards."""

    ACCUMULATE = 0
    """acc = round(sum of products + acc); with chunks, chunk = round(sum of products + chunk)"""
    LOAD = 1
    """acc = round(sum of products + c): starts a new sum; with operands of +0, loads c. With chunks, acc = c and
    chunk = round(sum of products)"""
    CLEAR = 2
    """acc = +0, and chunk = +0"""
    HOLD = 3
    """acc stays: reads it"""
    FOLD = 4
    """only with chunks: an open chunk joins the accumulator before it is full, at the end of a sum of any length"""


MAX_WINDOW = 40
"""Most fraction bits of a window, and below it most products of a step: their sum stays an integer of 53 bits."""
MAX_PRODUCTS = 1 << 10
MAX_EXPONENT = 1 << 9
"""Largest magnitude of exponents of results and of `zero_exponent`. With operands of FP32's exponents, float64 then
holds every product and addend as a count of a window's last place."""

_FP32 = fixed_format("fp32")


@dataclass(frozen=True)
class Engine:
    """One step is R = round(C + sum of `products` products); steps follow each other over K, chunks over steps.

    `window` K keeps K fraction bits below the largest exponent of a step and truncates the rest of every term
    (`truncation`); None sums exactly. `addend` says how C takes part then. `zero_exponent`: a zero product or addend
    counts with this exponent for the window.

    `interleaved` J sums even and odd products separately and keeps J fraction bits of the sum (CDNA3):
    R = round(floor_J(floor_K(even + odd) + floor_K(C))), even = sum of a[2i] * b[2i], odd = sum of a[2i+1] * b[2i+1].
    The window of K bits of each half truncates its products; floor_n keeps n fraction bits below the largest exponent.

    `exact` sums all of K exactly and rounds once, R = round(C + sum of all a[k] * b[k]) (Kulisch); `products` then
    changes no result. `result` is a fixed-field accumulator format, or any format with a NaN if `exact`.

    `chunk` L sums L products from +0 and adds that sum to the total with one rounding. `promotion` is the format of the
    total, where it is not `result`, rounded to its own default. `interleave` I assigns the elements of a chunk of S
    steps round robin, I neighbours at a time: element k belongs to step (k // I) mod S. With I = 2 and two steps,
    elements with k mod 4 < 2 come first. Elements that the last chunk lacks are +0.

    `zero_bypass`: in formats with a merged NaN-Inf, 0 x NaN-Inf is 0. `scaling` says where scales enter. `overflow` is
    what becomes of finite sums beyond the largest number; infinities stay.

    `group` g sums g products exactly, and multiplies their sum by their scales: one term of the window, aligned with
    the exponent of the scales alone. A group of zero products, or of a scale of zero, counts as zero (NVFP4).

    `flush_result`: every result that is tiny after rounding becomes zero of its sign (x86's FTZ). `flush_addend`: an
    addend's subnormal numbers count as zero of their sign, those of C and of the sums so far (DAZ). `nan` is the code
    of a NaN in `output`, `invalid_nan` that of one that no NaN went into; None: the format's own, and `nan`.
    `infinity_run` r: infinities of both signs cancel among r neighbouring products of a step, so that one more of them
    stands (AMX); what is cancelled at the end of a run is NaN. None: infinities of both signs are NaN.

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
        """Strategies are looked up by engine at every call, so that choices, whose own hash takes long, count by their
        places in memory; not of the name alone, as a search tries hundreds of engines of one name.
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
        """Format of the total, and of C: `promotion` where there is one, else `result`."""
        return self.promotion or self.result

    @property
    def output_rounding(self) -> Rounding:
        """Rounding of the total."""
        return self.rounding if self.promotion is None else self.promotion.default_rounding

    @property
    def addend_format(self) -> FixedFormat:
        """Format that codes of C are read in: any FP32 number where the total is FP32 with fewer fraction bits."""
        return _FP32 if self.output.padded_dtype == _FP32.native_dtype else self.output

    @property
    def within_chunk(self) -> Engine:
        """The engine of the steps of one chunk, to which the chunk is the addend; itself where there are no chunks."""
        if self.chunk is None:
            return self
        nan, invalid_nan = self.nans_of_steps
        return replace(self, chunk=None, promotion=None, interleave=None, nan=nan, invalid_nan=invalid_nan)

    @property
    def nans_of_steps(self) -> tuple[int | None, int | None]:
        """`nan` and `invalid_nan` of a step's result: none of a chunk's steps: their codes are those of the total."""
        return (self.nan, self.invalid_nan) if self.chunk is None else (None, None)

    @property
    def steps_of_chunk(self) -> int:
        """Steps of a chunk; 0 where there are no chunks."""
        return (self.chunk or 0) // self.products

    def order(self, depth: int) -> list[int]:
        """The places of a sum of so many products in the order in which steps take them; a last chunk that is not full
        has steps of what is there of their places.
        """
        if self.interleave is None or self.chunk is None:
            return list(range(depth))
        chunk, run, steps = self.chunk, self.interleave, self.steps_of_chunk
        return sorted(range(depth), key=lambda k: (k // chunk, k % chunk // run % steps, k))

    @property
    def joining(self) -> Engine:
        """The engine of the step in which a chunk joins the total: an exact sum of the two, rounded once."""
        kept = {
            name: getattr(self, name) for name in ("overflow", "flush_result", "flush_addend", "nan", "invalid_nan")
        }
        return Engine(f"{self.name}: join", self.output, self.output_rounding, **kept)

    @property
    def is_fused(self) -> bool:
        """Whether a step is one exact sum and one rounding, and nothing happens beside the steps."""
        return self.window is None and not self.exact and self.chunk is None and not self.zero_bypass

    @property
    def ends_plainly(self) -> bool:
        """Whether overflow, subnormal numbers, infinities and NaN of sums are those of IEEE 754."""
        flushes = self.flush_result or self.flush_addend
        own_nan = self.nan is None and self.invalid_nan is None
        return self.overflow is Overflow.INF and not flushes and own_nan and self.infinity_run is None

    def steps(self, depth: int) -> int:
        """Roundings on the way through `depth` products: those of steps, and those of chunks joining the total."""
        if self.exact:
            return 1
        chunk = self.chunk or depth
        if self.interleave is not None:
            depth = -(-depth // chunk) * chunk
        full, rest = divmod(depth, chunk) if chunk else (0, 0)
        steps = full * -(-chunk // self.products) + -(-rest // self.products)
        return steps + (full + (rest > 0) if self.chunk else 0)


def is_accumulator(fmt: Format) -> bool:
    """Whether steps can round to a format: of fixed fields, with NaN and infinity, or NaN-Inf, at the top."""
    return isinstance(fmt, FixedFormat) and fmt.specials in (Specials.IEEE, Specials.MERGED)


def _has_subnormals(fmt: Format) -> bool:
    return isinstance(fmt, FixedFormat) and fmt.subnormals


def alignment_exponent(fmt: Format, exponent: int) -> int:
    """Exponent with which a number of `fmt` in [2^exponent, 2^(exponent+1)) is aligned; its significand is below 2.

    Subnormal numbers keep the minimum exponent of their format, integers that of the largest.
    """
    if isinstance(fmt, FixedFormat | UnsignedFloat):
        return max(exponent, fmt.lowest_exponent)
    return exponent if fmt.can_underflow else fmt.quantum(exponent) + _INTEGER_FRACTION_BITS


NO_EXPONENT = -128
"""Byte that stands for the alignment exponent of a zero, which has none: below those of all 8-bit numbers."""

_INTEGER_FRACTION_BITS = 6
