"""The dot engine's parameters: which sums are exact, where they are rounded, and to what (spec section 3.2)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from fp9.formats import FixedFormat, Format, Rounding, Specials, format
from fp9.policy import choice


class Truncation(Enum):
    """What alignment does with the bits below the window."""

    ZERO = "zero"
    """dropped from the magnitude: toward zero"""
    FLOOR = "floor"
    """dropped from two's complement: toward minus infinity"""


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


MAX_WINDOW = 40
"""Most fraction bits of a window, and below it most products of a step: their sum stays an integer of 53 bits."""
MAX_PRODUCTS = 1 << 10

_FP32 = format("fp32")


@dataclass(frozen=True)
class Engine:
    """One step is R = round(C + sum of `products` products); steps follow each other over K, chunks over steps.

    `window` K keeps K fraction bits below the largest exponent of a step and truncates the rest of every term
    (`truncation`); None sums exactly. `addend` says how C takes part then. `zero_exponent`: a zero product or addend
    counts with this exponent for the window. `joined` J sums even and odd products apart, joins them and then C with
    floor, and keeps J fraction bits of the sum (CDNA3). `whole` sums all of K exactly and rounds once (Kulisch); the
    products of a step are then added at once, and change no result.

    `chunk` L sums L products on their own, from +0, and adds that sum to the total with one rounding; `promotion` is
    the format of the total, where it is not `result`, rounded to its own default. `zero_bypass`: in formats with a
    merged NaN-Inf, 0 x NaN-Inf is 0. `scaling` says where scales enter.

    Formats and choices may be given by name. Raises ValueError for parameters that do not fit together.

    >>> Engine(result="fp16", products=4, window=20).window
    20
    """

    name: str = "custom"
    result: Format = _FP32
    rounding: Rounding = Rounding.RNE
    products: int = 1
    window: int | None = None
    truncation: Truncation = Truncation.ZERO
    addend: Addend = Addend.INSIDE
    zero_exponent: int | None = None
    joined: int | None = None
    whole: bool = False
    chunk: int | None = None
    promotion: Format | None = None
    scaling: Scaling = Scaling.PRODUCTS
    zero_bypass: bool = False

    def __post_init__(self) -> None:
        given: dict[str, Any] = {
            "result": format(self.result),
            "rounding": choice(Rounding, self.rounding, "rounding"),
            "truncation": choice(Truncation, self.truncation, "truncation"),
            "addend": choice(Addend, self.addend, "addend"),
            "scaling": choice(Scaling, self.scaling, "scaling"),
            "promotion": None if self.promotion is None else format(self.promotion),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check_result()
        self._check_step()
        self._check_chunks()

    def _fail(self, sentence: str) -> None:
        raise ValueError(f"engine {self.name}: {sentence}")

    def _check_result(self) -> None:
        if self.rounding is Rounding.HYBRID:
            self._fail("rounding hybrid given; give rne, rna, rtz, rup, rdn or sr")
        if self.whole:
            if self.result.nan_code(False) is None:
                self._fail(f"{self.result.name} given as result; give a format with a NaN")
        elif not _is_accumulator(self.result):
            self._fail(f"{self.result.name} given as result; give fp32, e8m13, fp16, bf16 or dlfloat16")
        if self.promotion is not None and not _is_accumulator(self.promotion):
            self._fail(f"{self.promotion.name} given as promotion; give fp32, fp16, bf16 or dlfloat16")

    def _check_step(self) -> None:
        if not 1 <= self.products <= MAX_PRODUCTS:
            self._fail(f"{self.products} products a step given; give 1 to {MAX_PRODUCTS}")
        if self.window is not None and not 1 <= self.window <= MAX_WINDOW:
            self._fail(f"window of {self.window} fraction bits given; give 1 to {MAX_WINDOW}, or none for exact sums")
        if self.window is None and (self.joined is not None or self.zero_exponent is not None):
            self._fail("joined or zero_exponent given without a window; give window as well")
        if self.joined is not None and not self._can_join():
            self._fail(
                f"joined={self.joined} given; it takes an even number of products, the addend inside, truncation to "
                f"zero, and window to {MAX_WINDOW} bits"
            )
        if self.whole and (self.window is not None or self.chunk is not None):
            self._fail("whole given with a window or chunks; an exact sum over all of K has none")

    def _can_join(self) -> bool:
        assert self.joined is not None and self.window is not None
        even_products = self.products % 2 == 0
        plain = self.addend is Addend.INSIDE and self.truncation is Truncation.ZERO and self.zero_exponent is None
        return even_products and plain and self.window <= self.joined <= MAX_WINDOW

    def _check_chunks(self) -> None:
        if self.chunk is not None and (self.chunk < 1 or self.chunk % self.products):
            self._fail(f"chunks of {self.chunk} given; give a multiple of the {self.products} products of a step")
        if self.promotion is not None and self.chunk is None:
            self._fail("promotion given without chunks; give chunk, the products between two promotions")

    @property
    def output(self) -> Format:
        """Format of the total, and of C: `promotion` where there is one, else `result`."""
        return self.promotion or self.result

    @property
    def output_rounding(self) -> Rounding:
        """Rounding of the total."""
        return self.rounding if self.promotion is None else self.promotion.default_rounding

    @property
    def addend_format(self) -> Format:
        """Format that codes of C are read in: any FP32 number where the total is FP32 with fewer fraction bits."""
        return format("fp32") if self.output.bits == 32 else self.output

    @property
    def within_chunk(self) -> Engine:
        """The engine of the steps of one chunk, to which the chunk is the addend; itself where there are no chunks."""
        return self if self.chunk is None else replace(self, chunk=None, promotion=None)

    @property
    def joining(self) -> Engine:
        """The engine of the step in which a chunk joins the total: an exact sum of the two, rounded once."""
        return Engine(f"{self.name}: join", self.output, self.output_rounding)

    @property
    def is_fused(self) -> bool:
        """Whether a step is one exact sum and one rounding, and nothing happens beside the steps."""
        return self.window is None and not self.whole and self.chunk is None and not self.zero_bypass

    def steps(self, depth: int) -> int:
        """Roundings on the way through `depth` products: those of steps, and those of chunks joining the total."""
        if self.whole:
            return 1
        chunk = self.chunk or depth
        full, rest = divmod(depth, chunk) if chunk else (0, 0)
        steps = full * -(-chunk // self.products) + -(-rest // self.products)
        return steps + (full + (rest > 0) if self.chunk else 0)


def _is_accumulator(fmt: Format) -> bool:
    return isinstance(fmt, FixedFormat) and fmt.specials in (Specials.IEEE, Specials.MERGED)


def alignment_exponent(fmt: Format, exponent: int) -> int:
    """Exponent with which a number of `fmt` in [2^exponent, 2^(exponent+1)) is aligned; its significand is below 2.

    Subnormal numbers keep the minimum exponent of their format, integers that of the largest.
    """
    if isinstance(fmt, FixedFormat):
        return max(exponent, fmt.lowest_exponent)
    return exponent if fmt.can_underflow else fmt.quantum(exponent) + _INTEGER_FRACTION_BITS


_INTEGER_FRACTION_BITS = 6

_R = Rounding

ENGINES: dict[str, Engine] = {
    e.name: e
    for e in (
        Engine("fma_fp32", format("fp32"), _R.RNE),  # IEEE 754 fused multiply-add
        Engine("fma_fp16", format("fp16"), _R.RNE),
        Engine("fma_bf16", format("bf16"), _R.RNE),
        Engine("dlfloat", format("dlfloat16"), _R.RNA),  # DLF: fused, NaN-Inf absorbs, nearest-up
        Engine("fmma", format("dlfloat16"), _R.RNA, products=2, addend=Addend.ALIGNED),  # ISSCC21
        Engine("chunked", format("dlfloat16"), _R.RNA, chunk=64),  # Wang18
        # MMA-Sim: wgmma, mma and tcgen05.mma with FP8 operands and FP32 result.
        Engine("hopper", format("e8m13"), _R.RTZ, products=32, window=13, zero_exponent=-133, scaling=Scaling.SUMS),
        Engine("ada", format("e8m13"), _R.RTZ, products=16, window=13, zero_exponent=-132, scaling=Scaling.SUMS),
        Engine("blackwell", format("fp32"), _R.RTZ, products=32, window=25, zero_exponent=-133),
        Engine("cdna3", format("fp32"), _R.RNE, products=16, window=24, joined=31, scaling=Scaling.SUMS),
        # DeepSeek-V3 section 3.3.2: sums of 128 leave the tensor core and are added in FP32.
        Engine(
            "deepseek",
            format("e8m13"),
            _R.RTZ,
            products=32,
            window=13,
            zero_exponent=-133,
            chunk=128,
            promotion=format("fp32"),
            scaling=Scaling.SUMS,
        ),
        Engine("exact", format("fp32"), _R.RNE, whole=True),
    )
}

ALIASES = {"G": "products", "K": "window", "L": "chunk"}
"""Parameters by the letters of the literature."""

_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*(.*?)\s*\))?\s*")
_SETTING = re.compile(r"(\w+)\s*=\s*([\w.+-]+(?:\([^()]*\))?)\s*(?:,\s*|$)")


