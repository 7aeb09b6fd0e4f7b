"""Files that a regression run and its cocotb test bench exchange in the run's folder.

`regress` writes an order, which describes what the test bench must simulate. The test bench writes an outcome, which
holds the outputs of the DUT.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from fp9.system.files import write_whole
from fp9.units import Unit
from fp9.vectors.sets import VectorSet
from fp9_sim.bench.scoreboard import Answers

COVERAGE = "coverage.xml"
"""Name of the functional coverage file in the format of cocotb-coverage. `COVERAGE_JSON` holds the same data as JSON.
"""

COVERAGE_JSON = "coverage.json"

FOLDER_VARIABLE = "FP9_SIM_RUN"
"""Environment variable that holds the path of the run's folder."""

ORDER = "order.json"
"""Name of the file that holds the order."""

OUTCOME = "outcome.json"
"""Name of the file that holds the outcome."""


PREFIX = 64
"""Largest number of operations in the short passes that precede the full pass."""


class End(StrEnum):
    """The condition that ends a pass of the test bench."""

    DRAINED = "drained"
    """The unit has given every result, and gives no further result."""
    TAKEN = "taken"
    """The unit has taken every operation. Results are still in the pipeline."""
    BLOCKED = "blocked"
    """The monitor takes no result, and every stage is full."""


@dataclass(frozen=True)
class Plan:
    """One pass of the test bench: a reset, then the first `count` operations, with or without stalls.

    `after` says in error messages what the unit was doing at the reset. If `by_flush` is true, the test bench pass
    begins with a flush instead of a reset.
    """

    count: int
    stalls: bool
    after: str
    end: End = End.DRAINED
    reset_clocks: int = 1
    by_flush: bool = False


@dataclass(frozen=True)
class Order:
    """The task of the test bench: the vectors to drive, a flag for stalls, and a flag for measuring coverage.

    `seed` determines the stalls and resets. Without stalls, a pipelined unit gives a result `latency` clock cycles
    after its operation. The handshake of an `elastic` unit alone decides when operations enter and when results leave.
    Without stalls, consecutive transfers of an `elastic` unit are at most `latency` clock cycles apart.
    """

    vectors: VectorSet
    seed: int
    stalls: bool
    latency: int
    coverage: bool = False
    elastic: bool = False

    def write(self, folder: Path) -> None:
        """Write files to a folder from which the test bench reads what to simulate."""
        (folder / "unit.pickle").write_bytes(pickle.dumps(self.vectors.unit))
        columns = {f"{kind}/{name}": column for kind in _KINDS for name, column in getattr(self.vectors, kind).items()}
        np.savez(folder / "vectors.npz", allow_pickle=False, **columns)
        said = {"seed": self.seed, "stalls": self.stalls, "latency": self.latency}
        said |= {"coverage": self.coverage, "elastic": self.elastic}
        (folder / ORDER).write_text(json.dumps(said))

    @staticmethod
    def read(folder: Path) -> Order:
        """Return the order of a test bench that `write` stored in a folder."""
        unit: Unit = pickle.loads((folder / "unit.pickle").read_bytes())
        parts: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        with np.load(folder / "vectors.npz") as columns:
            for key in columns.files:
                kind, name = key.split("/")
                parts[kind][name] = columns[key]
        return Order(VectorSet(unit, **parts, origin={}), **json.loads((folder / ORDER).read_text()))


_KINDS = ("inputs", "expected", "care")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a test bench run: the DUT's outputs, the number of checked operations, and interface violations.

    `passes` are the passes that ended without a violation, and `broken` is the pass with the violation.
    """

    answers: Answers
    checked: int
    violations: tuple[str, ...] = ()
    clocks: int = 0
    passes: tuple[Plan, ...] = ()
    broken: Plan | None = None

    def write(self, folder: Path) -> None:
        """Write the test bench's outcome to files in a folder.

        A run that is interrupted leaves no incomplete outcome file.
        """
        np.savez(folder / "answers.npz", allow_pickle=False, **self.answers.values)
        record = {**asdict(self), "unknown": self.answers.unknown}
        del record["answers"]
        write_whole(folder / OUTCOME, json.dumps(record))

    @staticmethod
    def read(folder: Path) -> Outcome:
        """Return the outcome of a simulation, which the method `write` stored in a folder.

        Raises FileNotFoundError if the test bench wrote no outcome.
        """
        record = json.loads((folder / OUTCOME).read_text())
        unknown = {name: {int(i): bits for i, bits in at.items()} for name, at in record["unknown"].items()}
        with np.load(folder / "answers.npz") as columns:
            answers = Answers({name: columns[name] for name in columns.files}, unknown)
        passes = tuple(Plan(**plan) for plan in record["passes"])
        broken = Plan(**record["broken"]) if record["broken"] else None
        return Outcome(answers, record["checked"], tuple(record["violations"]), record["clocks"], passes, broken)


def prefix_of(vectors: VectorSet) -> int:
    """Return the number of operations in the short passes that precede the full pass.

    The number of operations is a multiple of the unit's block size.
    """
    count, group = min(len(vectors), PREFIX), vectors.unit.group
    return max(count - count % group, group)
