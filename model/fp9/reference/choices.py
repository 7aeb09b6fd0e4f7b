"""What the ports of one operation choose and give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fp9.formats import with_bias
from fp9.units import BIAS_BITS

if TYPE_CHECKING:
    from fp9.formats import Format
    from fp9.units import Dot

Row = dict[str, int]
"""The codes of one operation, by the names of its ports."""


def chosen(offered: tuple[Any, ...], row: Row, port: str) -> Any:
    """What a select port means: beyond the last choice, the last; the only one where there is no port."""
    return offered[min(row.get(port, 0), len(offered) - 1)]


def signed(bits: int, width: int) -> int:
    """Two's complement of so many bits."""
    return bits - (bits >> (width - 1) << width)


def operand_format(row: Row, name: str, formats: tuple[Format, ...]) -> Format:
    """The format of an operand, its extra bias included. Raises ValueError for a bias that it does not take."""
    fmt: Format = chosen(formats, row, f"{name}_format")
    if f"{name}_bias" not in row or not fmt.programmable_bias:
        return fmt
    return with_bias(fmt, signed(row[f"{name}_bias"], BIAS_BITS))


def operands(unit: Dot, row: Row, name: str) -> tuple[list[int], Format]:
    """The codes of an operand's lanes, without bits that its format has not, and that format."""
    fmt = operand_format(row, name, unit.a if name == "a" else unit.b)
    return [row[lane] & ((1 << fmt.bits) - 1) for lane in unit.lane_names(name)], fmt
