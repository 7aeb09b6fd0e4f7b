"""The multiply-add units: `fma` and `dot` without state, and `mac` with an accumulator."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fp9.engines import Engine, MacOp, Scaling, check_grouped, format_of_scales
from fp9.formats import Format
from fp9.units.base import (
    FLAGS_PORT,
    Columns,
    Port,
    Unit,
    check_rounding,
    check_shared,
    format_tuple,
    select_width,
)
from fp9.units.clocking import OMIT_IF_DEFAULT
from fp9.units.exact import product_range
from fp9.units.operands import WIDE_OPERAND_BITS, check_operands, operand_ports, scale_ports

KULISCH_PRODUCTS = 1 << 12
"""Number of products that the exact (Kulisch) accumulator of a `mac` unit can sum without overflow."""


@dataclass(frozen=True)
class Dot(Unit):
    """Compute a dot product plus an addend, without state: result = round(sum of a_i * b_i + c).

    An operation is one step of the accumulator model `engine`: it adds `engine.step.products` products, and rounds
    once. If the accumulator model sums products in chunks, an operation sums the products of one chunk, and then adds
    c. The exception flags of an operation are the OR of the flags of all its roundings.

    All operands a_i of an operation have the same format, and all operands b_i have the same format. Operands have at
    most 19 bits (FP4 to TF32). If the selected format has fewer bits than the port, the unit ignores the upper bits of
    the port. The names of the factors' ports end in the lane number, such as `a0` and `b0` in lane 0.
    """

    kind: ClassVar[str] = "dot"
    name: str
    a: tuple[Format, ...]
    b: tuple[Format, ...]
    engine: Engine
    flags: bool = True
    bias_port: bool = False
    stages: int = 0
    gate_zeros: bool = field(default=False, metadata=OMIT_IF_DEFAULT)
    """Whether the unit holds the factors of zero products constant, so that the multipliers do not toggle.

    The option saves energy and does not change results.
    """
    scale: Format | None = field(default=None, metadata=OMIT_IF_DEFAULT)
    """Format of the scales (MX, NVFP4). One scale multiplies all values of a, and a second scale all values of b."""
    block: int | None = field(default=None, metadata=OMIT_IF_DEFAULT)
    """Number of products that share a pair of scales. By default, all products of an operation share a pair."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", format_tuple(self.name, "a", self.a))
        object.__setattr__(self, "b", format_tuple(self.name, "b", self.b))
        check_operands(self.name, "a", self.a, WIDE_OPERAND_BITS)
        check_operands(self.name, "b", self.b, WIDE_OPERAND_BITS)
        check_rounding(self.name, self.engine)
        self._check_products()
        self._check_scales()
        chunk = self.engine.chunk.length
        check_shared(self, self._lowest_stages, beside=f"engine.chunk.length={chunk}" if chunk else "")

    def _check_products(self) -> None:
        if self.products < 2:
            raise ValueError(f"{self.name}: engine {self.engine.name} sums 1 product; that is an fma")

    def _check_scales(self) -> None:
        engine = self.engine
        if self.scale is None:
            if self.block is not None or engine.step.group is not None:
                given = f"engine.step.group={engine.step.group}" if self.block is None else f"block of {self.block}"
                raise ValueError(f"{self.name}: {given} given; give the format of scales as well, such as ue4m3")
            return
        try:
            object.__setattr__(self, "scale", format_of_scales(engine, self.scale, self.block, "scale"))
            for a, b in itertools.product(self.a, self.b) if engine.step.group is not None else ():
                check_grouped(engine, a, b)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        if self.block is not None and (self.block < 1 or self.products % self.block):
            raise ValueError(
                f"{self.name}: block of {self.block} given; give a divisor of the {self.products} products"
            )

    @property
    def _lowest_stages(self) -> int:
        return 0

    @property
    def products(self) -> int:
        return self.engine.chunk.length or self.engine.step.products

    @property
    def products_of_scales(self) -> int:
        """Return the number of consecutive products that share a pair of scales."""
        return self.block or self.products

    def scale_names(self, operand: str) -> tuple[str, ...]:
        """Return the names of an operand's scale ports, one for each block of products."""
        if self.scale is None:
            return ()
        return tuple(port.name for port in scale_ports(operand, self.scale, self.products // self.products_of_scales))

    @property
    def sum_bits(self) -> int:
        """Return the width in bits of an exact (Kulisch) accumulator for `KULISCH_PRODUCTS` products."""
        return product_range(self.a, self.b, self.bias_port).signed_bits(KULISCH_PRODUCTS)

    def lane_names(self, operand: str) -> tuple[str, ...]:
        """Return the names of an operand's ports, such as `a0`, `a1` and `a2`.

        If the unit computes a single product, the operand has one port with the operand's name, such as `a`.
        """
        if self.products == 1:
            return (operand,)
        return tuple(f"{operand}{lane}" for lane in range(self.products))

    @property
    def factor_inputs(self) -> tuple[Port, ...]:
        lanes = self.products
        blocks = lanes // self.products_of_scales
        return (
            *operand_ports("a", self.a, self.bias_port, "first factor", lanes),
            *operand_ports("b", self.b, self.bias_port, "second factor", lanes),
            *(port for operand in "ab" if self.scale for port in scale_ports(operand, self.scale, blocks)),
        )

    @property
    def operand_inputs(self) -> tuple[Port, ...]:
        return (*self.factor_inputs, Port("c", self.engine.output.bits, "addend", (self.engine.output,)))

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.operand_inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        fmt = self.engine.output
        result = Port("result", fmt.bits, f"the sum in {fmt.name}", (fmt,))
        return (result, FLAGS_PORT) if self.flags else (result,)


@dataclass(frozen=True)
class Fma(Dot):
    """Multiply two operands, and add a third operand: result = round(a * b + c)."""

    kind: ClassVar[str] = "fma"

    def _check_products(self) -> None:
        if self.products != 1:
            raise ValueError(f"{self.name}: engine {self.engine.name} sums {self.products} products; an fma has 1")


@dataclass(frozen=True)
class Mac(Dot):
    """Multiply operands, and add the products to an accumulator register.

    The output flags are the exception flags of the current operation: the OR of the flags of all its roundings. CLEAR
    and HOLD output no flags. The accumulator is the last pipeline stage. The accumulator is updated in one clock, so a
    new operation can start in every clock. A reset clears the accumulator to +0.

    If the accumulator model sums products in chunks, the second-last pipeline stage holds a chunk register and a step
    counter. The last step of a chunk also adds the chunk register to the accumulator, acc = round(chunk + acc), and
    clears the chunk register. The accumulator has the output format and the rounding mode of the engine. A sequence
    LOAD, ACCUMULATE, ..., ACCUMULATE, FOLD gives the same result bits as `fp9.dot`. FOLD adds an incomplete chunk to
    the accumulator. If the chunk register holds no products, FOLD changes nothing. Until the first chunk is complete,
    the unit's result is the unchanged addend c.

    If the accumulator model interleaves products, `Engine.order` lists the products of each step of a chunk. In an
    incomplete last chunk, the user must replace missing products by +0.

    If the accumulator model is `exact` (Kulisch), the accumulator is a fixed-point number of `sum_bits` bits. The
    accumulator holds the exact sum of the products since the last LOAD or CLEAR, and later pipeline stages round the
    exact sum to the result. A unit with an exact accumulator has no addend c. Each operation gives the same result and
    flags as `fp9.dot` over all products since the last LOAD or CLEAR. After an infinite or NaN product, the sum stays
    infinite or NaN until the next LOAD or CLEAR. A sum outside the accumulator's range wraps around. After a
    wrap-around, the accumulator is correct again once the exact sum fits into `sum_bits` bits.
    """

    kind: ClassVar[str] = "mac"
    stages: int = field(default=1)

    def _check_products(self) -> None:
        """Accept every number of products."""

    def _check_scales(self) -> None:
        super()._check_scales()
        if self.scale is not None and (self.engine.step.exact or self.engine.step.scaling is Scaling.SUMS):
            what = "keeps the exact sum" if self.engine.step.exact else "scales the sums of chunks"
            raise ValueError(
                f"{self.name}: scale={self.scale.name} given, and engine {self.engine.name} {what}; "
                "give one such as mx(G=4)"
            )

    @property
    def _lowest_stages(self) -> int:
        return 2 if self.engine.chunk.length else 1

    @property
    def products(self) -> int:
        return self.engine.step.products

    @property
    def operations(self) -> tuple[MacOp, ...]:
        return tuple(op for op in MacOp if op is not MacOp.FOLD or self.engine.chunk.length)

    @property
    def chunk_steps(self) -> int:
        """Return the number of steps in a full chunk, or 0 if the accumulator model has no chunks."""
        return (self.engine.chunk.length or 0) // self.engine.step.products

    @property
    def has_state(self) -> bool:
        return True

    @property
    def state_output(self) -> str | None:
        return "result"

    def restarts(self, inputs: Columns) -> NDArray[np.bool_]:
        chosen = np.minimum(inputs["op"], len(self.operations) - 1)
        return np.isin(chosen, [self.operations.index(op) for op in (MacOp.LOAD, MacOp.CLEAR)])

    @property
    def inputs(self) -> tuple[Port, ...]:
        choices = tuple(op.name.lower() for op in self.operations)
        operands = self.factor_inputs if self.engine.step.exact else self.operand_inputs
        return (Port("op", select_width(len(choices)), "operation", choices=choices), *operands)
