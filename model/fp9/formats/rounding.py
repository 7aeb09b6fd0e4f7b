"""Rounding modes and their properties, overflow policies, and exception flags."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import NamedTuple, TypeVar

from fp9.names import Synonyms, plain


class Bits(Enum):
    """Additional bits that a rounding mode needs, such as random bits."""

    GIVEN = "given"
    """random integers that the caller supplies with the number"""
    SOURCE = "source"
    """the lowest bits of the source number's bit pattern"""


class _Facts(NamedTuple):
    words: str
    is_nearest: bool = False
    grows_from_half: bool = False
    away_from_zero: tuple[bool, bool] = (False, False)
    keeps_nonzero: tuple[bool, bool] = (False, False)
    toward_zero: tuple[bool, bool] = (False, False)
    bits: Bits | None = None
    is_carry: bool = False
    needs_places: bool = False


class Rounding(Enum):
    """Rounding modes, which select one of the two neighbours of an exact value (IEEE 754-2019 section 4.3).

    `rto` rounds to odd (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE ToC 2008). `sr`,
    `srb` and `src` are the stochastic rounding modes StochasticA, StochasticB and StochasticC of P3109 (v4.0, section
    4.7.4). The page numerics.md also describes stochastic rounding. `hybrid` is the hybrid rounding of HiFloat8 (HiF8
    section 3.2). `bias` rounds stochastically, like x86's conversion instructions with a bias operand (Bochs, fp8.cc).
    """

    RNE = "rne"
    RNA = "rna"
    RTZ = "rtz"
    RUP = "rup"
    RDN = "rdn"
    RTO = "rto"
    SR = "sr"
    HYBRID = "hybrid"
    SRB = "srb"
    SRC = "src"
    BIAS = "bias"

    @property
    def words(self) -> str:
        """Return a description of the rounding mode in words."""
        return _FACTS[self].words

    @property
    def is_nearest(self) -> bool:
        """Return whether the rounding mode always rounds to a nearest number."""
        return _FACTS[self].is_nearest

    @property
    def grows_from_half(self) -> bool:
        """Return whether the rounding mode rounds a magnitude up only if the dropped bits are at least half an ulp."""
        return _FACTS[self].grows_from_half

    @property
    def is_monotone(self) -> bool:
        """Return whether the rounding mode is monotone: a larger number never gives a smaller result."""
        return _FACTS[self].bits is None

    @property
    def needs_bits(self) -> bool:
        """Return whether the rounding mode needs random bits."""
        return _FACTS[self].bits is Bits.GIVEN

    @property
    def is_carry(self) -> bool:
        """Return whether the rounding mode adds random bits to the dropped bits, and rounds up on a carry."""
        return _FACTS[self].is_carry

    @property
    def needs_places(self) -> bool:
        """Return whether the rounding mode requires a format with equally many fraction bits in every binade."""
        return _FACTS[self].needs_places

    @property
    def reads_source(self) -> bool:
        """Return whether the rounding mode takes a threshold from the lowest bits of the source number."""
        return _FACTS[self].bits is Bits.SOURCE

    def moves_away(self, negative: bool) -> bool:
        """Return whether every inexact number of the given sign is rounded away from zero."""
        return _FACTS[self].away_from_zero[negative]

    def moves_toward_zero(self, negative: bool) -> bool:
        """Return whether every inexact number of the given sign is rounded toward zero."""
        return _FACTS[self].toward_zero[negative]

    def keeps_nonzero(self, negative: bool) -> bool:
        """Return whether a nonzero number of the given sign is never rounded to zero."""
        return _FACTS[self].keeps_nonzero[negative]

    @property
    def cancels_to_minus(self) -> bool:
        """Return whether x + (-x) gives -0 in the rounding mode (IEEE 754-2019 section 6.3)."""
        return _FACTS[self].away_from_zero == (False, True)


