"""Proofs about two circuits with similar structure, by merging equal internal nodes in ABC.

SAT solvers do not finish on two circuits with the same multipliers and adders, unless equal internal nodes are merged.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.solvers import abc
from fp9_sim.netlists.solvers.solver import PREPARE, TOP, Obligation, State, Verdict, combinational

TO_BLIF = (
    PREPARE.replace(f"-top {TOP}", "-top wrong")
    + """\
opt -full
techmap
opt
aigmap
opt_clean
write_blif wrong.blif
"""
)


def alike(unit: str, proof: str) -> Obligation:
    """Return a proof obligation that ABC tries to prove before Yosys' SAT solver runs."""
    # Yosys' SAT solver finds counterexamples.
    plain = combinational(unit, proof)
    return _Alike(plain.script, plain.files)


class _Alike(Obligation):
    def decide(self, timeout: float) -> Verdict:
        started = time.perf_counter()
        if abc.program() and _proven(self.files, timeout):
            return Verdict(State.PROVEN, time.perf_counter() - started)
        return super().decide(timeout)

    def tools(self) -> dict[str, str]:
        return super().tools() | abc.version()


def with_wrong(files: Mapping[str, str]) -> dict[str, str]:
    return {**files, "proof.v": files["proof.v"] + _wrong(files["proof.v"])}


def _proven(files: Mapping[str, str], timeout: float) -> bool:
    with tempfile.TemporaryDirectory(prefix="fp9-alike-") as name:
        folder = Path(name)
        for file, text in with_wrong(files).items():
            (folder / file).write_text(text)
        try:
            run_yosys(TO_BLIF, folder, timeout)
        except subprocess.TimeoutExpired:
            return False
        return "Networks are equivalent" in abc.run("read_blif wrong.blif; strash; &get; &cec -m", folder, timeout)


def _wrong(proof: str) -> str:
    inputs = re.findall(r"^  (input .*?(\w+)),?$", proof, re.MULTILINE)
    ports = ", ".join(declared for declared, _ in inputs)
    pins = ", ".join(f".{port}({port})" for _, port in inputs)
    return f"module wrong({ports}, output bad);\n  {TOP} proof({pins}, .ok(ok));\n  assign bad = ~ok;\nendmodule\n"
