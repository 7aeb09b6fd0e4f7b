"""Units that multiply and add: `fma` and `dot` without state, and `mac` with an accumulator."""

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
"""Number of products that a Kulisch accumulator can sum without overflow."""


@dataclass(frozen=True)
class Dot(Unit):
    """One stateless step of the engine: result = round(sum of a_i * b_i + c).

    The step has `engine.step.products` products and rounds once.

    If the engine has chunks, an operation is one whole chunk. It computes all steps in the engine's element order
    and then adds c. The flags combine all roundings.

    Each operation selects one format for all a and one format for all b. Operands have at most 19 bits (FP4 to
    TF32). If a code is narrower, the upper port bits are ignored. The port names of lane i end in i.
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
    """Whether to gate both factors of a zero product, so that the logic before the sum does not toggle.

    Results do not depend on this option.
    """
    scale: Format | None = field(default=None, metadata=OMIT_IF_DEFAULT)
    """Format of the two scales (MX, NVFP4). One scale multiplies all values of a, the other all values of b."""
    block: int | None = field(default=None, metadata=OMIT_IF_DEFAULT)
    """Number of products that share a pair of scales. None: all products of an operation share one pair."""

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
        """Return the number of products in an operation."""
        return self.engine.chunk.length or self.engine.step.products

    @property
    def products_of_scales(self) -> int:
        """Return the number of products that share a pair of scales."""
        return self.block or self.products

    def scale_names(self, operand: str) -> tuple[str, ...]:
        """Return the names of an operand's scale ports, one per block. A unit without scales has none."""
        if self.scale is None:
            return ()
        return tuple(port.name for port in scale_ports(operand, self.scale, self.products // self.products_of_scales))

    @property
    def sum_bits(self) -> int:
        """Return the number of bits of an exact accumulator (Kulisch).

        The accumulator holds any sum of `KULISCH_PRODUCTS` products (numerics.md, sums).
        """
        return product_range(self.a, self.b, self.bias_port).signed_bits(KULISCH_PRODUCTS)

    def lane_names(self, operand: str) -> tuple[str, ...]:
        """Return the names of an operand's ports, one per product. Several names are numbered from 0."""
        if self.products == 1:
            return (operand,)
        return tuple(f"{operand}{lane}" for lane in range(self.products))

    @property
    def factor_inputs(self) -> tuple[Port, ...]:
        """Return the ports of a and b, then the ports of their scales."""
        lanes = self.products
        blocks = lanes // self.products_of_scales
        return (
            *operand_ports("a", self.a, self.bias_port, "first factor", lanes),
            *operand_ports("b", self.b, self.bias_port, "second factor", lanes),
            *(port for operand in "ab" if self.scale for port in scale_ports(operand, self.scale, blocks)),
        )

    @property
    def operand_inputs(self) -> tuple[Port, ...]:
        """Return the ports of a and b, then the addend c."""
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
    """The engine's step with one product: result = round(a * b + c)."""

    kind: ClassVar[str] = "fma"

    def _check_products(self) -> None:
        if self.products != 1:
            raise ValueError(f"{self.name}: engine {self.engine.name} sums {self.products} products; an fma has 1")


@dataclass(frozen=True)
class Mac(Dot):
    """The engine's step with an accumulator register.

    The flags belong to one operation. CLEAR and HOLD give 0. The accumulator is the last of the `stages`. Its
    feedback loop takes one clock, so dependent operations run at full rate at every pipeline depth. Reset clears
    the accumulator to +0.

    If the engine has chunks, the stage before the last has a second register. It holds the open chunk and counts
    its steps. The step that completes a chunk also adds the chunk to the accumulator: acc = round(chunk + acc), in
    the engine's output format and rounding. Then the chunk is +0 again. Each of the two loops takes one clock, so
    the rate is still one operation per clock. The sequence LOAD, ACCUMULATE, ..., FOLD gives the bits of `fp9.dot`.
    An operation's flags combine all its roundings. The flags of the sum are the OR over all operations. FOLD of an
    empty chunk changes nothing. Until the first chunk is added, the result is c unchanged.

    If the engine interleaves its chunks, operation s of a chunk takes the elements that `Engine.order` gives to step
    s. A sum whose last chunk is incomplete is filled with products of +0.

    If the engine is `exact` (Kulisch), the register holds the exact sum of the products since LOAD or CLEAR. It is
    a fixed-point number of `sum_bits` bits. There is no addend c, so LOAD starts from the products alone. Every
    operation, including CLEAR and HOLD, gives the result and flags of `fp9.dot` for these products. Infinities and
    NaN persist until the next LOAD or CLEAR. A sum outside the register's range wraps around, and is correct again
    once it returns into range. The rounding has stages of its own, after the register.
    """

    kind: ClassVar[str] = "mac"
    stages: int = field(default=1)

    def _check_products(self) -> None:
        """Accept any number of products."""

    def _check_scales(self) -> None:
        super()._check_scales()
        if self.scale is not None and (self.engine.step.exact or self.engine.step.scaling is Scaling.SUMS):
            what = "holds all of its sum" if self.engine.step.exact else "scales sums as they join"
            raise ValueError(
                f"{self.name}: scale={self.scale.name} given, and engine {self.engine.name} {what}; "
                "give one such as mx(G=4)"
            )

    @property
    def _lowest_stages(self) -> int:
        return 2 if self.engine.chunk.length else 1

    @property
    def products(self) -> int:
        """Return the number of products in an operation. An operation is one step."""
        return self.engine.step.products

    @property
    def operations(self) -> tuple[MacOp, ...]:
        """Return the operations that the unit offers, in the order of their numbers."""
        return tuple(op for op in MacOp if op is not MacOp.FOLD or self.engine.chunk.length)

    @property
    def chunk_steps(self) -> int:
        """Return the number of steps in a full chunk, or 0 if the engine has no chunks."""
        return (self.engine.chunk.length or 0) // self.engine.step.products

    @property
    def has_state(self) -> bool:
        return True

    @property
    def state_output(self) -> str | None:
        return "result"

    def starts_anew(self, inputs: Columns) -> NDArray[np.bool_]:
        chosen = np.minimum(inputs["op"], len(self.operations) - 1)
        return np.isin(chosen, [self.operations.index(op) for op in (MacOp.LOAD, MacOp.CLEAR)])

    @property
    def inputs(self) -> tuple[Port, ...]:
        choices = tuple(op.name.lower() for op in self.operations)
        operands = self.factor_inputs if self.engine.step.exact else self.operand_inputs
        return (Port("op", select_width(len(choices)), "operation", choices=choices), *operands)
