"""What a cast does besides the format: rounding, overflow, NaN (spec sections 2.1 and 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from fp9.formats import Format, HiFloat8, Rounding


class Overflow(Enum):
    """What becomes of magnitudes above the largest number."""

    SATURATE = "saturate"
    INF = "inf"


@dataclass(frozen=True, slots=True)
class CastPolicy:
    """Everything besides source and target that decides a cast's result.

    `rounding` None means the target family's default. `inf_clip` applies to FNUZ and Graphcore targets: an infinite
    source saturates to the largest number instead of becoming NaN.
    """

    rounding: Rounding | None = None
    overflow: Overflow = Overflow.SATURATE
    nan_to_zero: bool = False
    inf_clip: bool = False

    def rounding_for(self, fmt: Format) -> Rounding:
        """The rounding that applies to a target."""
        return self.rounding or fmt.default_rounding

    def check(self, fmt: Format) -> None:
        """Raise ValueError where the policy does not fit the target format."""
        if self.rounding is Rounding.HYBRID and not isinstance(fmt, HiFloat8):
            raise ValueError(f"hybrid rounding is defined for hif8; {fmt.name} given: choose rne, rna, rtz, rup or rdn")
        if self.nan_to_zero and not fmt.signed:
            raise ValueError(f"{fmt.name} has no zero; nan_to_zero cannot be asked of it")
        if self.overflow is Overflow.INF and fmt.inf_code(False) is None and fmt.nan_code(False) is None:
            raise ValueError(f"{fmt.name} has neither infinity nor NaN; use overflow='saturate'")


_Choice = TypeVar("_Choice", bound=Enum)


def choice(kind: type[_Choice], value: _Choice | str, what: str) -> _Choice:
    """The member of `kind` that `value` is or names; ValueError names what is offered."""
    try:
        return kind(value)
    except ValueError:
        offered = ", ".join(str(member.value) for member in kind)
        raise ValueError(f"{what} {value!r} is not known; choose one of {offered}") from None
