"""Number formats: one frozen record for each, from which every width, code and limit is derived.

The named formats are rows of a table (`NAMED`) and families with parameters (`FAMILIES`); `format` finds them
by name. A record answers three questions, in exact arithmetic and for one value at a time: what a code means
(`kind_of`, `value_of`), how the representable numbers are spaced (`quantum`), and which code a representable
number has (`code_of`). Encoders, kernels and RTL are built on these answers and on the record's fields.

Sources, by the short names used in the table: FP8 (arXiv 2209.05433, OCP OFP8 v1.0), ONNX (operator `Cast`),
GC (Noune et al., arXiv 2206.02915), HFP8 (Sun et al., NeurIPS 2019), ISSCC21 (Agrawal et al., 9.1),
DLF (Agrawal et al., ARITH 2019), HiF8 (Luo et al., arXiv 2409.16626).
"""

from __future__ import annotations

import abc
import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Kind(Enum):
    """What a code stands for."""

    ZERO = "zero"
    FINITE = "finite"
    INF = "inf"
    NAN = "nan"


class Specials(Enum):
    """Which codes of a fixed-field format are not numbers."""

    IEEE = "top exponent: infinity where the fraction is 0, NaN elsewhere"
    NAN_ONLY = "NaN where all bits but the sign are 1, no infinity"
    NEGATIVE_ZERO = "NaN at the code of -0 alone, no infinity, no -0"
    MERGED = "NaN-Inf where all bits but the sign are 1; its sign carries no meaning, nor that of zero"
    NONE = "every code but zero is a number; the sign of zero carries no meaning"


class Rounding(Enum):
    """Rounding of an exact value to the neighbours that a format offers (IEEE 754-2019 section 4.3)."""

    RNE = "rne"
    RNA = "rna"
    RTZ = "rtz"
    RUP = "rup"
    RDN = "rdn"
    SR = "sr"
    HYBRID = "hybrid"


