"""The `mul` unit, which multiplies two operands of at most 8 bits and rounds once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fp9.engines import Engine, Result
from fp9.formats import FixedFormat, Format, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow, Rounding
from fp9.units.base import FLAGS_PORT, WIDE_BITS, Port, Unit, check_rounding, check_shared, format_tuple
from fp9.units.operands import check_operands, operand_ports


@dataclass(frozen=True)
class Mul(Unit):
    """Multiply two operands exactly, and round the product once to a 16-bit or 32-bit float: result = round(a * b).

    Every operation selects the formats of `a` and of `b` independently. NaN operands, the product of infinity and zero,
    and the exception flags follow IEEE 754. A NaN result is the canonical NaN of the result format. `overflow` is the
    overflow policy for finite products above the largest number. The product of infinity and a nonzero number is
    infinity, under every overflow policy.
    """

    kind: ClassVar[str] = "mul"
    name: str
    a: tuple[Format, ...]
    b: tuple[Format, ...]
    result: FixedFormat
    rounding: Rounding = Rounding.RNE
    overflow: Overflow = Overflow.INF
    flags: bool = True
    stages: int = 0
    bias_port: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", format_tuple(self.name, "a", self.a))
        object.__setattr__(self, "b", format_tuple(self.name, "b", self.b))
        object.__setattr__(self, "result", format(self.result))
        check_operands(self.name, "a", self.a)
        check_operands(self.name, "b", self.b)
        self._check_result()
        check_rounding(self.name, self.engine)
        check_shared(self)

    def _check_result(self) -> None:
        fmt = self.result
        wide = isinstance(fmt, FixedFormat) and fmt.bits >= WIDE_BITS
        if not (wide and fmt.has_inf and fmt.has_nan and fmt.subnormals):
            raise ValueError(
                f"{self.name}: result={fmt.name} given; give a float of {WIDE_BITS} bits or more with infinity, NaN "
                "and subnormal numbers, such as fp16, bf16 or fp32"
            )

    @property
    def engine(self) -> Engine:
        """Return an accumulator model with the unit's result format, rounding mode and overflow policy."""
        name = f"{self.kind}_{self.result.name}"
        return Engine(name, Result(self.result, self.rounding, overflow=self.overflow))

    @property
    def policy(self) -> CastPolicy:
        # The overflow policy applies only to finite products.
        keeps = self.overflow is Overflow.SATURATE
        return CastPolicy(self.rounding, Overflow.PROPAGATE if keeps else self.overflow)

    def lane_names(self, operand: str) -> tuple[str, ...]:
        return (operand,)

    @property
    def inputs(self) -> tuple[Port, ...]:
        return (
            *operand_ports("a", self.a, False, "first factor"),
            *operand_ports("b", self.b, False, "second factor"),
        )

    @property
    def outputs(self) -> tuple[Port, ...]:
        result = Port("result", self.result.bits, f"the product in {self.result.name}", (self.result,))
        return (result, FLAGS_PORT) if self.flags else (result,)
