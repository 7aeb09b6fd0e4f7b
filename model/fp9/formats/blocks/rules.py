"""Scale rules of blocks, under the names that the literature and other packages use.

Every rule rounds amax / d to the scale's format. amax is the block's largest magnitude. d is the element
format's largest number, or the power of two below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fp9.formats.rounding import Rounding
from fp9.names import unknown


class Divisor(Enum):
    """The number by which a rule divides amax."""

    LARGEST = "the largest element"
    POWER = "the power of two of the largest element"


@dataclass(frozen=True, slots=True)
class ScaleRule:
    """A scale rule, which divides amax by a divisor and rounds.

    - `amax_first`: amax is first rounded to the precision of the elements, ties up.
    - `tries`: divisors that replace the largest element. The rule tries each and uses the one with the smallest sum
      of squared errors. If errors are equal, it uses the first.
    - `reciprocals`: the division is a multiplication by a reciprocal rounded to bfloat16, for scales and elements.
    """

    name: str
    divisor: Divisor
    rounding: Rounding
    source: str
    amax_first: bool = False
    tries: tuple[float, ...] = ()
    reciprocals: bool = False

    @property
    def powers_alone(self) -> bool:
        """Return whether the rule applies only to power-of-two scales."""
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
        ScaleRule("4over6", Divisor.LARGEST, Rounding.RNE, "Four Over Six: arXiv 2512.02010", tries=(6.0, 4.0)),
        ScaleRule("hif4", Divisor.LARGEST, Rounding.RNE, "HiF4: arXiv 2602.11287", reciprocals=True),
    )
}
"""The scale rules by name."""


def scale_rule(name: str | ScaleRule) -> ScaleRule:
    """Return the rule of a name. A record is returned unchanged. Raises ValueError for unknown names."""
    if isinstance(name, ScaleRule):
        return name
    if name not in RULES:
        raise ValueError(unknown("scale rule", name, RULES, "docs/reference/formats/blocks.md lists all"))
    return RULES[name]