class Format(abc.ABC):
    """A set of codes of `bits` bits and what they stand for."""

    name: str
    default_rounding: Rounding
    source: str

    # --- what a code means -------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def bits(self) -> int:
        """Width of a code in bits."""

    @abc.abstractmethod
    def kind_of(self, code: int) -> Kind:
        """What `code` stands for."""

    @abc.abstractmethod
    def value_of(self, code: int) -> Fraction:
        """Exact value of a code that stands for zero or a finite number."""

    @abc.abstractmethod
    def is_negative(self, code: int) -> bool:
        """Sign of the code (False where the sign carries no meaning)."""

    # --- how the numbers are spaced ------------------------------------------------------------------------------

    @abc.abstractmethod
    def quantum(self, exponent: int) -> int:
        """Base-2 logarithm of the ulp for magnitudes in [2^exponent, 2^(exponent+1)), any exponent.

        Above the largest number the last spacing rule goes on, so that overflow can be decided after rounding.
        Below the smallest number the spacing of the smallest binade holds.
        """

    @property
    def can_underflow(self) -> bool:
        """Whether small results lose relative precision (a fixed-point format has none to lose)."""
        return True

    @property
    @abc.abstractmethod
    def min_normal_exponent(self) -> int:
        """Exponent below which a result counts as tiny (IEEE 754-2019 section 7.5)."""

    @property
    @abc.abstractmethod
    def max_code(self) -> int:
        """Code of the largest finite number."""

    @property
    @abc.abstractmethod
    def smallest_code(self) -> int:
        """Code of the smallest number above zero."""

    # --- which code a number or special has ------------------------------------------------------------------------

    @abc.abstractmethod
    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        """Code of a representable finite number; `negative` also chooses between two zeros where there are two."""

    @abc.abstractmethod
    def inf_code(self, negative: bool) -> int | None:
        """Code of infinity, None where the format has none."""

    @abc.abstractmethod
    def nan_code(self, negative: bool) -> int | None:
        """Code of the canonical NaN (or NaN-Inf), None where the format has none."""

    @abc.abstractmethod
    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        """Codes of zero and of the positive finite numbers in rising order; shape (n,)."""

    # --- derived -----------------------------------------------------------------------------------------------

    @property
    def max_magnitude(self) -> Fraction:
        """Largest finite number, exactly."""
        return _max_magnitude(self)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Smallest unsigned NumPy type that holds a code."""
        return np.dtype(np.uint8 if self.bits <= 8 else np.uint16 if self.bits <= 16 else np.uint32)

    @property
    def max(self) -> float:
        """Largest finite number."""
        return float(self.max_magnitude)

    @property
    def smallest(self) -> float:
        """Smallest number above zero, subnormal numbers counted."""
        return float(self.value_of(self.smallest_code))

    @property
    def smallest_normal(self) -> float:
        """Smallest number of full precision above zero."""
        return max(self.smallest, math.ldexp(1.0, self.min_normal_exponent))

    @property
    def has_inf(self) -> bool:
        """Whether the format has infinities of their own."""
        return self.inf_code(False) is not None

    @property
    def table(self) -> NDArray[np.float64]:
        """All codes decoded to float64, shape (2**bits,); only for formats of at most 16 bits.

        Raises ValueError for wider formats.
        """
        if self.bits > 16:
            raise ValueError(f"{self.name} has 2**{self.bits} codes; a table is kept for formats of at most 16 bits")
        return _table(self)

    def to_float(self, code: int) -> float:
        """One code decoded (NaN and infinities as floats)."""
        kind = self.kind_of(code)
        if kind is Kind.NAN:
            return math.nan
        if kind is Kind.INF:
            return -math.inf if self.is_negative(code) else math.inf
        value = float(self.value_of(code))
        return -0.0 if kind is Kind.ZERO and self.is_negative(code) else value

    def __str__(self) -> str:
        return self.name


@functools.lru_cache(maxsize=256)
def _max_magnitude(fmt: Format) -> Fraction:
    return abs(fmt.value_of(fmt.max_code))


@functools.lru_cache(maxsize=64)
def _table(fmt: Format) -> NDArray[np.float64]:
    table = np.array([fmt.to_float(code) for code in range(1 << fmt.bits)])
    table.flags.writeable = False
    return table


@dataclass(frozen=True)
class FixedFormat(Format):
    """1 sign bit, `exponent_bits` and `fraction_bits` at fixed places.

    Normal numbers are (-1)^s 2^(e-bias) (1 + m/2^p). With `subnormals`, e = 0 is (-1)^s 2^(1-bias) (m/2^p);
    without, e = 0 is an ordinary binade in which only m = 0 is taken, for zero.

    Raises ValueError where the fields cannot be a format.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    subnormals: bool = True
    specials: Specials = Specials.IEEE
    default_rounding: Rounding = Rounding.RNE
    source: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.exponent_bits <= 8 or not 0 <= self.fraction_bits <= 23:
            raise ValueError(
                f"{self.name}: {self.exponent_bits} exponent and {self.fraction_bits} fraction bits given; "
                "1 to 8 and 0 to 23 are possible"
            )
        if abs(self.bias) > 512:
            raise ValueError(f"{self.name}: bias {self.bias} given; give one in -512..512")

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def sign_mask(self) -> int:
        """The sign bit's place value."""
        return 1 << (self.bits - 1)

    @property
    def magnitude_mask(self) -> int:
        """All bits but the sign."""
        return self.sign_mask - 1

    @property
    def signed_zero(self) -> bool:
        """Whether +0 and -0 are two different things."""
        return self.specials in (Specials.IEEE, Specials.NAN_ONLY)

    def kind_of(self, code: int) -> Kind:
        magnitude = code & self.magnitude_mask
        if self.specials is Specials.NEGATIVE_ZERO and code == self.sign_mask:
            return Kind.NAN
        if magnitude == 0:
            return Kind.ZERO
        if magnitude <= self.max_code:
            return Kind.FINITE
        return Kind.INF if magnitude == self.inf_code(False) else Kind.NAN

    def value_of(self, code: int) -> Fraction:
        exponent, fraction = divmod(code & self.magnitude_mask, 1 << self.fraction_bits)
        if code & self.magnitude_mask == 0:
            return Fraction(0)
        if exponent == 0 and self.subnormals:
            magnitude = Fraction(fraction) * pow2(1 - self.bias - self.fraction_bits)
        else:
            magnitude = ((1 << self.fraction_bits) + fraction) * pow2(exponent - self.bias - self.fraction_bits)
        return -magnitude if code & self.sign_mask else magnitude

    def is_negative(self, code: int) -> bool:
        if self.kind_of(code) is Kind.FINITE or self.signed_zero:
            return bool(code & self.sign_mask)
        return False

    @property
    def lowest_exponent(self) -> int:
        """Exponent of the lowest binade with a full significand."""
        return 1 - self.bias if self.subnormals else -self.bias

    @property
    def highest_exponent(self) -> int:
        """Exponent of the largest finite number."""
        return (self.max_code >> self.fraction_bits) - self.bias

    @property
    def min_normal_exponent(self) -> int:
        return self.lowest_exponent

    def quantum(self, exponent: int) -> int:
        return max(exponent, self.lowest_exponent) - self.fraction_bits

    @property
    def max_code(self) -> int:
        if self.specials is Specials.IEEE:
            return self.magnitude_mask - (1 << self.fraction_bits)
        return self.magnitude_mask - (self.specials in (Specials.NAN_ONLY, Specials.MERGED))

    @property
    def smallest_code(self) -> int:
        return 1

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        if magnitude == 0:
            return self.sign_mask if negative and self.signed_zero else 0
        exponent = floor_log2(magnitude)
        steps = magnitude / pow2(self.quantum(exponent))
        field = max(exponent, self.lowest_exponent) - self.lowest_exponent
        code = (field << self.fraction_bits) + int(steps)
        if not self.subnormals:
            code -= 1 << self.fraction_bits
        if steps.denominator != 1 or not 0 < code <= self.max_code:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return code | (self.sign_mask if negative else 0)

    def inf_code(self, negative: bool) -> int | None:
        if self.specials is not Specials.IEEE:
            return None
        return self.max_code + 1 | (self.sign_mask if negative else 0)

    def nan_code(self, negative: bool) -> int | None:
        sign = self.sign_mask if negative else 0
        match self.specials:
            case Specials.IEEE if self.bits > 8:
                return sign | (self.max_code + 1 + (1 << (self.fraction_bits - 1)))
            case Specials.IEEE | Specials.NAN_ONLY:
                return sign | self.magnitude_mask
            case Specials.NEGATIVE_ZERO:
                return self.sign_mask
            case Specials.MERGED:
                return self.magnitude_mask
            case _:
                return None

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.arange(self.max_code + 1, dtype=np.uint32)


