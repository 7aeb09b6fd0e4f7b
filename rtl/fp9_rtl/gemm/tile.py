"""Matrix-product tile: an output-stationary systolic array of `mac` units, with one cast for each column of results."""

# The picture shows a tile whose units add one product per clock cycle:
#
#           b[k][0]   b[k][1]           one step k of the sum enters per cycle; column j is delayed by j cycles
#              |         |              and row i by i cycles, so that a[i][k] and b[k][j] meet in element (i, j)
# a[0][k] -> mac 0,0 - mac 0,1 ->
#              |         |              operands move by one element per cycle; the sums stay in place
# a[1][k] -> mac 1,0 - mac 1,1 ->
#              |         |              after the last step the sums leave row by row, through one cast per column
#
# Units that add G products per clock cycle take G columns of A and G rows of B in each cycle.

from __future__ import annotations

import dataclasses
from typing import Any

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fp9.engines import Engine
from fp9.formats import Format, Rounding, format
from fp9.formats.rounding import Overflow
from fp9.units import Cast, Mac, MacOp, Unit, non_defaults, select_width
from fp9.units.views import sum_of
from fp9_rtl.components import build, check_offered
from fp9_rtl.export.verilog import component_verilog

CODE_BITS = 8

MAX_SIDE = 64


@dataclasses.dataclass(frozen=True)
class GemmTile:
    """The specification of a tile with `rows` x `columns` accumulators.

    `a` and `b` are the operand formats, `engine` is the accumulator model of each element, and `target` is the result
    format. `mac_stages` is the number of register stages of each `mac`.

    Raises ValueError for sizes, formats and accumulators that a tile does not support.
    """

    name: str
    rows: int
    columns: int
    a: tuple[Format, ...]
    b: tuple[Format, ...]
    engine: Engine
    target: Format
    rounding: Rounding = Rounding.RNE
    overflow: Overflow = Overflow.SATURATE
    mac_stages: int = 1

    def __post_init__(self) -> None:
        if not (1 <= self.rows <= MAX_SIDE and 1 <= self.columns <= MAX_SIDE):
            raise ValueError(f"{self.name}: {self.rows} x {self.columns} given; give 1 to {MAX_SIDE} rows and columns")
        if self.rounding.needs_bits:
            raise ValueError(
                f"{self.name}: {self.rounding.value} given; a tile has no random bits, give another rounding"
            )
        if self.engine.chunk.length is not None:
            raise ValueError(
                f"{self.name}: engine {self.engine.name} sums in chunks, and a tile has no step that folds the last "
                "one; give an engine without chunks"
            )
        for operand in ("a", "b"):
            object.__setattr__(self, operand, tuple(format(fmt) for fmt in getattr(self, operand)))
        object.__setattr__(self, "target", format(self.target))
        check_offered(self.mac)
        check_offered(self.cast)

    @classmethod
    def of(
        cls,
        unit: Unit,
        rows: int,
        columns: int,
        target: Format | str,
        rounding: Rounding = Rounding.RNE,
        overflow: Overflow = Overflow.SATURATE,
        name: str = "gemm",
    ) -> GemmTile:
        """Return a tile whose elements are `unit`.

        If `unit` is a `dot` or `fma` unit, each element of the tile is the corresponding `mac` unit. Raises ValueError
        for a unit with bias ports, and for all arguments that the constructor rejects.
        """
        element = sum_of(unit)
        if element is None:
            raise ValueError(f"{unit.name}: a {unit.kind} given as element of a tile; give a mac, dot or fma")
        if element.bias_port:
            raise ValueError(f"{unit.name}: a tile has no bias ports; give a unit without them")
        if given := [*non_defaults(unit)]:
            raise ValueError(f"{unit.name}: {given[0]} given; a tile controls its own registers: leave it out")
        stages = max(1, unit.stages)
        return cls(
            name, rows, columns, element.a, element.b, element.engine, format(target), rounding, overflow, stages
        )

    @property
    def products(self) -> int:
        """Number of products that each element adds to its sum per step."""
        return self.engine.step.products

    @property
    def row_bits(self) -> int:
        return CODE_BITS * self.products

    def period(self, steps: int) -> int:
        """Return the clock cycles between the starts of two matrix products of `steps` steps, without stalls."""
        crossing = self.rows - 1 + self.columns - 1
        return steps + crossing + self.mac_stages + self.rows

    @property
    def mac(self) -> Mac:
        return Mac(f"{self.name}_mac", self.a, self.b, self.engine, flags=False, stages=self.mac_stages)

    @property
    def cast(self) -> Cast:
        """Return the specification of the cast unit at the bottom of each column of the systolic array."""
        return Cast(f"{self.name}_cast", self.engine.addend_format, (self.target,), (self.rounding,), (self.overflow,))


