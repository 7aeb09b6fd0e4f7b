"""Tables of fields from the records, CONTRIBUTING.md as a page, and the explorer; mkdocs-gen-files runs this script."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import json
import textwrap
import typing
from enum import Enum
from pathlib import Path

import mkdocs_gen_files

from fp9.engines import GROUPS, PARAMETERS, Engine
from fp9.formats import FixedFormat
from fp9.studies.explorer.page import page as explorer
from fp9.units import CATALOGUE, Unit
from fp9_ml.recipes import Recipe

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "records/accumulators/sources_of_truth.json"
"""Each preset's independent sources, with the number of rows or dot products that were compared."""
CELLS = ROOT / "records/accumulators/cells.json"
"""For each kind of unit, preset and pair of operands: the operations that agree, or why there is no circuit."""
MATRIX = """# Kinds, presets and operands

Every number is a cell: the unit was built as Verilog, and so many random operations gave the bits of the golden
model on Icarus. Cells have at most 4 products a step and 2 steps a chunk. A letter says why a circuit makes no
sense. A preset that a section does not name is not simulated yet. `{command}` goes on with it.
"""
GPUS = [ROOT / f"records/accumulators/gpu_{name}.json" for name in ("h100", "h200")]
"""Records of what was measured on GPUs."""
MEASURED = """# Measurements on GPUs

Every number on this page comes from a record of a run. `{command}` repeats a run on a machine with a GPU.
"""
HEAD = "| field | type | default | meaning |\n|---|---|---|---|\n"


def kinds() -> dict[str, type[Unit]]:
    """The classes of units by kind, in the order of the catalogue."""
    return {unit.kind: type(unit) for unit in CATALOGUE.values()}


def section(title: str, record: type) -> str:
    """Docstring and fields of a record as a section of the page."""
    return f"\n## {title}\n\n{inspect.getdoc(record)}\n\n{HEAD}{''.join(rows(record))}"


def engine_group(group: str, record: type) -> str:
    """A group of an engine's fields as a section of the page: each field with its formula and its parameter."""
    names = {each.field: each.name for each in PARAMETERS.values() if each.group == group}
    head = "| field | parameter | type | default | meaning |\n|---|---|---|---|---|\n"
    lines = [
        row.replace(f"| `{field}` |", f"| `{group}.{field}` | `{names[field]}` |")
        for field, row in zip(names_of(record), rows(record), strict=True)
    ]
    return f"\n### Engine: {group}\n\n{inspect.getdoc(record)}\n\n{head}{''.join(lines)}"


def names_of(record: type) -> list[str]:
    """The names of a record's fields."""
    return [field.name for field in dataclasses.fields(record)]


def rows(record: type) -> list[str]:
    """A row for each field: name, type, default, meaning."""
    hints, meanings = typing.get_type_hints(record), meanings_of(record)
    return [
        f"| `{one.name}` | {type_text(hints[one.name])} | {default_text(one)} | {meanings.get(one.name, '')} |\n"
        for one in dataclasses.fields(record)
        if one.name != "name"
    ]


def meanings_of(record: type) -> dict[str, str]:
    """The strings below the fields of a class and of the classes that it inherits from."""
    found = {}
    for parent in reversed([one for one in record.__mro__ if dataclasses.is_dataclass(one)]):
        body = ast.parse(textwrap.dedent(inspect.getsource(parent))).body[0].body
        for field, text in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def type_text(hint: object) -> str:
    """A type in the words of a unit file; of an enumeration its values."""
    arguments = [one for one in typing.get_args(hint) if one not in (type(None), ...)]
    if arguments:
        listed = "list of " if typing.get_origin(hint) is tuple else ""
        return listed + type_text(arguments[0])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    names = {bool: "`true`, `false`", int: "integer", str: "text", FixedFormat: "format"}
    names |= dict.fromkeys(GROUPS.values(), "table")
    return names.get(hint, getattr(hint, "__name__", str(hint)).lower())


def default_text(field: dataclasses.Field) -> str:
    """A field's default as a unit file has it; "required" where there is none."""
    value = field.default
    if value is dataclasses.MISSING:
        return "required"
    if isinstance(value, tuple):
        return ", ".join(f"`{getattr(one, 'value', one)}`" for one in value) or "none"
    if dataclasses.is_dataclass(value) and type(value) in GROUPS.values():
        return "see below"
    value = getattr(value, "value", getattr(value, "name", value))
    return "none" if value in (None, "") else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def matrix(record: dict) -> str:
    """A table for each kind of unit, and the reasons for empty cells."""
    page, pairs = MATRIX.format(command=record["command"]), record["pairs"]
    for kind, rows in record["rows"].items():
        some = {preset: row for preset, row in rows.items() if any(isinstance(cell, int) for cell in row)}
        reasons = dict.fromkeys(cell for row in rows.values() for cell in row if isinstance(cell, str))
        letters = dict(zip(reasons, "abcdefgh", strict=False))
        page += f"\n## `{kind}`\n\n| preset | {' | '.join(pairs)} |\n|{'---|' * (len(pairs) + 1)}\n"
        for preset, row in some.items():
            page += f"| `{preset}` | {' | '.join(str(letters.get(cell, cell)) for cell in row)} |\n"
        for reason, letter in letters.items():
            whole = [f"`{preset}`" for preset, row in rows.items() if set(row) == {reason}]
            page += f"\n{letter}: {reason}{'; no circuit by ' if whole else ''}{', '.join(whole)}.\n"
    return page