_FACTS = {
    Rounding.RNE: _Facts("to nearest, ties to even", is_nearest=True, grows_from_half=True),
    Rounding.RNA: _Facts("to nearest, ties away from zero", is_nearest=True, grows_from_half=True),
    Rounding.RTZ: _Facts("toward zero", grows_from_half=True, toward_zero=(True, True)),
    Rounding.RUP: _Facts(
        "toward plus infinity", away_from_zero=(True, False), keeps_nonzero=(True, False), toward_zero=(False, True)
    ),
    Rounding.RDN: _Facts(
        "toward minus infinity", away_from_zero=(False, True), keeps_nonzero=(False, True), toward_zero=(True, False)
    ),
    Rounding.RTO: _Facts(
        "to odd: an inexact number becomes the neighbour whose last bit is 1", keeps_nonzero=(True, True)
    ),
    Rounding.SR: _Facts("stochastic: random bits are added below the last place", bits=Bits.GIVEN, is_carry=True),
    Rounding.SRB: _Facts("stochastic: as sr, with R + 1/2 in place of the random integer R", bits=Bits.GIVEN),
    Rounding.SRC: _Facts("stochastic: as sr, after the dropped bits are rounded to nearest even", bits=Bits.GIVEN),
    Rounding.BIAS: _Facts(
        "stochastic: as sr to the precision of a normal number, then toward zero to the subnormal number",
        bits=Bits.GIVEN,
        needs_places=True,
    ),
    Rounding.HYBRID: _Facts(
        "hif8's hybrid: ties away near 1, elsewhere by a threshold from the source's last bits", bits=Bits.SOURCE
    ),
}


class Overflow(Enum):
    """Overflow policy: the result of a cast whose rounded magnitude exceeds the largest number."""

    SATURATE = "saturate"
    """the largest number, also for infinite sources"""
    INF = "inf"
    """infinity, or NaN in a format without infinities"""
    DIRECTED = "directed"
    """the largest number if the rounding mode moves the number toward zero, else as `inf` (IEEE 754-2019, 7.4)"""
    PROPAGATE = "propagate"
    """the largest number, but an infinite source stays infinite if the format has infinities (P3109's SatPropagate)"""
    SAT_NONE = "sat_none"
    """as `directed`, but the largest number in a format without infinities (P3109's SatNone)

    Rounding to odd also gives the largest number if the code of the largest number is odd. A negative number becomes
    NaN in an unsigned format.
    """


class NanSign(Enum):
    """Rule for the sign of a NaN result, in formats whose NaN has a sign."""

    KEPT = "kept"
    """every NaN result has the source's sign"""
    OVERFLOW = "overflow"
    """only a NaN that replaces an infinity has a sign, and a NaN source gives the positive NaN (Arm FPConvertFP8)"""
    LOST = "lost"
    """every NaN result is positive (RISC-V Zvfofp8min)"""