def _members(tile: GemmTile) -> dict[str, wiring.Member]:
    members: dict[str, wiring.Member] = {
        "a": In(tile.row_bits * tile.rows),
        "b": In(tile.row_bits * tile.columns),
        "in_last": In(1),
        "in_valid": In(1),
        "in_ready": Out(1),
        "result": Out(CODE_BITS * tile.columns),
        "out_last": Out(1),
        "out_valid": Out(1),
        "out_ready": In(1),
    }
    for operand, formats in (("a", tile.a), ("b", tile.b)):
        if len(formats) > 1:
            members[f"{operand}_format"] = In(select_width(len(formats)))
    return members


class GemmComponent(wiring.Component):
    """The hardware of a matrix-product tile.

    A step is accepted in a clock cycle in which `in_valid` and `in_ready` are both 1. With G products per step, the
    input `a` holds G columns of matrix A, and the input `b` holds G rows of matrix B. With G products per step, the
    8-bit codes of row i begin at bit 8 * G * i of `a`, in the order of the G columns. The 8-bit codes of column j begin
    at bit 8 * G * j of `b`, in the order of the G rows. The inputs `a_format` and `b_format` select the formats of
    operands that have several formats. The input `in_last` marks the last step. Pauses between steps are allowed.

    A row of results is transferred in a clock cycle in which `out_valid` and `out_ready` are both 1. The output
    `result` holds the result of column j in bits 8j to 8j + 7. Row 0 comes first. The output `out_last` is 1 while the
    last row is valid. The tile accepts the next matrix product after it has output the last row.
    """

    def __init__(self, tile: GemmTile) -> None:
        super().__init__(_members(tile))
        self._tile = tile

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ports: Any = self
        taken, begins, drains = Signal(), Signal(init=1), Signal()
        m.d.comb += taken.eq(ports.in_valid & ports.in_ready)
        with m.If(taken):
            m.d.sync += begins.eq(ports.in_last)
        sums, arrived = self._array(m, taken, begins)
        row = self._drain(m, taken, arrived, drains)
        for column in range(self._tile.columns):
            m.submodules[f"cast{column}"] = cast = build(self._tile.cast)
            m.d.comb += [
                cast.x.eq(Array(sums[r][column] for r in range(self._tile.rows))[row]),
                ports.result.word_select(column, CODE_BITS).eq(cast.result),
            ]
        return m

    def _array(self, m: Module, taken: Value, begins: Value) -> tuple[list[list[Value]], Value]:
        ports: Any = self
        tile = self._tile
        control: dict[str, Value] = {"valid": taken, "first": begins}
        west = [self._entering(m, "a", row, control) for row in range(tile.rows - 1)]
        west.append(self._entering(m, "a", tile.rows - 1, control | {"last": ports.in_last}))
        north = [self._entering(m, "b", column, {}) for column in range(tile.columns)]
        sums: list[list[Value]] = []
        for row in range(tile.rows):
            sums.append([])
            for column in range(tile.columns):
                here = f"{row}_{column}"
                a, b = west[row], north[column]
                m.submodules[f"mac{here}"] = mac = build(tile.mac)
                self._operate(m, mac, a, b)
                sums[row].append(mac.result)
                west[row], north[column] = _held(m, a, f"a_beyond_{here}"), _held(m, b, f"b_beyond_{here}")
        return sums, a.valid & a.last

    def _entering(self, m: Module, operand: str, place: int, control: dict[str, Value]) -> data.View[data.StructLayout]:
        select = getattr(self, f"{operand}_format", None)
        fields = {"codes": getattr(self, operand).word_select(place, self._tile.row_bits), **control}
        if select is not None:
            fields["format"] = select
        token = Signal(
            data.StructLayout({name: len(value) for name, value in fields.items()}), name=f"{operand}{place}"
        )
        m.d.comb += [token[name].eq(value) for name, value in fields.items()]
        for clock in range(1, place + 1):
            token = _held(m, token, f"{operand}{place}_held_{clock}")
        return token

    def _operate(self, m: Module, mac: Any, a: data.View[data.StructLayout], b: data.View[data.StructLayout]) -> None:
        # In the first step of a matrix product, the new products replace the old sum.
        if not self._tile.engine.step.exact:
            m.d.comb += mac.c.eq(0)
        m.d.comb += [
            mac.op.eq(Mux(a.first, MacOp.LOAD, MacOp.ACCUMULATE)),
            mac.in_valid.eq(a.valid),
            mac.out_ready.eq(1),
        ]
        for operand, token in (("a", a), ("b", b)):
            for lane, name in enumerate(self._tile.mac.lane_names(operand)):
                m.d.comb += getattr(mac, name).eq(token.codes.word_select(lane, CODE_BITS))
            if "format" in token.shape().members:
                m.d.comb += getattr(mac, f"{operand}_format").eq(token.format)

    def _drain(self, m: Module, taken: Value, arrived: Value, drains: Signal) -> Signal:
        """Add logic that accepts operands and then outputs the sums row by row, and return the row counter."""
        ports: Any = self
        rows = self._tile.rows
        waits, row = Signal(), Signal(range(rows))
        standing = arrived
        for stage in range(self._tile.mac_stages):
            following = Signal(name=f"last_in_stage_{stage + 1}")
            m.d.sync += following.eq(standing)
            standing = following
        m.d.comb += [
            ports.in_ready.eq(~waits),
            ports.out_valid.eq(drains),
            ports.out_last.eq(row == rows - 1),
        ]
        with m.If(taken & ports.in_last):
            m.d.sync += waits.eq(1)
        with m.If(standing):
            m.d.sync += [drains.eq(1), row.eq(0)]
        with m.If(drains & ports.out_ready):
            m.d.sync += row.eq(row + 1)
            with m.If(ports.out_last):
                m.d.sync += [drains.eq(0), waits.eq(0)]
        return row


def _held(m: Module, token: Any, name: str) -> Any:
    held = Signal(token.shape(), name=name)
    m.d.sync += held.eq(token)
    return held


def ports(tile: GemmTile) -> tuple[str, ...]:
    return ("clk", "rst", *_members(tile))


def gemm_verilog(tile: GemmTile) -> str:
    """Return the Verilog of a matrix-product tile, with its parameters in the header comment.

    The text is deterministic.
    """
    fields = {
        "rows": tile.rows,
        "columns": tile.columns,
        "a": ", ".join(fmt.name for fmt in tile.a),
        "b": ", ".join(fmt.name for fmt in tile.b),
        "engine": tile.engine.name,
        "target": f"{tile.target.name}, {tile.rounding.value}, {tile.overflow.value}",
        "mac_stages": tile.mac_stages,
    }
    lines = [
        f"{tile.name}: matrix product tile, generated by fp9",
        *(f"  {name}: {value}" for name, value in fields.items()),
    ]
    return "\n".join([*(f"// {line}" for line in lines), "", component_verilog(GemmComponent(tile), tile.name)])
