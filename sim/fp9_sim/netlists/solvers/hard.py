"""Proofs about combinational circuits by the SAT solver CaDiCaL, if Yosys' SAT solver takes too long."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.gates import AND, INVERTED, MUX, NOT, OR, XOR, GateNetlist, Row
from fp9_sim.netlists.solvers import cadical
from fp9_sim.netlists.solvers.solver import PREPARE, TOP, Obligation, State, Verdict, at_once

_TO_GATES = """\
opt -full
techmap
opt
clean
write_json gates.json
"""


class _Hard(Obligation):
    def decide(self, timeout: float) -> Verdict:
        started = time.perf_counter()

        def verdict(state: State, ports: dict[str, int] | None = None) -> Verdict:
            return Verdict(state, time.perf_counter() - started, ports or {})

        try:
            netlist = self._netlist(timeout)
            model = cadical.model(list(_clauses(netlist)), timeout - (time.perf_counter() - started))
        except (TimeoutError, subprocess.TimeoutExpired):
            return verdict(State.UNFINISHED)
        if model is None:
            return verdict(State.PROVEN)
        ports = {**netlist.inputs, **netlist.outputs}
        return verdict(
            State.REFUTED,
            {name: sum((_variable(net) in model) << i for i, net in enumerate(nets)) for name, nets in ports.items()},
        )

    def tools(self) -> dict[str, str]:
        return super().tools() | {"cadical": cadical.version()}

    def _netlist(self, timeout: float) -> GateNetlist:
        with tempfile.TemporaryDirectory(prefix="fp9-proof-") as name:
            folder = Path(name)
            for file, text in self.files.items():
                (folder / file).write_text(text)
            run_yosys(self.script, folder, timeout)
            return GateNetlist.from_json(json.loads((folder / "gates.json").read_text())["modules"][TOP])


def hard(unit: str, proof: str) -> Obligation:
    return _Hard(PREPARE + _TO_GATES, {"unit.v": unit, "proof.v": proof})


class _Perhaps(_Hard):
    def decide(self, timeout: float) -> Verdict:
        verdict = at_once(self.files, timeout)
        if verdict.state is not State.UNFINISHED or timeout <= verdict.seconds:
            return verdict
        hard = super().decide(timeout - verdict.seconds)
        return replace(hard, seconds=verdict.seconds + hard.seconds)


def perhaps_hard(unit: str, proof: str) -> Obligation:
    """Return a proof obligation for two solvers: Yosys' SAT solver for two seconds, and then CaDiCaL."""
    return _Perhaps(PREPARE + _TO_GATES, {"unit.v": unit, "proof.v": proof})


def _variable(net: int) -> int:
    return net + 1


def _clauses(netlist: GateNetlist) -> Iterator[cadical.Clause]:
    yield (-_variable(0),)
    yield (_variable(1),)
    for row in netlist.gates.tolist():
        yield from _gate(row)
    (ok,) = netlist.outputs["ok"]
    yield (-_variable(ok),)


def _gate(row: Row) -> tuple[cadical.Clause, ...]:
    a, b, s, y = (_variable(net) for net in row[1:])
    if row[0] & INVERTED:
        y = -y
    match row[0] & ~INVERTED:
        case kind if kind == AND:
            return (-y, a), (-y, b), (y, -a, -b)
        case kind if kind == OR:
            return (y, -a), (y, -b), (-y, a, b)
        case kind if kind == XOR:
            return (-y, a, b), (-y, -a, -b), (y, a, -b), (y, -a, b)
        case kind if kind == MUX:
            # The last two clauses follow from the others, and help the solver to propagate values.
            return (-s, -b, y), (-s, b, -y), (s, -a, y), (s, a, -y), (-a, -b, y), (a, b, -y)
        case _:
            assert row[0] == NOT
            return (-y, -a), (y, a)