class Payload(Enum):
    """Rule for the payload of a source NaN, in formats with the special codes of IEEE 754."""

    LOST = "lost"
    """every NaN becomes the format's canonical NaN"""
    QUIETED = "quieted"
    """the payload's upper bits are kept, and the quiet bit is set (x86)"""
    KEPT = "kept"
    """the payload's upper bits are kept, so that signalling NaN stays signalling"""


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Options of HiFloat8's hybrid rounding (numerics.md).

    Hybrid rounding rounds a magnitude up if the dropped bits are greater than or equal to a threshold. If `strict` is
    true, hybrid rounding rounds up only if the dropped bits are greater than the threshold. If `doc_overflow` is true,
    a magnitude in [40960, 49152) overflows only if hybrid rounding rounds the magnitude up. The option `doc_overflow`
    follows CANN's documentation. If `doc_overflow` is false, all magnitudes of at least 40960 overflow. With
    `bf16_via_fp32`, bfloat16 sources are first converted to FP32, as on Ascend processors.
    """

    strict: bool = False
    doc_overflow: bool = False
    bf16_via_fp32: bool = False


PUBLISHED = Hybrid()
"""Options of hybrid rounding as published in the HiFloat8 paper."""


class Flags(IntFlag):
    """Exception flags of IEEE 754-2019 section 7. Tininess is detected after rounding.

    Only division raises `DIVIDE_BY_ZERO`. The flag bits have the same positions as in Berkeley TestFloat and RISC-V
    `fflags`.
    """

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    DIVIDE_BY_ZERO = 8
    INVALID = 16


FLAG_BITS = 5

ROUNDING_NAMES = Synonyms(
    "rounding",
    {
        "IEEE 754-2019, section 4.3": {
            "roundTiesToEven": "rne",
            "roundTiesToAway": "rna",
            "roundTowardZero": "rtz",
            "roundTowardPositive": "rup",
            "roundTowardNegative": "rdn",
        },
        "P3109 v4.0, section 4.7": {
            "NearestTiesToEven": "rne",
            "NearestTiesToAway": "rna",
            "TowardPositive": "rup",
            "TowardNegative": "rdn",
            "TowardZero": "rtz",
            "ToOdd": "rto",
            "StochasticA": "sr",
            "StochasticB": "srb",
            "StochasticC": "src",
        },
        "gfloat, RoundMode": {"TiesToEven": "rne", "TiesToAway": "rna"},
        "RISC-V, frm and vector conversions": {"rmm": "rna", "rod": "rto"},
        "CUDA and PTX": {"rn": "rne", "rz": "rtz", "ru": "rup", "rd": "rdn", "rs": "sr"},
        "Huawei CANN, Cast": {
            "CAST_RINT": "rne",
            "CAST_ROUND": "rna",
            "CAST_TRUNC": "rtz",
            "CAST_CEIL": "rup",
            "CAST_FLOOR": "rdn",
            "CAST_ODD": "rto",
            "CAST_HYBRID": "hybrid",
        },
        "Python, decimal": {
            "ROUND_HALF_EVEN": "rne",
            "ROUND_HALF_UP": "rna",
            "ROUND_CEILING": "rup",
            "ROUND_FLOOR": "rdn",
            "ROUND_DOWN": "rtz",
        },
        "common words": {
            "nearest": "rne",
            "nearest_even": "rne",
            "half_to_even": "rne",
            "half_even": "rne",
            "even": "rne",
            "nearest_away": "rna",
            "half_away": "rna",
            "truncate": "rtz",
            "trunc": "rtz",
            "toward_plus_infinity": "rup",
            "toward_minus_infinity": "rdn",
            "ceil": "rup",
            "odd": "rto",
            "stochastic": "sr",
        },
    },
    {
        "floor": {"rdn": "toward minus infinity, as CANN", "rtz": "of the magnitude, as microxcaling"},
        "down": {"rdn": "toward minus infinity, as C", "rtz": "toward zero, as Python's decimal"},
        "up": {"rup": "toward plus infinity", "rna": "ties away from zero"},
        "round": {"rne": "ties to even, as Python", "rna": "ties away from zero, as C"},
        "half_up": {"rna": "ties away from zero, as Python's decimal", "rup": "toward plus infinity"},
    },
)
"""Names that other sources use for the rounding modes.

The name `nearest` means ties away from zero in microxcaling. Use `rna` for that rounding mode.
"""

OVERFLOW_NAMES = Synonyms(
    "overflow policy",
    {
        "P3109 v4.0": {"SatFinite": "saturate", "SatPropagate": "propagate", "SatNone": "sat_none"},
        "CUDA, __nv_saturation_t": {"__NV_SATFINITE": "saturate", "__NV_NOSAT": "inf"},
        "common words": {"sat": "saturate", "saturating": "saturate", "clip": "saturate", "infinity": "inf"},
    },
)
"""Names that other sources use for the overflow policies."""

_SYNONYMS: dict[type[Enum], Synonyms] = {Rounding: ROUNDING_NAMES, Overflow: OVERFLOW_NAMES}

_Choice = TypeVar("_Choice", bound=Enum)


def choice(kind: type[_Choice], value: _Choice | str, what: str) -> _Choice:
    """Return the member that has the name or synonym `value`, in any letter case."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, str):
        raise TypeError(f"{what} of type {type(value).__name__} given; give {kind.__name__} or its name, a string")
    by_name = {plain(str(member.value)): member for member in kind}
    if (key := plain(value)) in by_name:
        return by_name[key]
    synonyms = _SYNONYMS.get(kind)
    if found := synonyms and synonyms.find(value):
        return kind(found)
    offered = ", ".join(str(member.value) for member in kind)
    raise ValueError(f"{what} {value!r} is not known; choose one of {offered}")
