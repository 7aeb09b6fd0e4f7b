"""What a rounding is: the modes with their facts and words, what overflow becomes, the exception flags.

Everything that asks "which modes ...?" asks a fact of `Rounding` here, so that a new mode is a row of its table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import NamedTuple, TypeVar

from fp9.names import Synonyms, plain


class Bits(Enum):
    """Where a rounding that is not decided by the dropped bits alone gets other bits from."""

    GIVEN = "given"
    """random integers, given beside the number"""
    SOURCE = "source"
    """the last bits of the source's own pattern"""


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
    """Rounding of an exact value to the neighbours that a format offers (IEEE 754-2019 section 4.3).

    `rto`: Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE ToC 2008. `sr`: numerics.md.
    `hybrid`: HiF8 section 3.2. `sr`, `srb` and `src` are P3109's StochasticA, B and C (v4.0, 4.7.4). `bias`: x86's
    conversions with bias (Bochs, fp8.cc). Pairs of facts hold for positive and for negative numbers.
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
        """The mode as a reader is told."""
        return _FACTS[self].words

    @property
    def is_nearest(self) -> bool:
        """Whether the result is always the nearest number, whatever becomes of ties."""
        return _FACTS[self].is_nearest

    @property
    def grows_from_half(self) -> bool:
        """Whether a magnitude becomes larger, if it does at all, only where half an ulp or more is dropped."""
        return _FACTS[self].grows_from_half

    @property
    def is_monotone(self) -> bool:
        """Whether a larger number never gives a smaller result: true where the number alone decides."""
        return _FACTS[self].bits is None

    @property
    def needs_bits(self) -> bool:
        """Whether random bits must be given."""
        return _FACTS[self].bits is Bits.GIVEN

    @property
    def is_carry(self) -> bool:
        """Whether it is nothing but a carry out of the dropped bits and the random ones."""
        return _FACTS[self].is_carry

    @property
    def needs_places(self) -> bool:
        """Whether it is defined for formats alone whose numbers have equally many places, but subnormal ones."""
        return _FACTS[self].needs_places

    @property
    def reads_source(self) -> bool:
        """Whether the decision takes bits of the source's own pattern."""
        return _FACTS[self].bits is Bits.SOURCE

    def moves_away(self, negative: bool) -> bool:
        """Whether every number of this sign that is not representable moves away from zero."""
        return _FACTS[self].away_from_zero[negative]

    def moves_toward_zero(self, negative: bool) -> bool:
        """Whether every number of this sign that is not representable moves toward zero."""
        return _FACTS[self].toward_zero[negative]

    def keeps_nonzero(self, negative: bool) -> bool:
        """Whether no number of this sign but zero becomes zero."""
        return _FACTS[self].keeps_nonzero[negative]

    @property
    def cancels_to_minus(self) -> bool:
        """Whether the exact sum of a number and its negative is -0 (IEEE 754-2019 section 6.3)."""
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
    Rounding.RTO: _Facts("to odd: what is not exact takes the neighbour that ends in 1", keeps_nonzero=(True, True)),
    Rounding.SR: _Facts("stochastic: random bits are added below the last place", bits=Bits.GIVEN, is_carry=True),
    Rounding.SRB: _Facts("stochastic: as sr, with half a random bit's step more on both sides", bits=Bits.GIVEN),
    Rounding.SRC: _Facts("stochastic: as sr, the dropped bits rounded to nearest even first", bits=Bits.GIVEN),
    Rounding.BIAS: _Facts(
        "stochastic: as sr with the places of a normal number, then toward zero to what is left of subnormal ones",
        bits=Bits.GIVEN,
        needs_places=True,
    ),
    Rounding.HYBRID: _Facts(
        "hif8's hybrid: ties away near 1, elsewhere by a threshold from the source's own last bits", bits=Bits.SOURCE
    ),
}


class Overflow(Enum):
    """What becomes of magnitudes above the largest number."""

    SATURATE = "saturate"
    """the largest number, of infinite numbers too"""
    INF = "inf"
    """infinity, or NaN in a format without infinities"""
    DIRECTED = "directed"
    """the largest number where the rounding leads toward zero on that side, else as `inf` (IEEE 754-2019, 7.4)"""
    PROPAGATE = "propagate"
    """the largest number; infinities stay where there are such (P3109's SatPropagate)"""
    SAT_NONE = "sat_none"
    """as `directed`, but the largest number in a format without that infinity, and where rounding to odd ends at it
    (P3109's SatNone; NaN of negative numbers where there are none)"""


class NanSign(Enum):
    """Which results that are NaN have a sign, in a format whose NaN has one."""

    KEPT = "kept"
    """all: that of the source"""
    OVERFLOW = "overflow"
    """those that stand for infinity; NaN gives the positive one (Arm FPConvertFP8)"""
    LOST = "lost"
    """none (RISC-V Zvfofp8min)"""


class Payload(Enum):
    """What becomes of the payload of a source's NaN, in a format with the special codes of IEEE 754."""

    LOST = "lost"
    """the format's canonical NaN stands for all"""
    QUIETED = "quieted"
    """its upper bits are kept, and the first one is set (x86)"""
    KEPT = "kept"
    """its upper bits are kept, so that signalling NaN stay signalling"""


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Switches of HiF8 hybrid rounding (numerics.md).

    `strict` rounds up when F > T instead of F >= T; `doc_overflow` keeps [40960, 1.5 * 2^15) stochastic, as CANN's page
    writes it; `bf16_via_fp32` takes bfloat16 sources through FP32, as Ascend does.
    """

    strict: bool = False
    doc_overflow: bool = False
    bf16_via_fp32: bool = False


PUBLISHED = Hybrid()
"""Hybrid rounding as the paper has it."""


class Flags(IntFlag):
    """IEEE 754-2019 section 7 exceptions; tininess is detected after rounding. Division by zero cannot occur.

    The bits are those of Berkeley TestFloat and RISC-V `fflags`.
    """

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    DIVIDE_BY_ZERO = 8
    INVALID = 16


FLAG_BITS = 5
"""Width of a flags field."""

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
"""What others call the roundings. microxcaling calls ties away from zero `nearest`: there, name `rna`."""

OVERFLOW_NAMES = Synonyms(
    "overflow policy",
    {
        "P3109 v4.0": {"SatFinite": "saturate", "SatPropagate": "propagate", "SatNone": "sat_none"},
        "CUDA, __nv_saturation_t": {"__NV_SATFINITE": "saturate", "__NV_NOSAT": "inf"},
        "common words": {"sat": "saturate", "saturating": "saturate", "clip": "saturate", "infinity": "inf"},
    },
)
"""What others call the overflow policies."""

_SYNONYMS: dict[type[Enum], Synonyms] = {Rounding: ROUNDING_NAMES, Overflow: OVERFLOW_NAMES}

_Choice = TypeVar("_Choice", bound=Enum)


def choice(kind: type[_Choice], value: _Choice | str, what: str) -> _Choice:
    """The member of `kind` that `value` is or names, in any letter case; synonyms count.

    Raises ValueError for a name that nobody has or several members have, TypeError for what is no name.
    """
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
