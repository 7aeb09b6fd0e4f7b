"""Accumulator models (engines), which define how a long sum is aligned and rounded.

The section on sums in numerics.md states the numerical rules of accumulator models.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from fp9.engines.groups import Addend, Chunk, NanPolicy, Result, Scaling, Step, Truncation, Window
from fp9.engines.parameters import PARAMETERS
from fp9.formats import FixedFormat, Format, Kind, Specials, UnsignedFloat, fixed_format
from fp9.formats.rounding import Overflow, Rounding
from fp9.names import found_by


class MacOp(IntEnum):
    """Operation of an accumulator unit. After every operation, the unit outputs the new value of the accumulator."""

    ACCUMULATE = 0
    """acc = round(sum of products + acc). With chunks, chunk = round(sum of products + chunk)"""
    LOAD = 1
    """Start a new sum: acc = round(sum of products + c), so operands of +0 load c. With chunks, acc = c and chunk =
    round(sum of products)
    """
    CLEAR = 2
    """acc = +0, and chunk = +0"""
    HOLD = 3
    """keep acc unchanged"""
    FOLD = 4
    """add an incomplete chunk to the accumulator, to end a sum of any length. Only engines with chunks have FOLD"""


MAX_WINDOW = 40
"""Maximum number of fraction bits in an addition window. A sum of `MAX_PRODUCTS` products then fits in 53 bits."""
MAX_PRODUCTS = 1 << 10
MAX_EXPONENT = 1 << 9
"""Maximum magnitude of a result's exponent and of `zero_exponent`.

