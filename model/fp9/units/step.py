"""Units that multiply and add: `fma` and `dot` without state, `mac` around an accumulator."""

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
from fp9.units.operands import check_operands, operand_ports, scale_ports


@dataclass(frozen=True)
class Dot(Unit):
    """One stateless step of the dot engine: result = round(sum of a_i * b_i + c), one rounding, G = engine.products.

    Where the engine has chunks, one whole chunk: its steps one behind the other, in the engine's order of elements, and
    the join with c; the flags of all roundings.

    The formats of all a and of all b are chosen per operation, independently of each other; those of at most 8 bits are
    operands (FP8, FP6, FP4), and the bits of a port above a narrower code are not read. Ports of lane i end in i.
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
    """The factors of a product that is zero do not move what stands before the sum; results are the same."""
    scale: Format | None = field(default=None, metadata=OMIT_IF_DEFAULT)
    """The format of two scales, one of all a and one of all b, that multiply them (MX, NVFP4)."""
    block: int | None = field(default=None, metadata=OMIT_IF_DEFAULT)
    """Products that share two scales, where these are not all of an operation."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", format_tuple(self.name, "a", self.a))
        object.__setattr__(self, "b", format_tuple(self.name, "b", self.b))
        check_operands(self.name, "a", self.a)
        check_operands(self.name, "b", self.b)
        check_rounding(self.name, self.engine)
        self._check_products()
        self._check_scales()
        check_shared(self, self._lowest_stages)

    def _check_products(self) -> None:
        if self.products < 2:
            raise ValueError(f"{self.name}: engine {self.engine.name} sums 1 product; that is an fma")

    def _check_scales(self) -> None:
        engine = self.engine
        if self.scale is None:
            if self.block is not None or engine.group is not None:
                given = f"engine.group={engine.group}" if self.block is None else f"block of {self.block}"
                raise ValueError(f"{self.name}: {given} given; give the format of scales as well, such as ue4m3")
            return
        try:
            object.__setattr__(self, "scale", format_of_scales(engine, self.scale, self.block, "scale"))
            for a, b in itertools.product(self.a, self.b) if engine.group is not None else ():
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
        """Products of an operation."""
        return self.engine.chunk or self.engine.products

    @property
    def products_of_scales(self) -> int:
        """Products of an operation that share two scales."""
        return self.block or self.products

    def scale_names(self, operand: str) -> tuple[str, ...]:
        """Names of the ports of an operand's scales, one for each block; none without scales."""
        if self.scale is None:
            return ()
        return tuple(port.name for port in scale_ports(operand, self.scale, self.products // self.products_of_scales))

    def lane_names(self, operand: str) -> tuple[str, ...]:
        """Names of an operand's ports, numbered from 0 where there are several products."""
        if self.products == 1:
            return (operand,)
        return tuple(f"{operand}{lane}" for lane in range(self.products))

    @property
    def factor_inputs(self) -> tuple[Port, ...]:
        """The ports of a and b, then of their scales where they have such."""
        lanes = self.products
        blocks = lanes // self.products_of_scales
        return (
            *operand_ports("a", self.a, self.bias_port, "first factor", lanes),
            *operand_ports("b", self.b, self.bias_port, "second factor", lanes),
            *(port for operand in "ab" if self.scale for port in scale_ports(operand, self.scale, blocks)),
        )

    @property
    def operand_inputs(self) -> tuple[Port, ...]:
        """The ports of a and b, then the addend c."""
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
    """The dot engine's step with one product: result = round(a * b + c)."""

    kind: ClassVar[str] = "fma"

    def _check_products(self) -> None:
        if self.products != 1:
            raise ValueError(f"{self.name}: engine {self.engine.name} sums {self.products} products; an fma has 1")


KULISCH_PRODUCTS = 1 << 12
"""Products that a Kulisch accumulator has room for, whatever they are."""


@dataclass(frozen=True)
class Mac(Dot):
    """The step around an accumulator register; flags are those of the operation, 0 for CLEAR and HOLD.

    The register is the last of the `stages`; the sum loops through it in one clock, so that operations that depend on
    each other follow each other at full rate at every depth. Reset clears it to +0.

    Where the engine has chunks, the last but one stage holds a second register, the open chunk, and counts its steps.
    The step whose products complete a chunk also joins it to the accumulator, acc = round(chunk + acc) in the engine's
    output format and rounding, and the chunk is +0 again. Each of the two loops takes one clock, and nothing runs
    against their order, so the rate is one operation a clock here, too. LOAD, ACCUMULATE, ... and FOLD at the end give
    the bits of `fp9.dot`; the flags of an operation are those of all roundings in it, so that those of the sum are the
    OR over its operations. FOLD of an empty chunk changes nothing. Until a first chunk joins, the result is c as given.

    With an engine that is `exact` (Kulisch) the register holds the exact sum of the products since LOAD or CLEAR, as a
    fixed-point number of `sum_bits` bits, and there is no addend c: LOAD starts from the products alone. Every
    operation gives what `fp9.dot` gives for these products: result and flags of their one rounding, for CLEAR and HOLD
    too; infinities and NaN stay until the next LOAD or CLEAR. A sum beyond the register wraps round; one that comes
    back into its range is right again. The rounding stands behind the register, in stages of its own.
    """

    kind: ClassVar[str] = "mac"
    stages: int = field(default=1)

    def _check_products(self) -> None:
        """A mac takes any number of products."""

    def _check_scales(self) -> None:
        super()._check_scales()
        if self.scale is not None and (self.engine.exact or self.engine.scaling is Scaling.SUMS):
            what = "holds all of its sum" if self.engine.exact else "scales sums as they join"
            raise ValueError(
                f"{self.name}: scale={self.scale.name} given, and engine {self.engine.name} {what}; "
                "give one such as mx(G=4)"
            )

    @property
    def _lowest_stages(self) -> int:
        return 2 if self.engine.chunk else 1

    @property
    def products(self) -> int:
        """Products of an operation: those of one step."""
        return self.engine.products

    @property
    def operations(self) -> tuple[MacOp, ...]:
        """The operations offered, in the order of their numbers."""
        return tuple(op for op in MacOp if op is not MacOp.FOLD or self.engine.chunk)

    @property
    def chunk_steps(self) -> int:
        """Steps of a full chunk; 0 where there are no chunks."""
        return (self.engine.chunk or 0) // self.engine.products

    @property
    def has_state(self) -> bool:
        return True

    def starts_anew(self, inputs: Columns) -> NDArray[np.bool_]:
        chosen = np.minimum(inputs["op"], len(self.operations) - 1)
        return np.isin(chosen, [self.operations.index(op) for op in (MacOp.LOAD, MacOp.CLEAR)])

    @property
    def inputs(self) -> tuple[Port, ...]:
        choices = tuple(op.name.lower() for op in self.operations)
        operands = self.factor_inputs if self.engine.exact else self.operand_inputs
        return (Port("op", select_width(len(choices)), "operation", choices=choices), *operands)

    @property
    def sum_bits(self) -> int:
        """Bits of a Kulisch accumulator: every sum of `KULISCH_PRODUCTS` products fits (numerics.md, sums)."""
        return product_range(self.a, self.b, self.bias_port).signed_bits(KULISCH_PRODUCTS)
