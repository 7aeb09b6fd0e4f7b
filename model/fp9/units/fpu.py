"""The `fpu` unit, a floating-point unit for two formats as in the HFP8 paper."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from fp9.engines import PARAMETERS, Engine
from fp9.formats import Format
from fp9.formats.rounding import Rounding
from fp9.units.base import FLAGS_PORT, Port, Unit, check_rounding, check_shared, format_tuple, select_width, value_words
from fp9.units.cast import Cast
from fp9.units.decode import Upcast
from fp9.units.operands import check_operands, operand_ports


class FpuOp(IntEnum):
    """Operations of an `fpu` unit.

    The format of 16-bit operands is the result format of the unit's accumulator model.
    """

    FMMA = 0
    """result = round(a[7:0] * b[7:0] + a[15:8] * b[15:8] + c): two products of 8-bit operands"""
    FMA = 1
    """result = round(a * b + c): 16-bit operands"""
    UPCAST = 2
    """result = a[7:0], of format `a_format`, as 16 bits"""
    DOWNCAST = 3
    """result[7:0] = c rounded to `a_format` by this format's default rounding, saturating; result[15:8] = 0"""


@dataclass(frozen=True)
class Fpu(Unit):
    """Specification of a dual-format FPU with three kinds of operations in one datapath (HFP8 section 4, ISSCC21).

    The FPU multiplies two pairs of 8-bit operands, or one pair of 16-bit operands, and adds the products to an addend.
    The FPU also has casts. The field `engine` is the accumulator model that adds two products to the addend. The 16-bit
    multiply-add uses the result format and the rounding of the engine. If `casts` is false, the unit has only the
    operations FMMA and FMA.
    """

    kind: ClassVar[str] = "fpu"
    name: str
    a: tuple[Format, ...]
    b: tuple[Format, ...]
    engine: Engine
    casts: bool = True
    flags: bool = True
    stages: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", format_tuple(self.name, "a", self.a))
        object.__setattr__(self, "b", format_tuple(self.name, "b", self.b))
        check_operands(self.name, "a", self.a)
        check_operands(self.name, "b", self.b)
        check_rounding(self.name, self.engine)
        if self.engine.step.products != 2:
            raise ValueError(f"{self.name}: engine.step.products={self.engine.step.products} given; give 2, as in fmma")
        if self.engine.result.format.bits != 16:
            given = f"engine.result.format={self.engine.result.format.name} given"
            raise ValueError(f"{self.name}: {given}; give a format of 16 bits, as in fmma")
        self._check_step()
        if self.casts:
            self._check_casts()
        check_shared(self)

    def _check_step(self) -> None:
        # An fpu adds all terms of a step exactly, and then rounds once.
        own = ("result", "rounding", "products", "addend", "scaling")
        for parameter in PARAMETERS.values():
            value = parameter.of(self.engine)
            if parameter.name not in own and value != parameter.default:
                raise ValueError(
                    f"{self.name}: engine.{parameter.path}={value_words(value)} given; leave it out: an fpu has one "
                    "exact step of two products, as in fmma"
                )

    def _check_casts(self) -> None:
        for fmt in self.a:
            try:
                Upcast("upcast", (fmt,), self.engine.result.format)
                Cast("downcast", self.engine.result.format, (fmt,), (Rounding.RNE,))
            except ValueError as error:
                advice = str(error).rpartition("; ")[2]
                given = f"a={fmt.name} given with casts=true"
                raise ValueError(f"{self.name}: {given}; {advice}, or casts=false") from None

    @property
    def operations(self) -> tuple[FpuOp, ...]:
        return tuple(FpuOp) if self.casts else (FpuOp.FMMA, FpuOp.FMA)

    @property
    def inputs(self) -> tuple[Port, ...]:
        wide = self.engine.result.format
        selects = [
            port
            for operand, formats in (("a", self.a), ("b", self.b))
            for port in operand_ports(operand, formats, False, "")
            if port.choices
        ]
        names = tuple(op.name.lower() for op in self.operations)
        return (
            Port("op", select_width(len(names)), "operation", choices=names),
            Port("a", wide.bits, "first factor, or two of 8 bits", (wide,)),
            Port("b", wide.bits, "second factor, or two of 8 bits", (wide,)),
            Port("c", wide.bits, "addend", (wide,)),
            *selects,
        )

    @property
    def outputs(self) -> tuple[Port, ...]:
        wide = self.engine.result.format
        result = Port("result", wide.bits, f"the sum in {wide.name}, or the cast operand", (wide,))
        return (result, FLAGS_PORT) if self.flags else (result,)
