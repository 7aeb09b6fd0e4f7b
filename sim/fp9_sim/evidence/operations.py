"""Build the page that shows the evidence for each operation and format of the multi-format FPUs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fp9.suites import inputs_of
from fp9.units import MultiFpu, MultiFpuOp
from fp9.units.hooks import Hook
from fp9.units.multi_fpu import DOTS
from fp9_sim import records
from fp9_sim.evidence.catalogue import PROOF
from fp9_sim.evidence.status import status
from fp9_sim.proofs import Split, State, splits

_HEADING = """\
# Evidence for each operation of an FPU

`fp9 records pages` builds this page from `records/proof/` and from the units' specifications. Each table has a row for
each operation of a [multi-format FPU](../fpu.md), and a column for each format of operand a. For `from_integer`, the
column is the format of the result. Each cell shows:

- the number of operations in the suite `corner` that simulations compare with the golden model;
- **proven**: a solver proved result and flags for all operands ([proofs](../explanation/proofs.md)). For `convert`, the
  cell lists the result formats of the proof if the proof does not cover all result formats.

[How it is checked](../fpu.md#how-it-is-checked) lists the outside references of the golden model, such as Berkeley
SoftFloat. [What is checked of each unit](coverage.md) shows the mutation scores of the suite.
"""


multi_fpu: Hook[[], MultiFpu | None] = Hook(
    "table of the evidence for each operation", {MultiFpu: lambda unit: unit}, otherwise=lambda unit: None
)
"""Return a unit that the page shows, or None for another unit."""


class _Cell(NamedTuple):
    label: str
    operation: str
    format: str


def page(folder: Path, units: Iterable[MultiFpu]) -> str:
    every = list(units)
    valid = {item.unit for item in status(every, folder, [PROOF]) if item.finding.holds}
    return _HEADING + "".join(
        "\n".join(["", f"## {unit.name}", "", *_table(unit, _proven(unit, folder) if unit in valid else {}), ""])
        for unit in every
    )


def _table(unit: MultiFpu, proven: Mapping[_Cell, list[str]]) -> Iterator[str]:
    columns = [(split, fmt.name) for split in splits(unit) for fmt in split.lane.formats]
    counts = _counts(unit)
    yield f"| operation | {' | '.join(name + split.label for split, name in columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for op in unit.operations:
        cells = []
        for split, name in columns:
            cell = _Cell(split.label, op.value, name)
            found = [f"{counts[cell]:,}"] if counts[cell] else []
            cells.append(", ".join([*found, *_says(split, proven.get(cell))]) or "-")
        yield f"| `{op.value}` | {' | '.join(cells)} |"


def _says(split: Split, targets: list[str] | None) -> list[str]:
    if targets is None:
        return []
    names = [fmt.name for fmt in split.lane.formats if fmt.name in targets]
    return [
        "**proven**" if not targets or len(names) == len(split.lane.formats) else f"**proven** to {', '.join(names)}"
    ]


_NAME = re.compile(r"(?:(?P<op>\w+) of )?(?P<a>\S+)(?: to (?P<target>\S+))?.*?(?P<label> in \d+-bit lanes)?")


def _proven(unit: MultiFpu, folder: Path) -> dict[_Cell, list[str]]:
    """Return, for each operation and operand format, the result formats for which the operation is proven correct."""
    fields = records.read(folder, records.PROOF, unit.name)
    assert fields is not None
    found: dict[_Cell, list[str]] = defaultdict(list)
    open_ones = set()
    for case in (case for claim in fields["claims"] for case in claim["cases"]):
        match = _NAME.fullmatch(case["name"])
        if match is None:
            continue
        cell = _Cell(match["label"] or "", match["op"] or MultiFpuOp.CONVERT.value, match["a"])
        # The list stays empty for an operation that has no separate result format.
        found[cell] += [match["target"]] if match["target"] else []
        if case["state"] != State.PROVEN.value:
            open_ones.add(cell)
    # A cell with a proof case that is not proven is omitted.
    return {cell: targets for cell, targets in found.items() if cell not in open_ones}


def _counts(unit: MultiFpu) -> Counter[_Cell]:
    """Return the number of test operations in the suite `corner` for each FPU operation and format."""
    inputs = inputs_of(unit, "corner", None, 0)
    found: Counter[_Cell] = Counter()
    vector = np.minimum(inputs["vector"], len(unit.lane_widths)) if unit.lane_widths else np.zeros_like(inputs["a"])
    for split in splits(unit):
        lane = split.lane
        here = vector == split.vector
        codes = np.minimum(inputs["op"][here], len(lane.operations) - 1) if "op" in inputs else 0 * vector[here]
        for code, op in enumerate(lane.operations):
            offered = unit.narrow if op in DOTS else lane.formats
            port = lane.format_port("result" if op is MultiFpuOp.FROM_INTEGER else "a")
            column = inputs[port][here][codes == code] if port in inputs else 0 * codes[codes == code]
            chosen, numbers = np.unique(np.minimum(column, len(offered) - 1), return_counts=True)
            for index, number in zip(chosen, numbers, strict=True):
                found[_Cell(split.label, op.value, offered[index].name)] += int(number)
    return found
