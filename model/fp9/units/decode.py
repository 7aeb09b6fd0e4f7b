"""The units `decoder` (outputs the fields of a code) and `upcast` (converts a code to a float)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fp9.formats import FixedFormat, Format, format
from fp9.units.base import FLAGS_PORT, GIVE_WIDE, WIDE_BITS, Columns, Masks, Port, Unit, check_shared, format_tuple
from fp9.units.operands import (
    check_operands,
    exponent_range,
    exponent_width,
    operand_ports,
    significand_bits,
)


@dataclass(frozen=True)
class Decoder(Unit):
    """Decode a code into sign, exponent, significand, and the flags zero, inf and nan.

    A finite code has the value (-1)^sign * significand * 2^(exponent - 3). The significand is normalised to 8..15. The
    significand of zero is 0. If int8 is among the formats, the significand is normalised to 64..127, and a finite code
    has the value (-1)^sign * significand * 2^(exponent - 6). If all formats have fewer than 8 bits, the output
    `significand` has the width of their longest significand.

    For a zero, an infinity or a NaN, the output `exponent` is undefined. For an infinity or a NaN, the output
    `significand` is undefined. For a NaN, the output `sign` is undefined.
    """

    kind: ClassVar[str] = "decoder"
    name: str
    formats: tuple[Format, ...]
    bias_port: bool = False
    stages: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "formats", format_tuple(self.name, "formats", self.formats))
        check_operands(self.name, "formats", self.formats)
        check_shared(self)

    @property
    def inputs(self) -> tuple[Port, ...]:
        return operand_ports("code", self.formats, self.bias_port, "the operand's code")

    @property
    def exponent_bits(self) -> int:
        return exponent_width(self.formats, self.bias_port)

    @property
    def outputs(self) -> tuple[Port, ...]:
        width = significand_bits(self.formats)
        return (
            Port("sign", 1, "1 for a negative operand"),
            Port("exponent", self.exponent_bits, "exponent of the significand's leading bit", signed=True),
            Port("significand", width, f"1.{width - 1} normalised significand, 0 for zero"),
            Port("zero", 1, "the operand is zero"),
            Port("inf", 1, "the operand is infinite"),
            Port("nan", 1, "the operand is NaN or NaN-Inf"),
        )

    def care(self, outputs: Columns) -> Masks:
        finite = (outputs["inf"] == 0) & (outputs["nan"] == 0)
        return {
            "sign": outputs["nan"] == 0,
            "significand": finite,
            "exponent": finite & (outputs["zero"] == 0),
        }


@dataclass(frozen=True)
class Upcast(Unit):
    """Convert a code to a 16-bit or 32-bit float.

    The conversion is exact unless the result overflows. An overflow gives infinity, or the code NaN-Inf in a result
    format whose NaN and infinity share this code. The unit raises the same flags as a cast with the overflow policy
    `inf`.
    """

    kind: ClassVar[str] = "upcast"
    name: str
    formats: tuple[Format, ...]
    result: FixedFormat
    bias_port: bool = False
    stages: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "formats", format_tuple(self.name, "formats", self.formats))
        object.__setattr__(self, "result", format(self.result))
        check_operands(self.name, "formats", self.formats)
        if not isinstance(self.result, FixedFormat) or self.result.bits < WIDE_BITS:
            raise ValueError(f"{self.name}: {self.result.name} given as result; {GIVE_WIDE}")
        if not self.result.has_nan:
            raise ValueError(
                f"{self.name}: {self.result.name} given as result, which has no NaN; give one with NaN, such as fp32"
            )
        self._check_smallest(self.result)
        check_shared(self)

    def _check_smallest(self, result: FixedFormat) -> None:
        # Raise ValueError if the result format cannot represent the smallest operands exactly.
        for fmt in self.formats:
            lowest, _ = exponent_range((fmt,), bias_port=False)
            # Without subnormals, zero replaces the first number of the lowest binade.
            holds = fmt.quantum(lowest) >= result.quantum(lowest) if result.subnormals else lowest > -result.bias
            if not holds:
                given = f"format {fmt.name} given for result={result.name}"
                raise ValueError(f"{self.name}: {given}, which would round its small numbers; give a wider result")

    @property
    def inputs(self) -> tuple[Port, ...]:
        return operand_ports("code", self.formats, self.bias_port, "the operand's code")

    @property
    def outputs(self) -> tuple[Port, ...]:
        return (Port("result", self.result.bits, f"the operand in {self.result.name}", (self.result,)), FLAGS_PORT)
