"""Rules that compute the scale of a block, named as in the literature and in other packages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fp9.formats.rounding import Rounding
from fp9.names import unknown


class Divisor(Enum):
    """Divisor in a scale rule: the number by which a block's largest magnitude (amax) is divided."""

    LARGEST = "the largest element"
    POWER = "the power of two of the largest element"


@dataclass(frozen=True, slots=True)
class ScaleRule:
    """Rule for a block's scale: divide the block's largest magnitude (amax) by a divisor, and round the quotient.

    - `amax_first`: whether the scale rule first rounds amax to the precision of the elements. Ties round up.
    - `tries`: divisors that the scale rule tries for each block, in place of the element format's largest number. The
      scale rule selects the divisor that gives the smallest sum of squared errors, and the first such divisor in a tie.
    - `reciprocals`: whether divisions are replaced by multiplications with reciprocals, which are rounded to bfloat16.
    - `largest_scale`: the block scale of the block that contains the tensor's largest magnitude. The function
      `fp9.blocks.tensor_scale` chooses the scale of the whole tensor accordingly. If `largest_scale` is None,
      `tensor_scale` uses the largest number of the scale format.
    """

    name: str
    divisor: Divisor
    rounding: Rounding
    source: str
    amax_first: bool = False
    tries: tuple[float, ...] = ()
    reciprocals: bool = False
    largest_scale: float | None = None

    @property
    def powers_alone(self) -> bool:
        """Return whether the scale rule requires power-of-two scales."""
        return self.divisor is Divisor.POWER

    def __str__(self) -> str:
        return self.name


RULES = {
    rule.name: rule
    for rule in (
        ScaleRule("floor", Divisor.POWER, Rounding.RTZ, "OCP Microscaling Formats v1.0, section 6.3"),
        ScaleRule("ceil", Divisor.POWER, Rounding.RUP, "torchao, ScaleCalculationMode.CEIL"),
        ScaleRule("even", Divisor.POWER, Rounding.RTZ, "torchao, ScaleCalculationMode.EVEN", amax_first=True),
        ScaleRule(
            "rceil", Divisor.LARGEST, Rounding.RUP, "cuBLAS, 1D block scaling; torchao, ScaleCalculationMode.RCEIL"
        ),
        ScaleRule("rne", Divisor.LARGEST, Rounding.RNE, "NVFP4: arXiv 2509.25149, section 2"),
        ScaleRule(  # the try with 4 multiplies the scale by 1.5, and 1.5 * 256 is below 448, the largest E4M3 number
            "4over6",
            Divisor.LARGEST,
            Rounding.RNE,
            "Four Over Six: arXiv 2512.02010",
            tries=(6.0, 4.0),
            largest_scale=256.0,
        ),
        ScaleRule("hif4", Divisor.LARGEST, Rounding.RNE, "HiF4: arXiv 2602.11287", reciprocals=True),
    )
}


def scale_rule(name: str | ScaleRule) -> ScaleRule:
    """Return the scale rule of a name. Raises ValueError for unknown names."""
    if isinstance(name, ScaleRule):
        return name
    if name not in RULES:
        raise ValueError(unknown("scale rule", name, RULES, "docs/reference/formats/blocks.md lists all"))
    return RULES[name]
