"""Equivalence checks of two AIGER circuits by ABC; without ABC, CaDiCaL checks circuits that have no registers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fp9_sim.netlists.aiger import Aiger
from fp9_sim.netlists.solvers import abc, cadical
from fp9_sim.netlists.solvers.solver import State

_CONTROLS = 8


@dataclass(frozen=True)
class Comparison:
    """The outcome of an equivalence check. `tool` names the solver, and `seconds` is the time in seconds.

    `control` is the outcome of a second check, in which one circuit has a deliberate error. The solver must refute this
    second check.
    """

    state: State
    control: State
    tool: str
    seconds: float

    @property
    def proven(self) -> bool:
        """Return whether the solver proved the equivalence, and refuted a check that has a deliberate error."""
        return self.state is State.PROVEN and self.control is State.REFUTED


def compare(certified: Aiger, other: Aiger, timeout: float) -> Comparison:
    """Return whether two circuits have equal outputs for all input sequences from reset on.

    Circuits with different ports are refuted. After a proof, the solver must also refute a control: the second circuit
    with one inverted AND gate.
    """
    started = time.perf_counter()
    tool = abc.version()["abc"] if abc.program() else cadical.PACKAGE
    state = _compared(certified, other, timeout)
    control = _control(certified, other, timeout) if state is State.PROVEN else State.UNFINISHED
    return Comparison(state, control, tool, round(time.perf_counter() - started, 2))


def _control(certified: Aiger, other: Aiger, timeout: float) -> State:
    count = len(other.ands)
    places = dict.fromkeys(count * part // (_CONTROLS + 1) for part in range(_CONTROLS, 0, -1))
    for place in places if count else ():
        if _compared(certified, other.inverted(place), timeout) is State.REFUTED:
            return State.REFUTED
    return State.UNFINISHED


def _compared(one: Aiger, other: Aiger, timeout: float) -> State:
    if one.ports != other.ports:
        return State.REFUTED
    if abc.program():
        return _by_abc(one, other, timeout)
    return State.UNFINISHED if one.following or other.following else by_sat(one, other, timeout)


def _by_abc(one: Aiger, other: Aiger, timeout: float) -> State:
    # The command `dsec` compares circuits with registers by induction over clock cycles.
    command = "dsec" if one.following or other.following else "cec"
    with tempfile.TemporaryDirectory(prefix="fp9-same-") as name:
        for file, circuit in (("one.aig", one), ("other.aig", other)):
            Path(name, file).write_bytes(circuit.to_bytes())
        said = abc.run(f"{command} one.aig other.aig", Path(name), timeout)
    if "Networks are equivalent" in said:
        return State.PROVEN
    return State.REFUTED if "NOT EQUIVALENT" in said else State.UNFINISHED


def by_sat(one: Aiger, other: Aiger, timeout: float) -> State:
    try:
        found = cadical.model(list(_miter(one, other)), timeout)
    except TimeoutError:
        return State.UNFINISHED
    return State.PROVEN if found is None else State.REFUTED


def _miter(one: Aiger, other: Aiger) -> Iterator[list[int]]:
    """Yield SAT clauses that are satisfiable if and only if the two circuits can differ in an output."""
    shift = len(one.ands)
    yield [1]

    def literal(value: int, moved: int) -> int:
        variable, inverse = divmod(value, 2)
        number = -1 if variable == 0 else variable + 1 + (moved if variable > one.inputs else 0)
        return -number if inverse else number

    for circuit, moved in ((one, 0), (other, shift)):
        for variable, (a, b) in enumerate(circuit.ands, start=circuit.first):
            y, p, q = (literal(value, moved) for value in (2 * variable, a, b))
            yield from ([-y, p], [-y, q], [y, -p, -q])
    top = one.inputs + 1 + shift + len(other.ands)
    differ = []
    for place, (a, b) in enumerate(zip(one.outputs, other.outputs, strict=True), start=top + 1):
        p, q = literal(a, 0), literal(b, shift)
        yield from ([-place, p, q], [-place, -p, -q])
        differ.append(place)
    yield differ
