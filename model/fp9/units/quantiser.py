"""The `quantiser` unit, which converts blocks of floats to a scale and elements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fp9.formats import FixedFormat, ScaledInteger, UnsignedFloat, fixed_format, format
from fp9.formats.blocks import BlockFormat, ScaleRule, block_format
from fp9.formats.rounding import Overflow, Rounding
from fp9.units.base import WIDE_BITS, Columns, Port, Unit, check_offers, check_shared, select_width, value_words
from fp9.units.cast import Cast
from fp9.units.clocking import OMIT_IF_DEFAULT, non_defaults

# Maximum element width for quantisation by comparison with limits: a block needs one limit per element magnitude.
_MOST_BITS = 4

TENSOR_SCALE = fixed_format("fp32")
"""Format of the scale for a whole tensor (NVFP4)."""


def _has_limits(block: BlockFormat) -> bool:
    # A limit per element magnitude needs an unsigned scale with a zero, and elements of at most 4 bits without
    # specials.
    element = block.element
    few = isinstance(element, FixedFormat) and element.signed_zero and element.max_code == element.magnitude_mask
    few &= element.bits <= _MOST_BITS and block.rounding is Rounding.RNE
    return few and isinstance(block.scale, UnsignedFloat) and block.scale.has_zero and block.tensor


class FiniteCast(Cast):
    """Cast unit for finite numbers only.

    A `FiniteCast` also supports target formats without NaN. All target formats are signed, and have at most 8 bits.
    """

    finite_only: ClassVar[bool] = True

    def _check_targets(self) -> None:
        for f in self.targets:
            if f.bits > 8 or not f.signed:
                raise ValueError(f"{self.name}: {f.name} given as target; give signed formats of at most 8 bits")


@dataclass(frozen=True)
class Quantiser(Unit):
    """Convert a block of 16-bit or 32-bit floats to a scale and elements.

    A select port chooses the scale rule of each block. The scale is the block's largest magnitude divided by a constant
    of the selected scale rule, rounded once. An element is a source number divided by the scale, rounded once and
    saturated. Special cases:

    - If the block contains an infinity or a NaN, the scale is NaN and all elements are 0.
    - If the scale is zero, the elements are zeros with the signs of the source numbers.
    - If the block format has a tensor scale, the unit also divides the source numbers by the input `tensor`.
    - If the tensor scale is not a positive normal number, the block's scale is NaN and all elements are 0.

    With `lanes`, each operation reads `lanes` numbers, so a block of `length` numbers takes `length / lanes`
    operations. The first block starts after reset. For the whole block, the unit uses the scale rule and the tensor
    scale that it reads in the block's last operation. The unit accepts one operation per clock cycle, and outputs one
    block while it reads the next block. Every result contains the block's scale. An operation has a latency of `length
    / lanes - 1 + stages` clock cycles.
    """

    kind: ClassVar[str] = "quantiser"
    name: str
    source: FixedFormat
    block: BlockFormat
    rules: tuple[ScaleRule, ...]
    stages: int = 0
    lanes: int | None = field(default=None, metadata=OMIT_IF_DEFAULT)
    """Number of source numbers per operation if a block takes several operations. None takes a block per operation."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", format(self.source))
        block = block_format(self.block)
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "rules", tuple(block.rule(str(rule)) for rule in self.rules))
        check_offers(self.name, "scale rule", self.rules)
        if not (block.powers_of_two or _has_limits(block)):
            raise ValueError(f"{self.name}: {block.name} given as block; give MX blocks, or nvfp4")
        if not isinstance(self.source, FixedFormat) or not self._has_range_of_fp32(self.source):
            raise ValueError(
                f"{self.name}: {self.source.name} given as source; give fp32, bf16, or an IEEE format of 8 exponent "
                "bits, bias 127 and 7 fraction bits or more"
            )
        check_shared(self, lowest=0 if self.lanes is None else 1, beside=f"lanes={self.lanes}")
        if self.lanes is not None:
            self._check_lanes(self.lanes)

    def _check_lanes(self, lanes: int) -> None:
        of_whole_blocks = [*non_defaults(self).items(), *(("rules", rule.name) for rule in self.rules if rule.tries)]
        for name, value in of_whole_blocks:
            given = f"{name}={value_words(value)} given beside lanes={lanes}"
            raise ValueError(f"{self.name}: {given}; leave one of them out: {name} takes whole blocks")
        length = self.block.length
        if not 1 <= lanes < length or length % lanes:
            raise ValueError(
                f"{self.name}: {lanes} lanes given; give a divisor of {length} below it, or none for the whole block "
                "at once"
            )

    @staticmethod
    def _has_range_of_fp32(source: FixedFormat) -> bool:
        # E8M0 scales have the exponent range of FP32.
        fields = source.exponent_bits, source.bias, source.specials, source.subnormals
        wanted = TENSOR_SCALE.exponent_bits, TENSOR_SCALE.bias, TENSOR_SCALE.specials, TENSOR_SCALE.subnormals
        return fields == wanted and not source.padding and source.bits >= WIDE_BITS

    @property
    def element(self) -> FiniteCast:
        # An integer element is rounded as sign and magnitude.
        element, rounding = self.block.element, self.block.rounding
        if isinstance(element, ScaledInteger):
            element = element.sign_magnitude
        return FiniteCast(self.name, self.source, (element,), (rounding,), (Overflow.SATURATE,), scale=True)

    @property
    def inputs(self) -> tuple[Port, ...]:
        numbers = [
            Port(x, self.source.bits, f"a {self.source.name} number", (self.source,)) for x in self.lane_names("x")
        ]
        if self.block.tensor:
            numbers.append(Port("tensor", TENSOR_SCALE.bits, "scale of the whole array", (TENSOR_SCALE,)))
        if len(self.rules) == 1:
            return tuple(numbers)
        choices = tuple(rule.name for rule in self.rules)
        return (*numbers, Port("rule", select_width(len(choices)), "rule of the scale", choices=choices))

    @property
    def outputs(self) -> tuple[Port, ...]:
        element, scale = self.block.element, self.block.scale
        return (
            Port("scale", scale.bits, "what every element is multiplied by", (scale,)),
            *(Port(name, element.bits, "an element", (element,)) for name in self.lane_names("element")),
        )

    def lane_names(self, port: str) -> tuple[str, ...]:
        return tuple(f"{port}{place}" for place in range(self.width))

    @property
    def width(self) -> int:
        return self.lanes or self.block.length

    @property
    def group(self) -> int:
        return self.block.length // self.width

    @property
    def has_state(self) -> bool:
        return self.lanes is not None

    def restarts(self, inputs: Columns) -> NDArray[np.bool_]:
        first: NDArray[np.bool_] = np.arange(len(inputs[self.inputs[0].name])) % self.group == 0
        return first

    @property
    def latency(self) -> int:
        return self.stages if self.lanes is None else self.group + self.stages - 1
