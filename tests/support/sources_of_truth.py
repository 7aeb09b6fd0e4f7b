"""Compare every preset with its sources of truth, and write the record:

    FP9_REFERENCES=FOLDER python -m tests.support.sources_of_truth CLONE records/accumulators

FOLDER holds `isa` (see `tests.support.outside`), and CLONE is a clone of MATLAB-tensor-core. The program reads the
record `mmasim.json`, and writes the record `sources_of_truth.json`.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fp9.engines import ENGINES, engine
from fp9.system.files import write_whole
from fp9_compare import measured_rows
from tests.model.sums import test_instruction_sets as isa


class Source(NamedTuple):
    """A source of truth, and the number of rows or dots compared, or None for a paper or arithmetic."""

    words: str
    count: int | None = None
    unit: str = "rows"

    def __str__(self) -> str:
        return self.words if self.count is None else f"{self.words} ({self.count:,} {self.unit})"


TEXTS = {
    "fma_fp32": "the host's FPU",
    "fma_bf16": "IEEE 754's text",
    "dlfloat": "the paper's text",
    "fmma": "the paper's text",
    "chunked": "the paper's text",
    "deepseek": "the paper's text, on `hopper`",
    "mx": "exact fractions",
    "exact": "exact fractions",
}
"""Presets whose source is a text or exact arithmetic."""

INSTRUCTION_SETS = {
    "Spike, the reference simulator": isa.rvbna_rows,
    "Arm's pseudo-code": isa.arm_rows,
    "Bochs' rules": isa.x86_rows,
}

Found = dict[str, list[Source]]


def compared(clone: Path, mmasim: dict[str, Any]) -> Found:
    """Return the sources of truth of every preset. Raises ValueError for a row that no preset explains."""
    found: Found = {name: [] for name in ENGINES}
    for name, words in TEXTS.items():
        found[name].append(Source(words))
    for name, gpus, with_c, count in _of_chips(clone):
        said = f"chip{'s' if len(gpus) > 1 else ''} {_listed(gpus)}" + ("" if with_c else ", C = 0")
        found[name].append(Source(said, count))
    for words, rows in INSTRUCTION_SETS.items():
        for name, count in _added(rows()).items():
            found[name].append(Source(words, count))
    version = mmasim["source"].partition(" on ")[0]
    dots = [(one["preset"], one["dots"]) for one in mmasim["instructions"].values() if not one["differ"]]
    for name, count in _added(dots).items():
        found[name].append(Source(version, count, "dots"))
    return found


def _of_chips(clone: Path) -> Iterator[tuple[str, list[str], bool, int]]:
    """Yield presets, the GPUs whose rows they explain, whether C was added, and the number of rows."""
    gpus: dict[tuple[str, bool], set[str]] = defaultdict(set)
    counts: dict[tuple[str, bool], int] = defaultdict(int)
    for rows in measured_rows.read(clone):
        verdict = measured_rows.explain(rows)
        if not verdict.explained:
            raise ValueError(f"{rows.gpu}, {rows.operands}, {rows.output}: a row that no preset explains")
        for name in verdict.presets:
            gpus[name, verdict.with_c].add(rows.gpu)
            counts[name, verdict.with_c] += len(rows.d)
    for (name, with_c), own in gpus.items():
        yield name, sorted(own), with_c, counts[name, with_c]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _added(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return counts by preset. A changed preset counts for its original."""
    total: dict[str, int] = defaultdict(int)
    for name, count in counts:
        total[engine(name).name.partition("(")[0]] += count
    return total


def main(clone: Path, folder: Path) -> None:
    found = compared(clone, json.loads((folder / "mmasim.json").read_text()))
    write_whole(folder / "sources_of_truth.json", json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
