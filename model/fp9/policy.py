"""What a cast does besides the format: rounding, overflow, NaN (docs/numerics.md, conversion)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from fp9.formats import Format
from fp9.rounding import NanSign, Overflow, Rounding, choice


@dataclass(frozen=True, slots=True)
class CastPolicy:
    """Everything besides source and target that decides a cast's result.

    `rounding` None means the target family's default. `inf_clip` applies to FNUZ and Graphcore targets: an infinite
    source saturates to the largest number instead of becoming NaN. `nan_sign` says which NaN results have a sign.
    """

    rounding: Rounding | None = None
    overflow: Overflow = Overflow.SATURATE
    nan_to_zero: bool = False
    inf_clip: bool = False
    nan_sign: NanSign = NanSign.KEPT

    def saturates(self, fmt: Format, negative: bool) -> bool:
        """Whether finite numbers of this sign beyond the largest become it."""
        directed = self.overflow is Overflow.DIRECTED and self.rounding_for(fmt).moves_toward_zero(negative)
        return directed or self.overflow is Overflow.SATURATE

    def rounding_for(self, fmt: Format) -> Rounding:
        """The rounding that applies to a target."""
        return self.rounding or fmt.default_rounding

    def check(self, fmt: Format) -> None:
        """Raise ValueError where the policy does not fit the target format."""
        if self.rounding and not fmt.offers(self.rounding):
            offered = ", ".join(mode.value for mode in Rounding if fmt.offers(mode))
            raise ValueError(f"{self.rounding.value} rounding is not defined for {fmt.name}; choose one of {offered}")
        if self.nan_to_zero and not fmt.has_zero:
            raise ValueError(f"{fmt.name} has no zero; nan_to_zero cannot be asked of it")
        if self.overflow is not Overflow.SATURATE and fmt.inf_code(False) is None and fmt.nan_code(False) is None:
            raise ValueError(f"{fmt.name} has neither infinity nor NaN; use overflow='saturate'")


@functools.lru_cache(maxsize=256)
def cast_policy(
    fmt: Format,
    rounding: Rounding | str | None,
    overflow: Overflow | str,
    nan_to_zero: bool,
    inf_clip: bool,
    nan_sign: NanSign | str = NanSign.KEPT,
) -> CastPolicy:
    """The policy of names, checked against a target. Raises ValueError for unknown names and what does not fit."""
    policy = CastPolicy(
        None if rounding is None else choice(Rounding, rounding, "rounding"),
        choice(Overflow, overflow, "overflow policy"),
        nan_to_zero,
        inf_clip,
        choice(NanSign, nan_sign, "sign of NaN"),
    )
    policy.check(fmt)
    return policy