@dataclass(frozen=True)
class ScaledInteger(Format):
    """Two's complement n of 8 bits, -127..127, standing for n * 2^-bias (GC 1.0.7); the code 0x80 is never produced."""

    name: str
    bias: int
    default_rounding: Rounding = Rounding.RNE
    source: str = "GC"

    def __post_init__(self) -> None:
        if abs(self.bias) > 512:
            raise ValueError(f"{self.name}: bias {self.bias} given; give one in -512..512")

    @property
    def bits(self) -> int:
        return 8

    def kind_of(self, code: int) -> Kind:
        return Kind.FINITE if code else Kind.ZERO

    def value_of(self, code: int) -> Fraction:
        return (code - 256 if code & 0x80 else code) * pow2(-self.bias)

    def is_negative(self, code: int) -> bool:
        return bool(code & 0x80)

    def quantum(self, exponent: int) -> int:
        return -self.bias

    @property
    def can_underflow(self) -> bool:
        return False

    @property
    def min_normal_exponent(self) -> int:
        return -self.bias

    @property
    def max_code(self) -> int:
        return 127

    @property
    def smallest_code(self) -> int:
        return 1

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        steps = magnitude / pow2(-self.bias)
        if steps.denominator != 1 or steps > 127:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return int(-steps if negative else steps) & 0xFF

    def inf_code(self, negative: bool) -> int | None:
        return None

    def nan_code(self, negative: bool) -> int | None:
        return None

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.arange(128, dtype=np.uint32)


@dataclass(frozen=True)
class HiFloat8(Format):
    """HiFloat8: sign, prefix-coded dot field, D exponent bits in sign-magnitude with a hidden leading 1, fraction.

    Fraction bits: 3 for |E| <= 3, 2 for 4..7, 1 for 8..15; the denormals are the powers of two 2^(M-23), M = 1..7
    (HiF8 sections 2.1 and 2.2, Tables 2 to 4). One zero (0x00), one NaN (0x80), infinities 0x6F and 0xEF.
    """

    name: str = "hif8"
    default_rounding: Rounding = Rounding.RNA
    source: str = "HiF8"

    DENORMAL_OFFSET: ClassVar[int] = 23
    LOWEST_NORMAL: ClassVar[int] = -15
    INF: ClassVar[int] = 0x6F
    NAN: ClassVar[int] = 0x80

    @property
    def bits(self) -> int:
        return 8

    def kind_of(self, code: int) -> Kind:
        if code == 0:
            return Kind.ZERO
        if code == self.NAN:
            return Kind.NAN
        return Kind.INF if code & 0x7F == self.INF else Kind.FINITE

    def value_of(self, code: int) -> Fraction:
        magnitude = _hif8_magnitude(code & 0x7F)
        return -magnitude if code & 0x80 else magnitude

    def is_negative(self, code: int) -> bool:
        return code > self.NAN

    @staticmethod
    def fraction_bits_at(exponent: int) -> int:
        """Fraction bits of the numbers at `exponent`; none in the denormal area."""
        size = abs(exponent)
        if exponent < HiFloat8.LOWEST_NORMAL:
            return 0
        return 3 if size < 4 else 2 if size < 8 else 1

    def quantum(self, exponent: int) -> int:
        exponent = max(exponent, 1 - self.DENORMAL_OFFSET)
        return exponent - self.fraction_bits_at(exponent)

    @property
    def min_normal_exponent(self) -> int:
        return self.LOWEST_NORMAL

    @property
    def max_code(self) -> int:
        return self.INF - 1

    @property
    def smallest_code(self) -> int:
        return 1

    def code_of(self, magnitude: Fraction, negative: bool = False) -> int:
        if magnitude == 0:
            return 0
        code = _hif8_codes().get(magnitude)
        if code is None:
            raise ValueError(f"{magnitude} is not a number of {self.name}; round it first")
        return code | (0x80 if negative else 0)

    def inf_code(self, negative: bool) -> int | None:
        return self.INF | (0x80 if negative else 0)

    def nan_code(self, negative: bool) -> int | None:
        return self.NAN

    def ordered_magnitudes(self) -> NDArray[np.uint32]:
        return np.array([0, *(code for _, code in sorted(_hif8_codes().items()))], dtype=np.uint32)


