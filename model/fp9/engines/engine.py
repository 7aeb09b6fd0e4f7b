"""Accumulator models (engines): which sums are exact, where sums are rounded, and to which format.

The rules are in numerics.md, section on sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from fp9.engines.groups import Addend, Chunk, NanPolicy, Result, Scaling, Step, Truncation, Window
from fp9.engines.parameters import PARAMETERS
from fp9.formats import FixedFormat, Format, Kind, Specials, UnsignedFloat, fixed_format
from fp9.formats.rounding import Overflow, Rounding
from fp9.names import found_by


class MacOp(IntEnum):
    """Operation of an accumulator. Every operation also outputs the accumulator's new value."""

    ACCUMULATE = 0
    """acc = round(sum of products + acc). With chunks, chunk = round(sum of products + chunk)"""
    LOAD = 1
    """acc = round(sum of products + c). Starts a new sum; operands of +0 load c. With chunks, acc = c and chunk =
    round(sum of products)
    """
    CLEAR = 2
    """acc = +0, and chunk = +0"""
    HOLD = 3
    """acc does not change"""
    FOLD = 4
    """only with chunks: add an incomplete chunk to the accumulator, to end a sum of any length"""


MAX_WINDOW = 40
"""Largest number of fraction bits in a window. A step with MAX_PRODUCTS products then sums to at most 53 bits."""
MAX_PRODUCTS = 1 << 10
MAX_EXPONENT = 1 << 9
"""Largest magnitude of a result's exponent and of `zero_exponent`.

With this limit, float64 holds every product and addend as a multiple of the window's last place. Operands must
have FP32's exponent range.
"""

_FP32 = fixed_format("fp32")


