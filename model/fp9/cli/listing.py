"""Commands that list formats, block formats and accumulators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fp9
from fp9.cli.papers import show_papers
from fp9.cli.support import Command, UserError, show, table
from fp9.cli.words import ENGINE, FORMAT_OR_BLOCK

if TYPE_CHECKING:
    from fp9.engines import Accumulator
    from fp9.formats.blocks import BlockFormat

Record = dict[str, Any]


@click.command(cls=Command, page="reference/formats/README.md")
@click.argument("name", required=False, type=FORMAT_OR_BLOCK)
@click.option("--codes", is_flag=True, help="List every code and its value (formats of at most 19 bits).")
@click.option("--papers", is_flag=True, help="Compare the tables that papers print with computed figures.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="With --papers: folder for pictures.")
def formats(name: str | None, codes: bool, papers: bool, out: Path | None, as_json: bool) -> None:
    """List number formats and block formats, or show one format.

    NAME is a format with or without parameters, a description by bit counts, or a name from another package:

    \b
      fp9 formats hif8 --codes
      fp9 formats "hfp8_143(bias=2)"
      fp9 formats 1.4.3,b=10
      fp9 formats torch.float8_e4m3fn
      fp9 formats nvfp4
      fp9 formats --papers --out build/pictures
    """
    if papers:
        if name is not None or codes:
            raise UserError("--papers shows all of their formats; leave out NAME and --codes")
        return show_papers(out, as_json)
    if out is not None:
        raise UserError("--out is the folder for the pictures of --papers; give --papers as well")
    if name is not None:
        return _one(name, codes, as_json)
    if codes:
        raise UserError("--codes lists one format; name it, as in: fp9 formats hif8 --codes")
    return _all(as_json)


def _all(as_json: bool) -> None:
    from fp9.cli import format_records  # slow to load

    single = [format_records.format_record(fmt) for fmt in fp9.formats()]
    rows = [
        [r["name"], r["bits"], r["layout"], _plain(r["bias"]), *map(_short, _limits(r)), r["rounding"]] for r in single
    ]
    columns = ["format", "bits", "layout", "bias", "smallest", "smallest normal", "max", "rounding"]
    blocks = [block_record(block) for block in fp9.block_formats()]
    tables = [table("Formats", columns, rows, numbers=columns[3:7]), _blocks_table(blocks)]
    show(single + blocks, as_json, *tables)


def _one(name: str, codes: bool, as_json: bool) -> None:
    from fp9.cli import format_records  # slow to load

    if (block := _block(name)) and not codes:
        return show(block_record(block), as_json, _properties(block_record(block)))
    record = format_records.format_record(name) | ({"codes": format_records.code_records(name)} if codes else {})
    tables = [_properties({key: value for key, value in record.items() if key != "codes"})]
    if codes:
        digits = (record["bits"] + 3) // 4
        rows = [[f"0x{c['code']:0{digits}X}", f"{c['code']:0{record['bits']}b}", c["value"]] for c in record["codes"]]
        tables.append(table("Codes", ["code", "bits", "value"], rows, numbers=["value"]))
    show(record, as_json, *tables)


def _block(name: str) -> BlockFormat | None:
    try:
        fp9.format(name)
    except ValueError:
        try:
            return fp9.blocks.block_format(name)
        except ValueError:
            return None
    return None


def block_record(block: BlockFormat) -> Record:
    return {
        "name": block.name,
        "elements": block.element.name,
        "scale": block.scale.name,
        "block": block.length,
        "bits": float(block.bits),
        "rules": list(block.rules),
        "tensor_scale": block.tensor,
        "source": block.source,
    }


def _blocks_table(blocks: list[Record]) -> Any:
    columns = ["block format", "elements", "scale", "block", "bits an element", "rules, the default first"]
    rows = [[r["name"], r["elements"], r["scale"], r["block"], r["bits"], ", ".join(r["rules"])] for r in blocks]
    return table("Block formats", columns, rows, numbers=columns[3:5])


@click.command(cls=Command, page="reference/engines.md")
@click.argument("name", required=False, metavar="[NAME]", type=ENGINE)
def accumulators(name: str | None, as_json: bool) -> None:
    """List the accumulators of dot products, or show one.

    NAME is a preset, or a device. For a device with several instructions, add the instruction to the name of the
    device:

    \b
      fp9 accumulators hopper
      fp9 accumulators "h100 wgmma"
      fp9 accumulators mi300x
    """
    from fp9.engines import about  # slow to load

    if name is None:
        every = [accumulator_record(one) for one in fp9.accumulators()]
        columns = ["accumulator", "terms per step", "aligned bits", "result", "rounding", "chunk", "stands for"]
        rows = [[_cell(record[key]) for key in _COLUMNS] for record in every]
        show(every, as_json, table("Accumulators", columns, rows, numbers=[columns[1], columns[2], columns[5]]))
        return
    record = accumulator_record(about(name))
    show(record, as_json, _properties(record))


_COLUMNS = ("name", "terms_per_step", "aligned_bits", "result", "rounding", "chunk", "stands_for")


def accumulator_record(one: Accumulator) -> Record:
    return {key: getattr(one, key) for key in (*_COLUMNS, "nan", "nan_on_devices", "source")} | {
        "devices": list(one.devices)
    }


def _properties(record: Record) -> Any:
    return table(str(record["name"]), ["property", "value"], [[key, _cell(value)] for key, value in record.items()])


def _cell(value: object) -> object:
    return (", ".join(map(str, value)) or "-") if isinstance(value, list) else _plain(value)


def _limits(record: Record) -> list[float]:
    return [float(str(record[key])) for key in ("smallest", "smallest_normal", "max")]


def _short(value: float) -> str:
    return f"{value:.6g}"


def _plain(value: object) -> object:
    return {True: "yes", False: "no", None: "-"}[value] if value is None or isinstance(value, bool) else value