def gpu(record: dict) -> str:
    """The section of a GPU: instructions, library calls, and the speed of fp9's kernels."""
    stack = f"driver {record['driver']}, PyTorch {record['torch']}, cuBLASLt {record['cublas']}"
    page = f"\n## {record['device']}\n\nMeasured on {record['date']} with {stack}.\n"
    page += "\n### Instructions and matrix products that `fp9 identify --program` measures\n"
    page += "\n| program, operands and result | rows | presets that give every row |\n|---|---|---|\n"
    for what, found in record["instructions"].items():
        page += f"| {what} | {found['rows']:,} | {', '.join(f'`{name}`' for name in found['presets']) or 'none'} |\n"
    page += f"\n### Calls of the library against `fp9.scaled_mm` with profile `{record['profile']}`, and `fp9.matmul`\n"
    page += "\n| calls with | calls | that divide K | results | differing results |\n|---|---|---|---|---|\n"
    for what, one in record["calls"].items():
        page += f"| {what} | {one['calls']} | {one['divided_calls']} | {one['results']:,} | {one['differ']} |\n"
    many = record["many"]
    page += (
        f"\nfp9's kernel and `torch._scaled_mm` computed {many['results']:,} sums of {many['products_each']:,} products"
    )
    page += f" of random codes, with fast and slow accumulation. {many['differ']} results differ.\n"
    page += "\n### Speed of fp9's CUDA kernels for E4M3 operands\n"
    page += "\n| accumulator | n x n x n | 10^12 multiply-accumulates a second | registers | spilled bytes |\n"
    page += "|---|---|---|---|---|\n"
    for name, one in record["speed"].items():
        used, spilled = next((found["registers"], found["spill_bytes"]) for found in one["kernels"].values())
        page += f"| `{name}` | {one['size']:,} | {one['tera_macs']:.3f} | {used} | {spilled} |\n"
    ways = record["integers"]
    speeds = " and ".join(f"{ways[way]['tera_macs']:.3f} {way}" for way in ("eager", "compiled"))
    differ = sum(ways[way]["differ"] for way in ("eager", "compiled"))
    page += f"\nThe exact operations of torch compute `hopper` with {speeds} (10^12 multiply-accumulates a second, "
    page += f"{' x '.join(map(str, ways['size']))}). {differ} results differ from the kernel.\n"
    return page + (tensors(record["tensors"]) if "tensors" in record else "")


def tensors(found: dict) -> str:
    """The section of `fp9_ml.torch` on tensors of a GPU: what was compared with the CPU, and the speed."""
    page = "\n### `fp9_ml.torch.scaled_mm` and layers on tensors of the GPU, against the CPU\n"
    page += (
        f"\nMeasured on {found['date']}.\n\n| calls with | calls | results | differing results |\n|---|---|---|---|\n"
    )
    for what, one in found["compared"].items():
        page += f"| {what} | {one['calls']} | {one.get('results', '')} | {one['differ']} |\n"
    page += f"\n| call, n = {found['size']:,} | 10^12 multiply-accumulates a second |\n|---|---|\n"
    return page + "".join(f"| `{name}` | {rate:.3f} |\n" for name, rate in found["tera_macs"].items())


def compared(sources: list[tuple[str, int | None, str]]) -> str:
    """The sources of a preset, with what was compared."""
    return "; ".join(name if count is None else f"{name} ({count:,} {what})" for name, count, what in sources)


with mkdocs_gen_files.open("reference/fields.md", "a") as page:
    for kind, record in kinds().items():
        page.write(section(f"Unit: {kind}", record))
    page.write(section("Engine", Engine))
    for group, record in GROUPS.items():
        page.write(engine_group(group, record))
    page.write(section("Recipe", Recipe))

with mkdocs_gen_files.open("reference/engines.md", "a") as page:
    page.write("\n| preset | compared with |\n|---|---|\n")
    page.writelines(f"| `{name}` | {compared(found)} |\n" for name, found in json.loads(SOURCES.read_text()).items())

with mkdocs_gen_files.open("reference/operand-matrix.md", "w") as page:
    page.write(matrix(json.loads(CELLS.read_text())))

with mkdocs_gen_files.open("reference/measured-gpus.md", "w") as page:
    measured = [json.loads(path.read_text()) for path in GPUS]
    page.write(MEASURED.format(command=measured[0]["command"]) + "".join(map(gpu, measured)))

with mkdocs_gen_files.open("contributing/index.md", "w") as page:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for target, moved in (("docs/", "../"), ("LICENSE", "../index.md"), ("CHANGELOG.md", "changelog.md")):
        text = text.replace(f"]({target}", f"]({moved}")
    page.write(text)
with mkdocs_gen_files.open("contributing/changelog.md", "w") as page:
    page.write((ROOT / "CHANGELOG.md").read_text())
with mkdocs_gen_files.open("c-model.md", "a") as page:
    compared_units = json.loads((ROOT / "records/cmodel/operations.json").read_text())
    page.write(
        "\n## Units compared with the golden model\n\nNumbers of operations that gave equal results, flags and state.\n"
    )
    page.write("\n| unit | smoke | corner | random |\n|---|---|---|---|\n")
    page.writelines(
        f"| `{name}` | " + " | ".join(f"{done[suite]:,}" for suite in ("smoke", "corner", "random")) + " |\n"
        for name, done in compared_units.items()
    )

with mkdocs_gen_files.open("explorer.html", "w") as page:
    page.write(explorer())