@found_by("fp9.engines", "engine")
@dataclass(frozen=True)
class Engine:
    """An accumulator model. One step is R = round(C + sum of G products). Steps follow each other over K products.

    The fields are in five groups: `result`, `step`, `window`, `chunk` and `nan`. The docstrings of the groups
    give the formulas. `changed` changes fields by the parameters of presets' names (`fp9.engines.PARAMETERS`).

    Formats and choices may be given by name. Raises ValueError for parameters that do not fit together.

    >>> Engine(result=Result("fp16"), step=Step(4), window=Window(20)).window.width
    20
    """

    name: str = "custom"
    result: Result = Result()
    """R = round(S) for the sum S of a step: format, rounding, overflow and subnormal numbers."""
    step: Step = Step()
    """S = C + p[0] + ... + p[G-1]: number and scales of the products of a step."""
    window: Window = Window()
    """S = floor_n(C) + floor_n(p[0]) + ...: the bits of a term that alignment keeps. No width: S is exact."""
    chunk: Chunk = Chunk()
    """total = round(total + chunk): the products of a chunk, and their order. No length: no chunks."""
    nan: NanPolicy = NanPolicy()
    """R = code where S is NaN: the code, and which sums are NaN."""

    def __hash__(self) -> int:
        """Return a hash that is fast to compute, since every call looks up strategies by engine.

        Choices are hashed by identity, because their own hash is slow. The name alone is not enough: a search
        tries hundreds of engines with the same name.
        """
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
        """Return the values of all parameters, by the names of `fp9.engines.PARAMETERS`.

        >>> Engine(window=Window(20)).parameters["window"]
        20
        """
        return {name: parameter.of(self) for name, parameter in PARAMETERS.items()}

    def changed(self, name: str | None = None, **parameters: Any) -> Engine:
        """Return a copy with other parameters. Their names are those of `fp9.engines.PARAMETERS`.

        Raises ValueError for parameters that do not fit together. Raises TypeError for an unknown parameter.

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
        """Return the format of the total, which is `chunk.promotion` if given, else `result.format`."""
        return self.chunk.promotion or self.result.format

    @property
    def output_rounding(self) -> Rounding:
        """Return the rounding of the total."""
        return self.result.rounding if self.chunk.promotion is None else self.chunk.promotion.default_rounding

    @property
    def addend_format(self) -> FixedFormat:
        """Return the format of the addend's codes.

        If the total is FP32 with fewer fraction bits, the addend is FP32. Otherwise the addend has the total's
        format.
        """
        return _FP32 if self.output.padded_dtype == _FP32.native_dtype else self.output

    @property
    def within_chunk(self) -> Engine:
        """Return the engine that sums one chunk. Its addend is the chunk's sum so far.

        Without chunks, return the engine itself.
        """
        if self.chunk.length is None:
            return self
        code, invalid_code = self.nans_of_steps
        return replace(self, chunk=Chunk(), nan=replace(self.nan, code=code, invalid_code=invalid_code))

    @property
    def nans_of_steps(self) -> tuple[int | None, int | None]:
        """Return the NaN codes of a step: `code` and `invalid_code`.

        With chunks, return (None, None), since the two codes then apply to the total only.
        """
        return (self.nan.code, self.nan.invalid_code) if self.chunk.length is None else (None, None)

    @property
    def steps_of_chunk(self) -> int:
        """Return the number of steps in a chunk. Return 0 if there are no chunks."""
        return (self.chunk.length or 0) // self.step.products

    def order(self, depth: int) -> list[int]:
        """Return the indices of `depth` products in the order in which the steps add them.

        The last chunk may be incomplete. Its steps then add only the elements that exist.
        """
        if self.chunk.interleave is None or self.chunk.length is None:
            return list(range(depth))
        chunk, run, steps = self.chunk.length, self.chunk.interleave, self.steps_of_chunk
        return sorted(range(depth), key=lambda k: (k // chunk, k % chunk // run % steps, k))

    @property
    def joining(self) -> Engine:
        """Return the engine that adds a chunk to the total. Its step sums two numbers exactly and rounds once."""
        result = replace(self.result, format=self.output, rounding=self.output_rounding)
        nan = NanPolicy(self.nan.code, self.nan.invalid_code)
        return Engine(f"{self.name}: join", result, nan=nan)

    @property
    def is_fused(self) -> bool:
        """Return whether each step is an exact sum that is rounded once. An engine with chunks or zero bypass is not
        fused.
        """
        return (
            self.window.width is None and not self.step.exact and self.chunk.length is None and not self.nan.zero_bypass
        )

    @property
    def ends_plainly(self) -> bool:
        """Return whether overflow, subnormal numbers, infinities and NaN of sums follow IEEE 754."""
        flushes = self.result.flush or self.result.flush_addend
        own_nan = self.nan.code is None and self.nan.invalid_code is None
        return self.result.overflow is Overflow.INF and not flushes and own_nan and self.nan.infinity_run is None

    def steps(self, depth: int) -> int:
        """Return the number of roundings for `depth` products.

        Each step rounds once. Each chunk rounds once more when it is added to the total.
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
    """Return whether a step's result can have this format.

    The format must have fixed fields. NaN and infinity, or a merged NaN-Inf, must be its highest codes.
    """
    return isinstance(fmt, FixedFormat) and fmt.specials in (Specials.IEEE, Specials.MERGED)


def _has_subnormals(fmt: Format) -> bool:
    return isinstance(fmt, FixedFormat) and fmt.subnormals


def alignment_exponent(fmt: Format, exponent: int) -> int:
    """Return the exponent that alignment uses for a number of `fmt` in [2^exponent, 2^(exponent+1)).

    Subnormal numbers have the format's lowest exponent. Integers have the exponent of the largest integer.
    """
    if isinstance(fmt, FixedFormat | UnsignedFloat):
        return max(exponent, fmt.lowest_exponent)
    return exponent if fmt.can_underflow else fmt.quantum(exponent) + _INTEGER_FRACTION_BITS


NO_EXPONENT = -128
"""Byte that represents the alignment exponent of zero. It is less than the exponents of all 8-bit numbers."""

_INTEGER_FRACTION_BITS = 6