Float64 then holds every product and addend exactly, as a multiple of the last bit of the addition window.
"""

_FP32 = fixed_format("fp32")


@found_by("fp9.engines", "engine")
@dataclass(frozen=True)
class Engine:
    """Accumulator model. Each step adds G products to an addend C, and rounds: R = round(C + p[0] + ... + p[G-1]).

    The fields form five groups: `result`, `step`, `window`, `chunk` and `nan`. Each group of fields is an object of a
    class, such as `Window`, whose docstring defines the fields. The method `changed` returns a copy with other field
    values.

    Formats and enumeration members may be given as objects or by name. Raises ValueError if two fields contradict each
    other.

    >>> Engine(result=Result("fp16"), step=Step(4), window=Window(20)).window.width
    20
    """

    name: str = "custom"
    result: Result = Result()
    """R = round(S) for the sum S of a step: the format, rounding mode, overflow policy and flushing of R."""
    step: Step = Step()
    """S = C + p[0] + ... + p[G-1]: the number of products of a step, and how products are scaled."""
    window: Window = Window()
    """S = floor_n(C) + floor_n(p[0]) + ...: the bits of a term that alignment keeps. S is exact without a width."""
    chunk: Chunk = Chunk()
    """total = round(total + chunk): the products of a chunk, and their order. Without a length, no chunks exist."""
    nan: NanPolicy = NanPolicy()
    """R = code if S is NaN: the NaN codes of results, and the rules that make a sum NaN."""

    def __hash__(self) -> int:
        # A hash of all fields would be slow.
        numbers = (
            self.step.products,
            self.window.width,
            self.window.zero_exponent,
            self.window.interleaved,
            self.chunk.length,
            self.chunk.interleave,
            self.step.group,
        )
        choices = (
            id(self.result.rounding),
            id(self.window.truncation),
            id(self.window.addend),
            self.step.exact,
            self.result.flush,
            self.nan.code,
        )
        return hash((self.name, self.result.format.name, numbers, choices))

    def __post_init__(self) -> None:
        self._check_result()
        self._check_step()
        self._check_chunks()
        self._check_specials()

    @property
    def parameters(self) -> dict[str, Any]:
        """Return all field values, as a dictionary by the short names in `fp9.engines.PARAMETERS`.

        >>> Engine(window=Window(20)).parameters["window"]
        20
        """
        return {name: parameter.of(self) for name, parameter in PARAMETERS.items()}

    def changed(self, name: str | None = None, **parameters: Any) -> Engine:
        """Return a copy with other field values, given by the short names in `fp9.engines.PARAMETERS`.

        Raises ValueError if the new values contradict each other. Raises TypeError for an unknown parameter.

        >>> Engine(step=Step(4)).changed(window=20, name="mine").window.width
        20
        """
        groups: dict[str, dict[str, Any]] = {}
        for each, value in parameters.items():
            if each not in PARAMETERS:
                raise TypeError(f"engine parameter {each!r} given; give one of {', '.join(PARAMETERS)}")
            parameter = PARAMETERS[each]
            groups.setdefault(parameter.group, {})[parameter.field] = value
        made = {group: replace(getattr(self, group), **fields) for group, fields in groups.items()}
        return replace(self, name=self.name if name is None else name, **made)

    def _fail(self, sentence: str) -> None:
        raise ValueError(f"engine {self.name}: {sentence}")

    def _check_result(self) -> None:
        if self.result.rounding.reads_source:
            offered = ", ".join(mode.value for mode in Rounding if not mode.reads_source)
            self._fail(f"rounding {self.result.rounding.value} given; give one of {offered}")
        if self.step.exact:
            if self.result.format.nan_code(False) is None:
                self._fail(f"{self.result.format.name} given as result; give a format with a NaN")
        elif not is_accumulator(self.result.format):
            self._fail(f"{self.result.format.name} given as result; give fp32, e8m13, fp16, bf16 or dlfloat16")
        if self.chunk.promotion is not None and not is_accumulator(self.chunk.promotion):
            self._fail(f"{self.chunk.promotion.name} given as promotion; give fp32, fp16, bf16 or dlfloat16")
        for name, fmt in (("result", self.result.format), ("promotion", self.output)):
            if not fmt.lies_within(-MAX_EXPONENT, MAX_EXPONENT):
                self._fail(
                    f"{name}={fmt.name} given; give a format of numbers from 2^-{MAX_EXPONENT} to 2^{MAX_EXPONENT}"
                )

    def _check_step(self) -> None:
        if not 1 <= self.step.products <= MAX_PRODUCTS:
            self._fail(f"{self.step.products} products a step given; give 1 to {MAX_PRODUCTS}")
        if self.window.width is not None and not 1 <= self.window.width <= MAX_WINDOW:
            self._fail(
                f"window of {self.window.width} fraction bits given; give 1 to {MAX_WINDOW}, or none for exact sums"
            )
        if self.window.width is None and (self.window.interleaved is not None or self.window.zero_exponent is not None):
            self._fail("interleaved or zero_exponent given without a window; give window as well")
        if self.window.zero_exponent is not None and abs(self.window.zero_exponent) > MAX_EXPONENT:
            self._fail(
                f"zero_exponent={self.window.zero_exponent} given; give {-MAX_EXPONENT} to {MAX_EXPONENT}, or none"
            )
        if self.window.interleaved is not None and not self._can_join():
            self._fail(
                f"interleaved={self.window.interleaved} given; it takes an even number of products, the addend inside, "
                f"truncation to zero, and window to {MAX_WINDOW} bits"
            )
        if self.step.group is not None and self._fails_to_group(self.step.group):
            self._fail(
                f"group={self.step.group} given; it takes a window with the addend inside, scales at products, "
                f"no chunks, no zero_bypass, and a divisor of the {self.step.products} products of a step"
            )
        for name, value in (("window", self.window.width), ("chunk", self.chunk.length)):
            if self.step.exact and value is not None:
                self._fail(f"{name}={value} given beside exact=true; leave one of them out: an exact sum has no {name}")

    def _can_join(self) -> bool:
        assert self.window.interleaved is not None and self.window.width is not None
        even_products = self.step.products % 2 == 0
        plain = (
            self.window.addend is Addend.INSIDE
            and self.window.truncation is Truncation.ZERO
            and self.window.zero_exponent is None
        )
        return even_products and plain and self.window.width <= self.window.interleaved <= MAX_WINDOW

    def _fails_to_group(self, size: int) -> bool:
        inside = (
            self.window.width is not None and self.window.interleaved is None and self.window.addend is Addend.INSIDE
        )
        scaled = self.step.scaling is Scaling.PRODUCTS and self.chunk.length is None and not self.nan.zero_bypass
        return not (inside and scaled and size >= 1 and self.step.products % size == 0)

    def _check_chunks(self) -> None:
        if self.chunk.length is not None and (self.chunk.length < 1 or self.chunk.length % self.step.products):
            self._fail(
                f"chunks of {self.chunk.length} given; give a multiple of the {self.step.products} products of a step"
            )
        if self.chunk.promotion is not None and self.chunk.length is None:
            self._fail("promotion given without chunks; give chunk, the products between two promotions")
        if self.chunk.interleave is not None and self._fails_to_interleave(self.chunk.interleave):
            self._fail(
                f"interleave={self.chunk.interleave} given; it takes chunks, and a divisor of the {self.step.products} "
                "products of a step"
            )

    def _fails_to_interleave(self, run: int) -> bool:
        return self.chunk.length is None or run < 1 or self.step.products % run != 0

    def _check_specials(self) -> None:
        normal_alone = [fmt.name for fmt in (self.result.format, self.output) if not _has_subnormals(fmt)]
        if self.result.flush and normal_alone:
            self._fail(f"flush_result=true given; leave it out: {normal_alone[0]} has no subnormal numbers to flush")
        for name, code in (("nan", self.nan.code), ("invalid_nan", self.nan.invalid_code)):
            if code is not None and not (0 <= code >> self.output.bits == 0 and self._is_nan(code)):
                self._fail(f"{name}={code:#x} given; give a code of {self.output.name} that is NaN")
            if code is not None and self.output.nan_is_inf:
                self._fail(
                    f"{name}={code:#x} given; leave it out: infinities of {self.output.name} have its NaN's code"
                )
        if self.nan.infinity_run is not None and (self.window.width is not None or self.nan.infinity_run < 1):
            self._fail(
                f"infinity_run={self.nan.infinity_run} given; it takes 1 product or more, and steps without a window"
            )

    def _is_nan(self, code: int) -> bool:
        return self.output.kind_of(code) is Kind.NAN

    @property
    def output(self) -> FixedFormat:
        """Return the format of the total: `chunk.promotion` if given, and otherwise `result.format`."""
        return self.chunk.promotion or self.result.format

    @property
    def output_rounding(self) -> Rounding:
        """Return the rounding mode of the total."""
        return self.result.rounding if self.chunk.promotion is None else self.chunk.promotion.default_rounding

    @property
    def addend_format(self) -> FixedFormat:
        """Return the format of the addend's codes: FP32 if the output is padded to FP32, and otherwise the output
        format.
        """
        return _FP32 if self.output.padded_dtype == _FP32.native_dtype else self.output

    @property
    def within_chunk(self) -> Engine:
        """Return the accumulator model that adds the products of one chunk to the chunk's partial sum."""
        if self.chunk.length is None:
            return self
        code, invalid_code = self.nans_of_steps
        return replace(self, chunk=Chunk(), nan=replace(self.nan, code=code, invalid_code=invalid_code))

    @property
    def nans_of_steps(self) -> tuple[int | None, int | None]:
        """Return the two NaN codes of a step's result: the code for NaN operands, and the code for invalid operations.

        For an engine with chunks, return (None, None), which means the canonical NaN: the engine's NaN codes apply only
        to the total.
        """
        return (self.nan.code, self.nan.invalid_code) if self.chunk.length is None else (None, None)

    @property
    def steps_of_chunk(self) -> int:
        """Return the number of steps in a chunk, or 0 for an engine without chunks."""
        return (self.chunk.length or 0) // self.step.products

    def order(self, depth: int) -> list[int]:
        """Return the indices of the `depth` products of a dot product, in the order in which they are added."""
        if self.chunk.interleave is None or self.chunk.length is None:
            return list(range(depth))
        return list(_interleaved(depth, self.chunk.length, self.chunk.interleave, self.steps_of_chunk))

    @property
    def joining(self) -> Engine:
        """Return the accumulator model that adds a chunk's sum to the total, with a single rounding."""
        result = replace(self.result, format=self.output, rounding=self.output_rounding)
        nan = NanPolicy(self.nan.code, self.nan.invalid_code)
        return Engine(f"{self.name}: join", result, nan=nan)

    @property
    def is_fused(self) -> bool:
        """Return whether each step adds its terms exactly, and then rounds the sum once.

        Return false for an accumulator model with chunks or with `zero_bypass`.
        """
        return (
            self.window.width is None and not self.step.exact and self.chunk.length is None and not self.nan.zero_bypass
        )

    @property
    def ends_plainly(self) -> bool:
        """Return whether overflow, subnormal results, infinities and NaN follow IEEE 754."""
        flushes = self.result.flush or self.result.flush_addend
        own_nan = self.nan.code is None and self.nan.invalid_code is None
        return self.result.overflow is Overflow.INF and not flushes and own_nan and self.nan.infinity_run is None

    @property
    def lowest_unflushed(self) -> int | None:
        """Return the lowest exponent of a bit such that no multiple of the bit is flushed, or None without flushing."""
        if not (self.result.flush or self.result.flush_addend):
            return None
        return max(fmt.min_normal_exponent for fmt in (self.result.format, self.output, self.addend_format))

    def steps(self, depth: int) -> int:
        """Return the number of roundings in a sum of `depth` products.

        The addition of a chunk's sum to the total counts as one rounding.
        """
        if self.step.exact:
            return 1
        chunk = self.chunk.length or depth
        if self.chunk.interleave is not None:
            depth = -(-depth // chunk) * chunk
        full, rest = divmod(depth, chunk) if chunk else (0, 0)
        steps = full * -(-chunk // self.step.products) + -(-rest // self.step.products)
        return steps + (full + (rest > 0) if self.chunk.length else 0)


def is_accumulator(fmt: Format) -> bool:
    """Return whether a format can be the result format of an accumulator.

    An accumulator format has fixed fields, and its highest codes are NaN and infinity, or a single merged NaN-Inf code.
    """
    return isinstance(fmt, FixedFormat) and fmt.specials in (Specials.IEEE, Specials.MERGED)


def _has_subnormals(fmt: Format) -> bool:
    return isinstance(fmt, FixedFormat) and fmt.subnormals


def alignment_exponent(fmt: Format, exponent: int) -> int:
    """Return the exponent that accumulators use to align a number x of the format `fmt`.

    The argument `exponent` is floor(log2(abs(x))). For a normal floating-point number x, the function returns
    `exponent`. For a subnormal x, the function returns the lowest normal exponent. For an integer format, the function
    returns the exponent of the largest integer.
    """
    if isinstance(fmt, FixedFormat | UnsignedFloat):
        return max(exponent, fmt.lowest_exponent)
    return exponent if fmt.can_underflow else fmt.quantum(exponent) + _INTEGER_FRACTION_BITS


NO_EXPONENT = -128
"""Byte that stands for the alignment exponent of zero. All numbers of 8-bit formats have larger exponents."""

_INTEGER_FRACTION_BITS = 6


@functools.lru_cache(maxsize=64)
def _interleaved(depth: int, chunk: int, run: int, steps: int) -> tuple[int, ...]:
    return tuple(sorted(range(depth), key=lambda k: (k // chunk, k % chunk // run % steps, k)))
