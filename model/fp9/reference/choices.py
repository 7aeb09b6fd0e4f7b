"""Functions of the reference model that interpret the select ports and operand ports of one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fp9.formats import with_bias
from fp9.units import BIAS_BITS

if TYPE_CHECKING:
    from fp9.formats import Format
    from fp9.units import Dot

Row = dict[str, int]
"""Code of each port in one operation, by port name."""


def chosen(offered: tuple[Any, ...], row: Row, port: str) -> Any:
    # A unit with a single alternative has no select port. A value above the last choice selects the last choice.
    return offered[min(row.get(port, 0), len(offered) - 1)]


def signed(bits: int, width: int) -> int:
    """Interpret a `width`-bit word as a two's complement integer."""
    return bits - (bits >> (width - 1) << width)


def operand_format(row: Row, name: str, formats: tuple[Format, ...]) -> Format:
    fmt: Format = chosen(formats, row, f"{name}_format")
    if f"{name}_bias" not in row or not fmt.programmable_bias:
        return fmt
    return with_bias(fmt, signed(row[f"{name}_bias"], BIAS_BITS))


def operands(unit: Dot, row: Row, name: str) -> tuple[list[int], Format]:
    """Return a list with the operand's code in each lane, and the operand's format."""
    # Bits above the format's width are removed from the codes.
    fmt = operand_format(row, name, unit.a if name == "a" else unit.b)
    return [row[lane] & ((1 << fmt.bits) - 1) for lane in unit.lane_names(name)], fmt