def _hif8_magnitude(code: int) -> Fraction:
    """Value of a 7-bit HiF8 magnitude code that is not infinity (HiF8 Tables 2 and 3)."""
    if code < 0b0000_111 + 1:
        return Fraction(0) if code == 0 else pow2(code - HiFloat8.DENORMAL_OFFSET)
    # The dot field is a prefix code: (number of exponent bits, width of the dot field).
    dot, width = next((d, w) for d, w in ((4, 2), (3, 2), (2, 2), (1, 3), (0, 4)) if code >> (7 - w) == _DOT_FIELD[d])
    fraction_bits = 7 - width - dot
    fraction = code & ((1 << fraction_bits) - 1)
    field = (code >> fraction_bits) & ((1 << dot) - 1)
    exponent = 0
    if dot:
        negative, low = divmod(field, 1 << (dot - 1))
        size = (1 << (dot - 1)) + low
        exponent = -size if negative else size
    return ((1 << fraction_bits) + fraction) * pow2(exponent - fraction_bits)


_DOT_FIELD = {4: 0b11, 3: 0b10, 2: 0b01, 1: 0b001, 0: 0b0001}


@functools.lru_cache(maxsize=1)
def _hif8_codes() -> dict[Fraction, int]:
    return {_hif8_magnitude(code): code for code in range(1, HiFloat8.INF)} | {
        _hif8_magnitude(code): code for code in range(HiFloat8.INF + 1, 0x80)
    }


