"""Proofs about additions of many terms, by ABC's binary decision diagrams.

SAT solvers do not finish on sums of many terms. The decision diagram of a sum stays small if the variables are ordered
by bit weight.
"""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.solvers import abc
from fp9_sim.netlists.solvers.alike import TO_BLIF, with_wrong
from fp9_sim.netlists.solvers.solver import Obligation, State, Verdict, at_once, combinational

_BLIF = "wrong.blif"
_NODES = 50_000_000
"""Largest number of diagram nodes. The nodes take about two gigabytes of memory."""


def by_diagrams(unit: str, proof: str) -> Obligation:
    """Return a proof obligation for two methods: first a SAT solver, and then binary decision diagrams."""
    plain = combinational(unit, proof)
    return _ByDiagrams(plain.script, plain.files)


class _ByDiagrams(Obligation):
    def decide(self, timeout: float) -> Verdict:
        started = time.perf_counter()
        # The diagram of a wrong sum is large, so SAT searches for counterexamples first.
        verdict = at_once(self.files, timeout)
        left = timeout - (time.perf_counter() - started)
        if verdict.state is State.UNFINISHED and left > 0:
            proven = abc.program() and self._holds(left)
            verdict = Verdict(State.PROVEN, 0.0) if proven else super().decide(left)
        return replace(verdict, seconds=time.perf_counter() - started)

    def tools(self) -> dict[str, str]:
        return super().tools() | abc.version()

    def _holds(self, timeout: float) -> bool:
        with tempfile.TemporaryDirectory(prefix="fp9-diagram-") as name:
            folder = Path(name)
            for file, text in with_wrong(self.files).items():
                (folder / file).write_text(text)
            try:
                run_yosys(TO_BLIF, folder, timeout)
            except subprocess.TimeoutExpired:
                return False
            (folder / _BLIF).write_text(by_places((folder / _BLIF).read_text()))
            said = abc.run(f"read_blif {_BLIF}; strash; collapse -B {_NODES} -r; strash; sat", folder, timeout)
        return "UNSATISFIABLE" in said


def by_places(blif: str) -> str:
    """Sort the inputs of a BLIF circuit by bit index. Single bits come last."""
    joined = blif.replace("\\\n", " ")
    found = re.search(r"^\.inputs (.*)$", joined, re.MULTILINE)
    if found is None:
        return joined
    return joined.replace(found[0], ".inputs " + " ".join(sorted(found[1].split(), key=_place)))


def _place(name: str) -> tuple[float, str]:
    index = re.search(r"\[(\d+)\]$", name)
    return (int(index[1]) if index else math.inf, name)
