"""Specifications of library casts, of library decoding functions, and of units that round exact sums to 8 bits.

Each specification has ports and golden results, so the code that checks hardware units also checks library functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_native, decode_to, encode_numbers
from fp9.formats import FixedFormat, Format, fixed_format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Hybrid, Overflow, Rounding
from fp9.golden import evaluate
from fp9.units import FLAGS_PORT, Columns, Dot, Port, Results, Unit

_FP32 = fixed_format("fp32")


@dataclass(frozen=True)
class Conversion(Unit):
    """Specification of a library's cast from a 16-bit or 32-bit float to any format.

    A cast to a format without NaN turns NaN into zero. The cast raises no flags.
    """

    kind: ClassVar[str] = "conversion"
    name: str
    source: FixedFormat
    target: Format
    policy: CastPolicy = field(default_factory=CastPolicy)
    stages: int = 0

    @property
    def inputs(self) -> tuple[Port, ...]:
        return (Port("x", self.source.bits, f"a number of {self.source.name}", (self.source,)),)

    @property
    def outputs(self) -> tuple[Port, ...]:
        return (Port("result", self.target.bits, f"its code in {self.target.name}", (self.target,)),)


@dataclass(frozen=True)
class Reading(Unit):
    """Specification of a library's decoding function, which converts codes of a format to FP32 numbers."""

    kind: ClassVar[str] = "reading"
    name: str
    format: Format
    stages: int = 0

    @property
    def inputs(self) -> tuple[Port, ...]:
        return (Port("code", self.format.bits, f"a code of {self.format.name}", (self.format,)),)

    @property
    def outputs(self) -> tuple[Port, ...]:
        return (Port("result", _FP32.bits, "the number in fp32", (_FP32,)),)


@dataclass(frozen=True)
class Narrowed(Unit):
    """Specification of a unit that adds products exactly, and rounds the sum once to at most 8 bits.

    The unit `inner` rounds the sum to odd, with at least two more significand bits than the target format. Rounding the
    odd-rounded sum to the target format then gives the correctly rounded sum (Boldo and Melquiond). The rounding to odd
    determines the invalid flag, and the rounding to the target format determines all other flags.
    """

    kind: ClassVar[str] = "narrowed"
    name: str
    inner: Dot
    target: Format
    policy: CastPolicy = field(default_factory=CastPolicy)
    stages: int = 0

    def __post_init__(self) -> None:
        engine = self.inner.engine
        if engine.result.rounding is not Rounding.RTO or engine.output.precision < self.target.precision + 2:
            raise ValueError(
                f"{self.name}: engine {engine.name} given below a result in {self.target.name}; give one that rounds "
                "to odd in a wider format, such as fma_fp32(rounding=rto)"
            )
        if self.policy.overflow is not Overflow.SATURATE and not (self.target.has_nan or self.target.has_inf):
            raise ValueError(f"{self.name}: {self.target.name} has neither infinity nor NaN; give overflow saturate")

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.inner.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        result = Port("result", self.target.bits, f"the sum in {self.target.name}", (self.target,))
        return (result, FLAGS_PORT) if self.inner.flags else (result,)


def _encoded(numbers: NDArray[Any], target: Format, policy: CastPolicy) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    if not target.has_nan:
        with np.errstate(invalid="ignore"):  # signalling NaN of bfloat16
            without = np.isnan(numbers)
        numbers = np.where(without, numbers.dtype.type(0), numbers)
    return encode_numbers(numbers, target, policy, Hybrid(), flags=True)


def _conversion(unit: Conversion, inputs: Columns) -> Results:
    codes, _ = _encoded(decode_native(inputs["x"], unit.source), unit.target, unit.policy)
    return {"result": codes}


def _reading(unit: Reading, inputs: Columns) -> Results:
    return {"result": decode_to(inputs["code"], unit.format, np.float32).view(np.uint32)}


def _narrowed(unit: Narrowed, inputs: Columns) -> Results:
    inner = evaluate(unit.inner, inputs)
    numbers = decode_to(inner["result"], unit.inner.engine.output, np.float64)
    codes, flags = _encoded(numbers, unit.target, unit.policy)
    if not unit.inner.flags:
        return {"result": codes}
    return {"result": codes, "flags": flags | (inner["flags"] & np.uint8(Flags.INVALID))}


evaluate.register(Conversion, _conversion)
evaluate.register(Reading, _reading)
evaluate.register(Narrowed, _narrowed)
