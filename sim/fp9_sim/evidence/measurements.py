"""Records of cost studies, and of comparisons with other implementations: where they are, and how to repeat them.

A study has a record of the schema, about the forms of its variants. A comparison is about no circuit of fp9, or about
many things at once: each writer has a format of its own, and its file lies in a folder of `records/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9_ml.experiments.catalogue import CLAIMS
from fp9_rtl.studies.catalogue import STUDIES
from fp9_sim import records
from fp9_sim.evidence.claim import Finding, State
from fp9_sim.evidence.studies import stale
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD

COMPARISONS = {
    "accumulators/mmasim": "python tests/model/sums/mmasim_dots.py 1000000 records/accumulators/mmasim.json",
    "accumulators/instructions": "python -m tests.instructions records/accumulators/instructions.json",
    "accumulators/sources_of_truth": "python -m tests.sources_of_truth CLONE records/accumulators",
    "identify/presets": "python -m fp9_compare.identify.trials presets --out records/identify/presets.json",
    "identify/random": "python -m fp9_compare.identify.trials random --count 1000 --out records/identify/random.json",
    "third-party/areas": "make comparable",
    "third-party/blocks": "python -m tests.model.blocks.comparison records/third-party/blocks.json",
    "third-party/verdicts": "python -m tests.support.comparable",
    **{
        f"{records.RECIPES}/{name}": f"python -m fp9_ml.experiments.reproduce {name} --out records/{records.RECIPES}"
        for name in CLAIMS
    },
    f"{records.RECIPES}/rules": f"python -m fp9_ml.experiments.histograms records/{records.RECIPES} docs/recipes",
}
"""Command that measures each comparison again, by its file in the folder of all records, without suffix."""


@dataclass(frozen=True)
class Measurement:
    """The state of a record that is not about one unit: its path in the folder of all records, and its command."""

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
    """Yield the state of every study and comparison by the records in `folder`.

    A study is stale if `compare` is set and the circuit of a variant is not the recorded one; this elaborates
    every variant. Comparisons are never stale, as they belong to no circuit. Raises ValueError for a file that is no
    record.
    """
    for name in STUDIES:
        yield Measurement(f"{records.STUDY}/{name}.json", f"fp9 records study {name}", _study(name, folder, compare))
    for name, command in COMPARISONS.items():
        found = (folder / f"{name}.json").is_file()
        yield Measurement(f"{name}.json", command, Finding(State.VALID) if found else _MISSING)


_MISSING = Finding(State.MISSING, NO_RECORD)


def _study(name: str, folder: Path, compare: bool) -> Finding:
    fields = records.read(folder, records.STUDY, name)
    if fields is None:
        return _MISSING
    changed = stale(fields) if compare else []
    return Finding(State.STALE, f"{EARLIER_CIRCUIT}: {', '.join(changed)}") if changed else Finding(State.VALID)
