"""What must be known of a hardware unit before its accumulator is identified."""

from __future__ import annotations

from dataclasses import dataclass

from fp9.formats import TABLE_BITS, FixedFormat, Format, format

MAX_DEPTH = 4096


@dataclass(frozen=True)
class Interface:
    """Known properties of a hardware unit: the formats of its operands and result, and the number of products in a sum.

    The addend has the result's format. If `any_nan` is true, all NaN results count as equal. Formats may be given by
    name.
    """

    a: Format
    b: Format
    output: FixedFormat
    depth: int
    any_nan: bool = False

    def __post_init__(self) -> None:
        for name in ("a", "b", "output"):
            object.__setattr__(self, name, format(getattr(self, name)))
        for fmt in (self.a, self.b):
            if fmt.bits > TABLE_BITS or not fmt.signed or not fmt.has_zero:
                raise ValueError(
                    f"{fmt.name} given as operand; give a signed format of at most {TABLE_BITS} bits with a zero"
                )
        if not isinstance(self.output, FixedFormat) or not self.output.has_nan:
            raise ValueError(f"{self.output} given as result; give fp32, fp16, bf16 or another with a NaN")
        if not 1 <= self.depth <= MAX_DEPTH:
            raise ValueError(f"{self.depth} products of a sum given; give 1 to {MAX_DEPTH}")