@functools.lru_cache(maxsize=4096)
def pow2(exponent: int) -> Fraction:
    """2^exponent, exactly."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def floor_log2(magnitude: Fraction) -> int:
    """Exponent of the binade that holds a positive magnitude."""
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return exponent if pow2(exponent) <= magnitude else exponent - 1


# --- the named formats ----------------------------------------------------------------------------------------------

_S = Specials
_NEAREST_UP = Rounding.RNA

NAMED: dict[str, Format] = {
    f.name: f
    for f in (
        FixedFormat("e4m3", 4, 3, 7, True, _S.NAN_ONLY, source="FP8"),
        FixedFormat("e5m2", 5, 2, 15, True, _S.IEEE, source="FP8"),
        FixedFormat("e4m3fnuz", 4, 3, 8, True, _S.NEGATIVE_ZERO, source="ONNX"),
        FixedFormat("e5m2fnuz", 5, 2, 16, True, _S.NEGATIVE_ZERO, source="ONNX"),
        FixedFormat("hfp8_152", 5, 2, 15, False, _S.MERGED, _NEAREST_UP, source="HFP8"),
        FixedFormat("fp9", 5, 3, 15, False, _S.MERGED, _NEAREST_UP, source="ISSCC21"),
        FixedFormat("dlfloat16", 6, 9, 31, False, _S.MERGED, _NEAREST_UP, source="DLF"),
        FixedFormat("fp16", 5, 10, 15, source="IEEE 754"),
        FixedFormat("bf16", 8, 7, 127, source="IEEE 754 layout"),
        FixedFormat("fp32", 8, 23, 127, source="IEEE 754"),
        HiFloat8(),
    )
}

ALIASES = {
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
    "hifloat8": "hif8",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float": "fp32",
}

HFP8_BIASES = range(-8, 9)
"""Extra biases of hfp8_143 for which every code is an FP9 number (ISSCC21)."""


def _hfp8_143(bias: int = 4, reserve_top: bool = True) -> Format:
    if bias not in HFP8_BIASES:
        raise ValueError(f"hfp8_143: extra bias {bias} given; give one in -8..8, the range that FP9 holds")
    specials = _S.MERGED if reserve_top else _S.NONE
    arguments = f"bias={bias}" + ("" if reserve_top else ",reserve_top=False")
    return FixedFormat(f"hfp8_143({arguments})", 4, 3, 7 + bias, False, specials, _NEAREST_UP, source="HFP8")


def _graphcore(exponent_bits: int, default_bias: int) -> Callable[..., Format]:
    def build(bias: int = default_bias) -> Format:
        name = f"f1{exponent_bits}{7 - exponent_bits}(bias={bias})"
        return FixedFormat(name, exponent_bits, 7 - exponent_bits, bias, True, _S.NEGATIVE_ZERO, source="GC")

    return build


def _int8(bias: int = 0) -> Format:
    return ScaledInteger(f"int8(bias={bias})", bias)


FAMILIES: dict[str, Callable[..., Format]] = {
    "hfp8_143": _hfp8_143,
    "f125": _graphcore(2, 1),
    "f134": _graphcore(3, 3),
    "f143": _graphcore(4, 7),
    "f152": _graphcore(5, 15),
    "f161": _graphcore(6, 31),
    "int8": _int8,
}

_CALL = re.compile(r"(\w+)(?:\((.*)\))?")
_DESCRIPTION = re.compile(r"1\.(\d)\.(\d+)(?:,b=(-?\d+))?")


def format(name: str | Format) -> Format:
    """The format of a name, such as "hif8", "float8_e4m3fn", "hfp8_143(bias=2)", "f143(bias=10)" or "1.4.3,b=10".

    A `Format` is returned as it is. "1.E.p,b=B" is Graphcore's family: subnormals, NaN at 0x80 alone.

    Raises ValueError for a name or parameter that is not known, TypeError for something that is no name.
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        raise TypeError(f"a format is named by a string or a Format; {type(name).__name__} given")
    return _parse(name)


@functools.lru_cache(maxsize=256)
def _parse(name: str) -> Format:
    text = name.strip().lower().replace(" ", "")
    if text in NAMED or text in ALIASES:
        return NAMED[ALIASES.get(text, text)]
    if described := _DESCRIPTION.fullmatch(text):
        return _described(name, *described.groups())
    call = _CALL.fullmatch(text)
    if call is None or call[1] not in FAMILIES:
        raise ValueError(
            f"unknown format {name!r}; known: {', '.join([*NAMED, *FAMILIES])}, or a description such as '1.4.3,b=10'"
        )
    try:
        return FAMILIES[call[1]](**_arguments(call[2]))
    except TypeError:
        raise ValueError(
            f"format {name!r} has a parameter that {call[1]} does not take; write it as {FAMILIES[call[1]]().name}"
        ) from None


def _arguments(text: str | None) -> dict[str, int | bool]:
    arguments: dict[str, int | bool] = {}
    for item in filter(None, (text or "").split(",")):
        key, _, value = item.partition("=")
        if value not in ("true", "false") and not re.fullmatch(r"[+-]?\d+", value):
            raise ValueError(f"format parameter {item!r} is not of the form name=integer or name=True")
        arguments[key] = value == "true" if value in ("true", "false") else int(value)
    return arguments


def _described(name: str, exponent_bits: str, fraction_bits: str, bias: str | None) -> Format:
    e, p = int(exponent_bits), int(fraction_bits)
    if e == 0 and p == 7:
        return _int8(int(bias or 0))
    if not 1 <= e <= 8:
        raise ValueError(f"format {name!r}: {e} exponent bits given; 1 to 8 are possible, or 1.0.7")
    b = int(bias) if bias is not None else (1 << (e - 1)) - 1
    return FixedFormat(f"1.{e}.{p},b={b}", e, p, b, True, _S.NEGATIVE_ZERO, source="GC")


def with_bias(fmt: Format, bias: int) -> Format:
    """The format of the same family with another `bias` parameter (hfp8_143: the extra bias).

    Raises ValueError where the format has no such parameter or the bias is out of its range.
    """
    family = fmt.name.partition("(")[0]
    if family not in FAMILIES:
        raise ValueError(f"{fmt.name} has no bias to set; formats with one: {', '.join(FAMILIES)}")
    if isinstance(fmt, FixedFormat) and family == "hfp8_143":
        return _hfp8_143(bias, fmt.specials is _S.MERGED)
    return FAMILIES[family](bias)
