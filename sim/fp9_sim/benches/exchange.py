"""Files of a run's folder, through which `regress` and the bench in the simulator communicate."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fp9.system.files import write_whole
from fp9.units import Unit
from fp9.vectors.sets import VectorSet, port_dtype
from fp9_sim.benches.scoreboard import Answers

COVERAGE = "coverage.xml"
"""File of functional coverage in the format of cocotb-coverage. `COVERAGE_JSON` holds the same as plain values."""

COVERAGE_JSON = "coverage.json"

FOLDER_VARIABLE = "FP9_SIM_RUN"
"""Environment variable with the folder of the bench's run."""

ORDER = "order.json"
"""File of the order."""

OUTCOME = "outcome.json"
"""File of the outcome."""


PREFIX = 64
"""Largest number of operations of the passes before the full one."""


@dataclass(frozen=True)
class Order:
    """The order for the bench: vectors, seed of stalls and resets, whether to stall, and whether to measure coverage.

    `latency` is the number of clocks from an operation to its result without stalls, for a unit with stages. An
    `elastic` unit
    takes operations and gives results at any time, at most `latency` clocks apart without stalls.
    """

    vectors: VectorSet
    seed: int
    stalls: bool
    latency: int
    coverage: bool = False
    elastic: bool = False

    def write(self, folder: Path) -> None:
        """Write the order into a folder."""
        (folder / "unit.pickle").write_bytes(pickle.dumps(self.vectors.unit))
        columns = {f"{kind}/{name}": column for kind in _KINDS for name, column in getattr(self.vectors, kind).items()}
        np.savez(folder / "vectors.npz", allow_pickle=False, **columns)
        said = {"seed": self.seed, "stalls": self.stalls, "latency": self.latency}
        said |= {"coverage": self.coverage, "elastic": self.elastic}
        (folder / ORDER).write_text(json.dumps(said))

    @staticmethod
    def read(folder: Path) -> Order:
        """Read the order from a folder."""
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
    """The outcome of the bench: answers in order, number of operations with an answer, and violations of the
    handshake.
    """

    answers: Answers
    checked: int
    violations: tuple[str, ...] = ()
    clocks: int = 0

    def write(self, folder: Path) -> None:
        """Write the outcome into a folder, complete or not at all."""
        np.savez(folder / "answers.npz", allow_pickle=False, **self.answers.values)
        record = {key: value for key, value in asdict(self).items() if key != "answers"}
        write_whole(folder / OUTCOME, json.dumps({**record, "unknown": self.answers.unknown}))

    @staticmethod
    def read(folder: Path) -> Outcome:
        """Read the outcome from a folder. Raises FileNotFoundError if the bench wrote none."""
        record = json.loads((folder / OUTCOME).read_text())
        unknown = {name: {int(i): bits for i, bits in at.items()} for name, at in record["unknown"].items()}
        with np.load(folder / "answers.npz") as columns:
            answers = Answers({name: columns[name] for name in columns.files}, unknown)
        return Outcome(answers, record["checked"], tuple(record["violations"]), record["clocks"])


def answers_of(unit: Unit, rows: Sequence[Sequence[str]]) -> Answers:
    """Return answers from the bits of every output, one row for each operation, as a simulator writes them."""
    values: dict[str, Any] = {}
    unknown: dict[str, Mapping[int, str]] = {}
    for port, column in zip(unit.outputs, zip(*rows, strict=True) if rows else [()] * len(unit.outputs), strict=True):
        unsure = {i: bits for i, bits in enumerate(column) if set(bits) - {"0", "1"}}
        numbers = [0 if i in unsure else int(bits, 2) for i, bits in enumerate(column)]
        values[port.name] = np.array(numbers, dtype=port_dtype(port))
        if unsure:
            unknown[port.name] = unsure
    return Answers(values, unknown)


def prefix_of(vectors: VectorSet) -> int:
    """Return the number of operations of the passes before the full one, in whole blocks."""
    count, group = min(len(vectors), PREFIX), vectors.unit.group
    return max(count - count % group, group)
