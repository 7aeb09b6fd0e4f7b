"""List the records of studies and comparisons, and the commands that repeat them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9_ml.experiments.catalogue import CLAIMS
from fp9_sim import records
from fp9_sim.evidence.claim import Finding, State
from fp9_sim.evidence.studies import KINDS, stale
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD

_GPU = "python -m tests.model.profiles.gpu_calls"
# Commands that repeat comparisons. Keys are paths below the folder of all records, without suffix.
COMPARISONS = {
    "accumulators/mmasim": "python tests/model/sums/mmasim_dots.py 1000000 records/accumulators/mmasim.json",
    "accumulators/instructions": "python -m tests.support.instructions records/accumulators/instructions.json",
    "accumulators/sources_of_truth": "python -m tests.support.sources_of_truth CLONE records/accumulators",
    **{f"accumulators/gpu_{name}": f"{_GPU} records/accumulators/gpu_{name}.json" for name in ("h100", "h200")},
    "accumulators/cells": "python -m tests.units.cells records/accumulators/cells.json",
    "cmodel/operations": "python -m benchmarks.cmodel --record records/cmodel/operations.json",
    "identify/presets": "python -m fp9_compare.identify.trials presets --out records/identify/presets.json",
    "identify/random": "python -m fp9_compare.identify.trials random --count 1000 --out records/identify/random.json",
    "third-party/areas": "make comparable",
    "third-party/blocks": "python -m tests.model.blocks.comparison records/third-party/blocks.json",
    "third-party/libraries": ("python -m fp9_compare.diagnosis.libraries_page records/third-party/libraries.json"),
    "third-party/verdicts": "python -m tests.support.comparable",
    **{
        f"{records.RECIPES}/{name}": f"python -m fp9_ml.experiments.reproduce {name} --out records/{records.RECIPES}"
        for name in CLAIMS
    },
    f"{records.RECIPES}/rules": f"python -m fp9_ml.experiments.histograms records/{records.RECIPES}",
}


@dataclass(frozen=True)
class Measurement:
    """State of a study's or comparison's record, and the command that repeats the study or comparison."""

    # The path of the record, relative to the folder of all records.
    file: str
    command: str
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        return {
            "record": self.file,
            "state": self.finding.state.value,
            "why": self.finding.why,
            "command": self.command,
        }


def status(folder: Path, compare: bool = False) -> Iterator[Measurement]:
    """Yield the state of every recorded study and comparison in `folder`.

    If `compare` is true, every circuit of a study is elaborated again, and a changed circuit makes the study stale.
    Comparisons are never stale. Raises ValueError for an invalid record.
    """
    for name in KINDS:
        yield Measurement(f"{records.STUDY}/{name}.json", f"fp9 records study {name}", _study(name, folder, compare))
    for name, command in COMPARISONS.items():
        yield Measurement(f"{name}.json", command, _comparison(folder / f"{name}.json", command))


_MISSING = Finding(State.MISSING, NO_RECORD)


def _study(name: str, folder: Path, compare: bool) -> Finding:
    fields = records.read(folder, records.STUDY, name)
    if fields is None:
        return _MISSING
    changed = stale(fields) if compare else []
    return Finding(State.STALE, f"{EARLIER_CIRCUIT}: {', '.join(changed)}") if changed else Finding(State.VALID)


def _comparison(path: Path, command: str) -> Finding:
    if not path.is_file():
        return _MISSING
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no valid record ({error}); repeat it with: {command}") from None
    if not rows or not isinstance(rows, list | dict):
        raise ValueError(f"{path} is no valid record (it has no rows); repeat it with: {command}")
    return Finding(State.VALID)
