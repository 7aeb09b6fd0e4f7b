"""What the select and bias ports of one operation mean, one operation at a time."""

from __future__ import annotations

from typing import Any

from fp9.formats import Format, with_bias


def chosen(offered: tuple[Any, ...], row: dict[str, int], port: str) -> Any:
    """What a select port means: beyond the last choice, the last."""
    return offered[min(row.get(port, 0), len(offered) - 1)]


def operand_format(row: dict[str, int], name: str, formats: tuple[Format, ...]) -> Format:
    """The format of an operand, its extra bias included."""
    fmt: Format = chosen(formats, row, f"{name}_format")
    if f"{name}_bias" not in row or not fmt.programmable_bias:
        return fmt
    return with_bias(fmt, (row[f"{name}_bias"] ^ 16) - 16)