def engine(name: str | Engine) -> Engine:
    """The preset of a name, its parameters changed where they are given; an `Engine` is returned as it is.

    >>> engine("chunked(L=64)").chunk
    64
    >>> engine("fmma(K=20, result=fp32, rounding=rne)").window
    20

    Raises ValueError for an unknown name or parameter, TypeError for something that is no name.
    """
    if isinstance(name, Engine):
        return name
    if not isinstance(name, str):
        raise TypeError(f"an engine is named by a string or an Engine; {type(name).__name__} given")
    return _parse(name)


@functools.lru_cache(maxsize=256)
def _parse(name: str) -> Engine:
    if name in ENGINES:
        return ENGINES[name]
    call = _CALL.fullmatch(name)
    if call is None or call[1] not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}, or one of them with parameters")
    settings = _settings(name, call[2] or "")
    base = ENGINES[call[1]]
    changed = {field: value for field, value in settings.items() if getattr(base, field) != value}
    if not changed:
        return base
    spelled = ",".join(f"{field}={_spell(value)}" for field, value in changed.items())
    return replace(base, name=f"{base.name}({spelled})", **changed)


def _settings(name: str, text: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    position = 0
    known = [field.name for field in fields(Engine) if field.name != "name"]
    while position < len(text):
        item = _SETTING.match(text, position)
        if item is None:
            raise ValueError(f"engine {name!r}: {text[position:]!r} is not of the form parameter=value")
        field = ALIASES.get(item[1], item[1])
        if field not in known:
            raise ValueError(f"engine {name!r} has no parameter {item[1]!r}; known: {', '.join([*ALIASES, *known])}")
        settings[field] = _value(name, field, item[2])
        position = item.end()
    return settings


def _value(name: str, field: str, text: str) -> object:
    """A parameter's value: a choice or format by name, none, true, false, or an integer."""
    if field in ("result", "promotion"):
        return None if text == "none" else format(text)
    if field in _CHOICES:
        return choice(_CHOICES[field], text, f"engine {name!r}: {field}")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if not re.fullmatch(r"[+-]?\d+", text):
        raise ValueError(f"engine {name!r}: {field}={text} given; give an integer")
    return int(text)


_CHOICES: dict[str, type[Enum]] = {
    "rounding": Rounding,
    "truncation": Truncation,
    "addend": Addend,
    "scaling": Scaling,
}
_WORDS: dict[str, bool | None] = {"none": None, "true": True, "false": False}


def _spell(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value).lower()
