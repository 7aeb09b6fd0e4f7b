"""Mutation testing inserts single errors into a circuit, and measures the fraction of errors that a suite detects.

SAT solvers and ABC find equivalent mutants, which the mutation score does not count.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9_rtl
from fp9.suites.corner import is_complete
from fp9.units import Unit
from fp9.vectors import sets as library
from fp9.vectors.sets import VectorSet
from fp9_sim.mutants.draw import MOST, SELECT, SELECT_BITS, Mutant, MutantSet
from fp9_sim.mutants.kinds import NETLIST, Kind
from fp9_sim.netlists.gates import WORD, Planes, bit_planes
from fp9_sim.netlists.graphs.clocked import circuit, keeps_registers
from fp9_sim.netlists.solvers.equality import Comparison
from fp9_sim.netlists.solvers.solver import State, Verdict
from fp9_sim.provenance import provenance

DRAWN = 240

REQUIRED = {"smoke": 0.95, "corner": 1.0}
"""The mutation score that each suite must reach."""

EQUIVALENCE_SECONDS = 60.0

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SuiteScore:
    """The mutation score of a suite.

    `survivors` are the mutants that the suite does not kill and that are not proven equivalent.
    """

    suite: str
    sha256: str
    operations: int
    killed: int
    survivors: tuple[Mutant, ...]

    @property
    def rate(self) -> float:
        """Return the fraction of non-equivalent mutants that the suite kills."""
        return self.killed / max(1, self.killed + len(self.survivors))


@dataclass(frozen=True)
class MutationScore:
    """The result of a mutation run for one unit and one kind of mutants.

    `drawn` is the total number of distinct mutants from all seeds. `survived` lists the mutants that no suite killed,
    each with input values for which its output is wrong. `undecided` lists the mutants whose equivalence check did not
    finish in time. `reused` is the number of mutants that an earlier run proved equivalent.
    """

    unit: str
    kind: str
    spec: tuple[str, ...]
    verilog_sha256: str
    circuit_sha256: str
    drawn: int
    seeds: tuple[int, ...]
    equivalent: tuple[Mutant, ...]
    undecided: tuple[Mutant, ...]
    survived: tuple[tuple[Mutant, dict[str, int]], ...]
    suites: tuple[SuiteScore, ...]
    reused: int
    seconds: float
    provenance: dict[str, str]

    @property
    def sufficient(self) -> bool:
        return all(suite.rate >= REQUIRED[suite.suite] for suite in self.suites)

    def to_dict(self) -> dict[str, Any]:
        record = asdict(self)
        for suite, scored in zip(self.suites, record["suites"], strict=True):
            scored["rate"] = round(suite.rate, 5)
        return record


def score(
    unit: Unit,
    *,
    kind: Kind = NETLIST,
    drawn: int = DRAWN,
    seeds: tuple[int, ...] | None = None,
    suites: tuple[str, ...] = tuple(REQUIRED),
    timeout: float = EQUIVALENCE_SECONDS,
    proven: frozenset[Mutant] = frozenset(),
    progress: Progress | None = None,
) -> MutationScore:
    """Return the mutation score of each suite of a unit, measured with `drawn` mutants for each seed.

    The mutants of a seed are divided equally among the levels, such as operators and gates. A mutant that several seeds
    produce is counted once. `timeout` is the time limit in seconds for the equivalence check of one mutant. A check
    that continues with a case split may take up to `timeout` additional seconds. Mutants in `proven` count as
    equivalent without a check.

    Raises ValueError if the original circuit gives a wrong result for a vector. Raises ValueError if a level, such as
    operators or gates, would get fewer than 1 or more than 255 mutants of a seed.
    """
    seeds, levels = seeds or kind.seeds, len(kind.levels)
    if not levels <= drawn <= levels * MOST:
        raise ValueError(f"{drawn} mutants given; give {levels} to {levels * MOST}")
    tell, started = progress or (lambda words, done, total: None), time.monotonic()
    verilog = fp9_rtl.verilog(unit)
    made = {suite: library.generate(unit, suite) for suite in suites}
    scored = _Scored(kind, timeout, proven, set(), {suite: set() for suite in made}, {})
    drawings = [
        kind.draw(unit, circuit(unit, verilog), level, (drawn + levels - 1 - place) // levels, seeds)
        for place, level in enumerate(kind.levels)
    ]
    for number, seed in enumerate(seeds):
        tell(f"{unit.name}: seed {seed}", number, len(seeds))
        for drawing in drawings:
            scored.add(unit, next(drawing), made)
    return MutationScore(
        unit.name,
        kind.name,
        tuple(unit.describe()),
        hashlib.sha256(verilog.encode()).hexdigest(),
        fp9_rtl.circuit_digest(unit),
        len(scored.mutants),
        seeds,
        scored.ended(State.PROVEN),
        scored.ended(State.UNFINISHED),
        tuple((m, dict(scored.compared[m].counterexample)) for m in scored.ended(State.REFUTED)),
        tuple(scored.suite(suite, vectors) for suite, vectors in made.items()),
        len(proven & {*scored.ended(State.PROVEN)}),
        round(time.monotonic() - started, 1),
        provenance() | kind.tools(),
    )


@dataclass
class _Scored:
    kind: Kind
    timeout: float
    proven: frozenset[Mutant]
    mutants: set[Mutant]
    killed_by: dict[str, set[Mutant]]
    compared: dict[Mutant, Verdict]

    def add(self, unit: Unit, drawn: MutantSet, made: dict[str, VectorSet]) -> None:
        known = {(mutant.level, mutant.change) for mutant in self.mutants}
        new = tuple(mutant for mutant in drawn.mutants if (mutant.level, mutant.change) not in known)
        self.mutants |= {*new}
        fresh = MutantSet(new, drawn.netlist)
        for suite, vectors in made.items():
            self.killed_by[suite] |= {*killed(fresh, vectors)}
        if is_complete(unit) and "corner" in made:
            self.compared |= {m: Verdict(State.PROVEN, 0.0) for m in new if m not in self.killed_by["corner"]}
            return
        survivors = [mutant for mutant in new if not any(mutant in dead for dead in self.killed_by.values())]
        self.compared |= {mutant: Verdict(State.PROVEN, 0.0) for mutant in survivors if mutant in self.proven}
        comparison = Comparison(unit, drawn.netlist, SELECT, next(reversed(made.values())).inputs)
        for mutant in survivors:
            if mutant not in self.proven:
                self.compared[mutant] = comparison.equal(mutant.number, self.timeout)

    def ended(self, state: State) -> tuple[Mutant, ...]:
        return tuple(mutant for mutant, verdict in self.compared.items() if verdict.state is state)

    def suite(self, name: str, vectors: VectorSet) -> SuiteScore:
        dead = self.killed_by[name]
        survivors = self.mutants - dead - {*self.ended(State.PROVEN)}
        order = sorted(survivors, key=lambda m: (m.seed, self.kind.levels.index(m.level), m.number))
        return SuiteScore(name, library.digest(vectors), len(vectors), len(dead), tuple(order))


# --- running --------------------------------------------------------------------------------------------------------


def killed(level: MutantSet, made: VectorSet) -> list[Mutant]:
    if not level.mutants:
        return []
    differs = _in_sequence if keeps_registers(made.unit) else _side_by_side
    return differs(level, made)


def _in_sequence(level: MutantSet, made: VectorSet) -> list[Mutant]:
    numbers = np.zeros(-(-(level.mutants[-1].number + 1) // WORD) * WORD, dtype=np.int64)
    for mutant in level.mutants:
        numbers[mutant.number] = mutant.number
    # All mutants of a sequential circuit run in parallel.
    wrong = level.netlist.circuits_that_differ(
        {SELECT: bit_planes(numbers, SELECT_BITS)}, made.inputs, made.expected, made.care, made.unit.latency
    )
    if wrong[0]:
        raise ValueError(f"{made.unit.name}: the unmodified circuit fails the vectors, so it has no mutation score")
    return [mutant for mutant in level.mutants if wrong[mutant.number]]


def _side_by_side(level: MutantSet, made: VectorSet) -> list[Mutant]:
    inputs = {port.name: bit_planes(made.inputs[port.name], port.width) for port in made.unit.inputs}
    expected = {port.name: bit_planes(made.expected[port.name], port.width) for port in made.unit.outputs}
    care = {port.name: _care_planes(made, port.name, port.width) for port in made.unit.outputs}

    # The mutants of a combinational circuit run one after the other.
    def first_difference(number: int) -> int:
        words = next(iter(inputs.values())).shape[1]
        select = np.repeat(bit_planes(np.full(WORD, number), SELECT_BITS), words, axis=1)
        return level.netlist.mismatches({**inputs, SELECT: select}, expected, care, len(made))

    if (wrong := first_difference(0)) >= 0:
        raise ValueError(f"{made.unit.name}: the circuit itself fails vector {wrong}, so it has no mutation score")
    return [mutant for mutant in level.mutants if first_difference(mutant.number) >= 0]


def _care_planes(made: VectorSet, output: str, width: int) -> Planes:
    matters: NDArray[np.bool_] = made.care.get(output, np.ones(len(made), dtype=np.bool_))
    return np.repeat(bit_planes(matters, 1), width, axis=0)
