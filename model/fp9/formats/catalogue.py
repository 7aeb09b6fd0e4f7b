"""Catalogue of number formats, and the function `format` that finds a format by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np

from fp9.formats.base import Format
from fp9.formats.fixed import FixedFormat, Specials
from fp9.formats.hifloat8 import HiFloat8
from fp9.formats.integer import ScaledInteger
from fp9.formats.rounding import Rounding
from fp9.formats.scale import PowerOfTwo
from fp9.formats.spellings import ALIASES, BLOCK_NAMES, FORMAT_NAMES
from fp9.formats.unsigned import UnsignedFloat
from fp9.names import unknown

_S = Specials
_NEAREST_UP = Rounding.RNA


def p3109(bits: int, precision: int, signed: bool, extended: bool) -> Format:
    """Return the IEEE P3109 format Binary{bits}p{precision}{s,u}{e,f} (v4.0, sections 3.1, 3.2 and 4.7.2)."""
    name = f"binary{bits}p{precision}{'s' if signed else 'u'}{'e' if extended else 'f'}"
    if not 3 <= bits <= 8 or not 1 <= precision <= bits - signed:
        limit = "less than the number of bits" if signed else "at most the number of bits"
        raise ValueError(f"{name} given; give 3 to 8 bits, and a precision of at least 1 and {limit}")
    fields = name, bits - precision + (not signed), precision - 1, 1 << (bits - precision - signed)
    if signed:
        return FixedFormat(*fields, specials=_S.P3109 if extended else _S.P3109_FINITE, source="P3109")
    return UnsignedFloat(*fields, source="P3109", infinity=extended, bounded=True)


NAMED: dict[str, Format] = {
    f.name: f
    for f in (
        FixedFormat("e4m3", 4, 3, 7, True, _S.NAN_ONLY, source="FP8"),
        FixedFormat("e5m2", 5, 2, 15, True, _S.IEEE, source="FP8"),
        FixedFormat("e4m3fnuz", 4, 3, 8, True, _S.NEGATIVE_ZERO, source="ONNX"),
        FixedFormat("e5m2fnuz", 5, 2, 16, True, _S.NEGATIVE_ZERO, source="ONNX"),
        FixedFormat("e4m3b11fnuz", 4, 3, 11, True, _S.NEGATIVE_ZERO, source="ml_dtypes"),
        FixedFormat("e4m3ieee", 4, 3, 7, True, _S.IEEE, source="ml_dtypes"),
        FixedFormat("e3m4ieee", 3, 4, 3, True, _S.IEEE, source="ml_dtypes"),
        FixedFormat("e2m1", 2, 1, 1, True, _S.FINITE, source="MX"),
        FixedFormat("e2m3", 2, 3, 1, True, _S.FINITE, source="MX"),
        FixedFormat("e3m2", 3, 2, 3, True, _S.FINITE, source="MX"),
        ScaledInteger("mxint8", 6, source="MX"),
        PowerOfTwo(),
        UnsignedFloat("ue4m3", 4, 3, 7, source="PTX"),
        UnsignedFloat("ue5m3", 5, 3, 15, source="PTX"),
        FixedFormat("e1m2", 1, 2, 1, True, _S.FINITE, source="HiF4"),
        UnsignedFloat("e6m2", 6, 2, 48, subnormals=False, source="HiF4"),
        *(p3109(8, p, signed=True, extended=True) for p in range(1, 8)),
        FixedFormat("hfp8_152", 5, 2, 15, False, _S.MERGED, _NEAREST_UP, source="HFP8"),
        FixedFormat("fp9", 5, 3, 15, False, _S.MERGED, _NEAREST_UP, source="ISSCC21"),
        FixedFormat("dlfloat16", 6, 9, 31, False, _S.MERGED, _NEAREST_UP, source="DLF"),
        FixedFormat("fp16", 5, 10, 15, source="IEEE 754"),
        FixedFormat("bf16", 8, 7, 127, source="IEEE 754 layout"),
        FixedFormat("tf32", 8, 10, 127, source="NVIDIA A100"),
        FixedFormat("fp32", 8, 23, 127, source="IEEE 754"),
        FixedFormat("e8m13", 8, 13, 127, source="MMA-Sim", padding=10),
        HiFloat8(),
    )
}

HFP8_BIASES = range(-8, 9)
"""Extra biases of hfp8_143 for which every number of the format is also an FP9 number (ISSCC21)."""


def _hfp8_143(bias: int = 4, reserve_top: bool = True) -> Format:
    if bias not in HFP8_BIASES:
        raise ValueError(f"hfp8_143: extra bias {bias} given; give one in -8..8, the range that FP9 holds")
    specials = _S.MERGED if reserve_top else _S.NONE
    arguments = f"bias={bias}" + ("" if reserve_top else ",reserve_top=False")
    return FixedFormat(
        f"hfp8_143({arguments})", 4, 3, 7 + bias, False, specials, _NEAREST_UP, source="HFP8", programmable_bias=True
    )


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

_MODULE = re.compile(r"^(?:[a-z]\w*\.)+", re.IGNORECASE)

_CALL = re.compile(r"(\w+)(?:\((.*)\))?")
_P3109 = re.compile(r"binary(\d+)p(\d+)([su])([ef])")
_DESCRIPTION = re.compile(
    r"1\.(?P<e>\d)\.(?P<p>\d+)(?:,b=(?P<bias>-?\d+))?(?:,specials=(?P<specials>\w+))?(?:,subnormals=(?P<sub>true|false))?"
)


def format(name: str | Format | object) -> Format:
    """Return the format with a name, such as "hif8", "float8_e4m3fn", "hfp8_143(bias=2)" or "1.4.3,b=10".

    A dtype of NumPy, ml_dtypes, en_dtypes or torch is accepted in place of a name. A `Format` is returned unchanged.
    The description "1.E.p,b=B" selects a Graphcore format with E exponent bits, p fraction bits and bias B. Graphcore
    formats have subnormals, and their only NaN is 0x80. A format description may end in "specials=ieee" to select other
    special codes, or in "subnormals=false" for a format without subnormals. The names for `specials` are ieee,
    nan_only, negative_zero, merged, none, finite, p3109 and p3109_finite. Names such as "binary6p3uf" select IEEE P3109
    formats.

    Raises ValueError for an unknown name or parameter, and TypeError for an object that is not a name.
    """
    if isinstance(name, str):
        return _parse(name)
    if isinstance(name, Format):
        return name
    text = dtype_name(name)
    if text is None:
        raise TypeError(f"a format is named by a string, a Format or a dtype; {type(name).__name__} given")
    return _parse(text)


def fixed_format(name: str | Format | object) -> FixedFormat:
    """Return the fixed-field format of a name. Raises ValueError if the format has no fixed-position fields."""
    found = format(name)
    if not isinstance(found, FixedFormat):
        raise ValueError(f"{found.name} given; give a format of fixed fields, such as fp32 or e4m3")
    return found


def dtype_name(dtype: object) -> str | None:
    """Return the name of a dtype or scalar type."""
    kind = type(dtype)
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        return str(dtype).removeprefix("torch.")
    if isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic)):
        return np.dtype(dtype).name
    return dtype.__name__ if isinstance(dtype, type) and dtype.__name__ in ALIASES else None


@functools.lru_cache(maxsize=256)
def _parse(name: str) -> Format:
    text = name.strip().lower().replace(" ", "")
    if text in NAMED or text in ALIASES:
        return NAMED[ALIASES.get(text, text)]
    if synonym := FORMAT_NAMES.find(_MODULE.sub("", name.strip())):
        return NAMED[synonym]
    if BLOCK_NAMES.find(name):
        raise ValueError(
            f"{name} given as format of single numbers; it is a block format: call fp9.quantise(x, {name!r}) for its "
            "elements and scales"
        )
    if described := _DESCRIPTION.fullmatch(text):
        return _described(name, described.groupdict())
    if named := _P3109.fullmatch(text):
        return p3109(int(named[1]), int(named[2]), named[3] == "s", named[4] == "e")
    call = _CALL.fullmatch(text)
    if call is None or call[1] not in FAMILIES:
        known = [*NAMED, *FAMILIES, *ALIASES]
        raise ValueError(
            unknown("format", name, known, "`fp9 formats` lists all, and '1.4.3,b=10' describes one by its bits")
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


def _described(name: str, given: dict[str, str | None]) -> Format:
    e, p = int(given["e"] or 0), int(given["p"] or 0)
    if e == 0 and p == 7 and not (given["specials"] or given["sub"]):
        return _int8(int(given["bias"] or 0))
    if not 1 <= e <= 8:
        raise ValueError(f"format {name!r}: {e} exponent bits given; 1 to 8 are possible, or 1.0.7")
    bias = int(given["bias"]) if given["bias"] is not None else (1 << (e - 1)) - 1
    known = {member.name.lower(): member for member in Specials}
    word = given["specials"] or "negative_zero"
    if word not in known:
        raise ValueError(f"format {name!r}: specials {word!r} are not known; choose one of {', '.join(known)}")
    subnormals = given["sub"] != "false"
    rest = f",specials={word}" if given["specials"] else ""
    rest += "" if subnormals else ",subnormals=false"
    source = "GC" if not rest else "description"
    return FixedFormat(f"1.{e}.{p},b={bias}{rest}", e, p, bias, subnormals, known[word], source=source)


def with_bias(fmt: Format, bias: int) -> Format:
    """Return the same format with another value of the parameter `bias`. For hfp8_143, this is the extra bias.

    Raises ValueError if the format has no `bias` parameter or if the bias is out of range.
    """
    family = fmt.name.partition("(")[0]
    if family not in FAMILIES:
        raise ValueError(f"{fmt.name} has no bias to set; formats with one: {', '.join(FAMILIES)}")
    if isinstance(fmt, FixedFormat) and fmt.programmable_bias:
        return _hfp8_143(bias, fmt.specials is _S.MERGED)
    return FAMILIES[family](bias)
