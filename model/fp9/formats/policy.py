"""Cast policies: rounding mode, overflow policy and NaN rules of a cast."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from numbers import Integral

from fp9.formats import FixedFormat, Format, Kind, Specials
from fp9.formats.rounding import NanSign, Overflow, Payload, Rounding, choice


@dataclass(frozen=True, slots=True)
class CastPolicy:
    """Options that determine the result of a cast, besides the source format and the target format."""

    # None selects the target format's default rounding mode.
    rounding: Rounding | None = None
    overflow: Overflow = Overflow.SATURATE
    nan_to_zero: bool = False
    # For FNUZ and Graphcore targets, an infinite source gives the largest number instead of NaN.
    inf_clip: bool = False
    # Which NaN results have a sign.
    nan_sign: NanSign = NanSign.KEPT
    # Code of a positive NaN result. None selects the target format's canonical NaN.
    nan: int | None = None
    # Treatment of a source NaN's payload.
    payload: Payload = Payload.LOST
    # Whether the cast treats a subnormal source as a zero with the same sign (x86's DAZ).
    flush_source: bool = False

    def saturates(self, fmt: Format, negative: bool) -> bool:
        """Return whether a finite number outside the format's range saturates."""
        match self.overflow:
            case Overflow.SATURATE | Overflow.PROPAGATE:
                return True
            case Overflow.INF:
                return False
        rounding = self.rounding_for(fmt)
        if self.overflow is Overflow.DIRECTED or rounding.moves_toward_zero(negative):
            return rounding.moves_toward_zero(negative)
        if negative and not fmt.signed:
            return False
        ends_odd = rounding is Rounding.RTO and not negative and bool(fmt.max_code & 1)
        return ends_odd or not fmt.has_inf

    def clips(self, fmt: Format, negative: bool) -> bool:
        """Return whether an infinite source saturates to the largest or the lowest number."""
        exists = fmt.has_inf and (fmt.signed or not negative)
        match self.overflow:
            case Overflow.SATURATE:
                return True
            case Overflow.PROPAGATE:
                return not exists
            case Overflow.SAT_NONE:
                return not exists and (fmt.signed or not negative)
        return False

    def nan_code(self, fmt: Format, negative: bool) -> int | None:
        """Return the code of a NaN result, or None if the format has no NaN."""
        plain, own = fmt.nan_code(False), fmt.nan_code(negative)
        if plain is None or own is None:
            return None
        return own if self.nan is None else self.nan ^ plain ^ own

    def rounding_for(self, fmt: Format) -> Rounding:
        return self.rounding or fmt.default_rounding

    def check(self, fmt: Format) -> None:
        if self.rounding and not fmt.offers(self.rounding):
            offered = ", ".join(mode.value for mode in Rounding if fmt.offers(mode))
            raise ValueError(f"{self.rounding.value} rounding is not defined for {fmt.name}; choose one of {offered}")
        if self.nan_to_zero and not fmt.has_zero:
            raise ValueError(f"{fmt.name} has no zero; leave nan_to_zero out")
        if self.overflow is not Overflow.SATURATE and fmt.inf_code(False) is None and fmt.nan_code(False) is None:
            raise ValueError(f"{fmt.name} has neither infinity nor NaN; use overflow='saturate'")
        if self.nan is not None and not (0 <= self.nan < 1 << fmt.bits and fmt.kind_of(self.nan) is Kind.NAN):
            raise ValueError(f"nan={self.nan:#x} given; give a code of {fmt.name} that is NaN")
        ieee = isinstance(fmt, FixedFormat) and fmt.specials is Specials.IEEE and not fmt.padding
        if self.payload is not Payload.LOST and (not ieee or self.nan_to_zero or self.nan is not None):
            raise ValueError(
                f"payload {self.payload.value} given for {fmt.name}; it takes a format with the special codes of IEEE "
                "754 in all its bits, and neither nan nor nan_to_zero"
            )


def cast_policy(
    fmt: Format,
    rounding: Rounding | str | None,
    overflow: Overflow | str,
    nan_to_zero: bool,
    inf_clip: bool,
    nan_sign: NanSign | str = NanSign.KEPT,
    nan: int | None = None,
    payload: Payload | str = Payload.LOST,
    flush_source: bool = False,
) -> CastPolicy:
    """Return a cast policy after checking that the policy fits the target format."""
    names = {"rounding": rounding, "overflow": overflow, "nan_sign": nan_sign, "payload": payload}
    for name, value in names.items():
        if not isinstance(value, str | Enum) and (value is not None or name != "rounding"):
            raise TypeError(f"{name} of type {type(value).__name__} given; give a name, such as {_SUCH_AS[name]!r}")
    if nan is not None and (isinstance(nan, bool) or not isinstance(nan, Integral)):
        raise TypeError(f"nan of type {type(nan).__name__} given; give the code of NaN, an integer")
    return _policy(fmt, rounding, overflow, nan_to_zero, inf_clip, nan_sign, nan, payload, flush_source)


_SUCH_AS = {"rounding": "rne", "overflow": "saturate", "nan_sign": "kept", "payload": "lost"}


@functools.lru_cache(maxsize=256)
def _policy(
    fmt: Format,
    rounding: Rounding | str | None,
    overflow: Overflow | str,
    nan_to_zero: bool,
    inf_clip: bool,
    nan_sign: NanSign | str,
    nan: int | None,
    payload: Payload | str,
    flush_source: bool,
) -> CastPolicy:
    policy = CastPolicy(
        None if rounding is None else choice(Rounding, rounding, "rounding"),
        choice(Overflow, overflow, "overflow policy"),
        nan_to_zero,
        inf_clip,
        choice(NanSign, nan_sign, "sign of NaN"),
        nan,
        choice(Payload, payload, "payload of NaN"),
        flush_source,
    )
    policy.check(fmt)
    return policy
