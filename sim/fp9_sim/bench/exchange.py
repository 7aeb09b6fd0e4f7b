"""Files that a regression run and its cocotb test bench exchange in the run's folder."""

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

# Functional coverage in the format of cocotb-coverage, and the same data as JSON.
COVERAGE = "coverage.xml"

COVERAGE_JSON = "coverage.json"

FOLDER_VARIABLE = "FP9_SIM_RUN"

ORDER = "order.json"

OUTCOME = "outcome.json"


# Largest number of operations in the short passes that precede the full pass.
PREFIX = 64


class End(StrEnum):
    """Condition that ends a pass of the test bench."""

    DRAINED = "drained"
    """The unit has given every result, and gives no further result."""
    TAKEN = "taken"
    """The unit has taken every operation, and results are still in the pipeline."""
    BLOCKED = "blocked"
    """The monitor takes no result, and every stage is full."""


@dataclass(frozen=True)
class Plan:
    """One pass of the test bench: a reset or a flush, followed by the first `count` operations.

    Error messages use `after` to say what the unit was doing before the reset.
    """

    count: int
    stalls: bool
    after: str
    end: End = End.DRAINED
    reset_clocks: int = 1
    by_flush: bool = False


@dataclass(frozen=True)
class Order:
    """Vectors and settings of a test bench run."""

    vectors: VectorSet
    # The seed determines the stalls and resets.
    seed: int
    stalls: bool
    # Without stalls, a pipelined unit gives a result `latency` clock cycles after its operation.
    latency: int
    coverage: bool = False
    # Without stalls, consecutive transfers of an elastic unit are at most `latency` clock cycles apart.
    elastic: bool = False

    def write(self, folder: Path) -> None:
        (folder / "unit.pickle").write_bytes(pickle.dumps(self.vectors.unit))
        columns = {f"{kind}/{name}": column for kind in _KINDS for name, column in getattr(self.vectors, kind).items()}
        np.savez(folder / "vectors.npz", allow_pickle=False, **columns)
        said = {"seed": self.seed, "stalls": self.stalls, "latency": self.latency}
        said |= {"coverage": self.coverage, "elastic": self.elastic}
        (folder / ORDER).write_text(json.dumps(said))

    @staticmethod
    def read(folder: Path) -> Order:
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
    """Results of a test bench run: outputs of the DUT, number of checked operations, and interface violations."""

    answers: Answers
    checked: int
    violations: tuple[str, ...] = ()
    clocks: int = 0
    # A pass is a reset or flush, followed by operations.
    passes: tuple[Plan, ...] = ()
    # The pass in which the DUT violated its interface.
    broken: Plan | None = None

    def write(self, folder: Path) -> None:
        np.savez(folder / "answers.npz", allow_pickle=False, **self.answers.values)
        record = {**asdict(self), "unknown": self.answers.unknown}
        del record["answers"]
        write_whole(folder / OUTCOME, json.dumps(record))

    @staticmethod
    def read(folder: Path) -> Outcome:
        record = json.loads((folder / OUTCOME).read_text())
        unknown = {name: {int(i): bits for i, bits in at.items()} for name, at in record["unknown"].items()}
        with np.load(folder / "answers.npz") as columns:
            answers = Answers({name: columns[name] for name in columns.files}, unknown)
        passes = tuple(Plan(**plan) for plan in record["passes"])
        broken = Plan(**record["broken"]) if record["broken"] else None
        return Outcome(answers, record["checked"], tuple(record["violations"]), record["clocks"], passes, broken)


def prefix_of(vectors: VectorSet) -> int:
    # The number of operations is a multiple of the unit's block size.
    count, group = min(len(vectors), PREFIX), vectors.unit.group
    return max(count - count % group, group)
