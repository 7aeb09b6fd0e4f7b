"""Proof obligations that Yosys' SAT solver proves, refutes or leaves unfinished."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from fp9_rtl.tools.yosys import YosysError, run_yosys, yosys_version

TOP = "proof"
"""Name of an obligation's top module. Its output `ok` must be 1."""

_AT_ONCE = 2.0

_INDUCT = """\
read_json unit.json
read_verilog -sv proof.v
hierarchy -check -top proof
proc -norom
flatten
opt -full
async2sync
sat -verify -tempinduct{only} -maxsteps {steps} -set-at 1 rst 1 -show-ports -dump_json counterexample.json \
-prove ok 1 proof
"""
# `-norom` keeps Yosys from turning case statements into memories, which its SAT solver does not support.
PREPARE = """\
read_verilog -sv unit.v proof.v
hierarchy -check -top proof
proc -norom
flatten
opt_clean
"""

# `opt -full` is not used: merging the operands of ORs and multiplexers costs more time than the solver saves.
_DECIDE = """\
opt
sat -verify -show-ports -dump_json counterexample.json -prove ok 1 proof
"""

_PROVEN = ("SAT proof finished - no model found: SUCCESS!", "Induction step proven: SUCCESS!")
_REFUTED = "Called with -verify and proof did fail!"


class State(Enum):
    PROVEN = "proven"
    REFUTED = "refuted"
    UNFINISHED = "not finished"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a proof obligation, its time in seconds, and the port values of a counterexample."""

    state: State
    seconds: float
    counterexample: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Obligation:
    """A proof obligation: a Yosys script that ends in `sat -verify`, and the files that the script reads."""

    script: str
    files: Mapping[str, str]

    def decide(self, timeout: float) -> Verdict:
        return run(self.script, self.files, timeout)

    def tools(self) -> dict[str, str]:
        return {"yosys": yosys_version()}


def combinational(unit: str, proof: str) -> Obligation:
    """Return a proof obligation: the output `ok` of the Verilog module `proof` is 1 for all inputs."""
    return Obligation(PREPARE + _DECIDE, {"unit.v": unit, "proof.v": proof})


def by_induction(design: str, proof: str, steps: int, *, control: bool = False) -> Obligation:
    """Return a proof obligation: the output `ok` of the Verilog module `proof` is 1 in every clock cycle after reset.

    The proof is a temporal induction over `steps` clock cycles.
    """
    # With `control`, the solver only searches for a counterexample.
    script = _INDUCT.format(steps=steps, only=" -tempinduct-baseonly" * control)
    return Obligation(script, {"unit.json": design, "proof.v": proof})


def at_once(files: Mapping[str, str], timeout: float) -> Verdict:
    """Try to decide a combinational proof obligation before slower methods start."""
    return run(PREPARE + _DECIDE, files, min(timeout, _AT_ONCE))


def run(script: str, files: Mapping[str, str], timeout: float) -> Verdict:
    """Run a Yosys script that ends in `sat -verify`, and return the solver's verdict."""
    with tempfile.TemporaryDirectory(prefix="fp9-proof-") as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text)
        start = time.perf_counter()
        try:
            run_yosys(script, folder, timeout)
        except subprocess.TimeoutExpired:
            return Verdict(State.UNFINISHED, time.perf_counter() - start)
        except YosysError as error:
            if _REFUTED not in str(error):
                raise
            seconds = time.perf_counter() - start
            if not finished((folder / "yosys.log").read_text()):
                return Verdict(State.UNFINISHED, seconds)
            return Verdict(State.REFUTED, seconds, _counterexample(folder))
        seconds = time.perf_counter() - start
        log = (folder / "yosys.log").read_text()
        if not finished(log):
            return Verdict(State.UNFINISHED, seconds)
        if not any(text in log for text in _PROVEN):
            raise YosysError("Yosys ended without a verdict; the proof is void")
        return Verdict(State.PROVEN, seconds)


def _counterexample(folder: Path) -> dict[str, int]:
    """Return the port values of the last time step from Yosys' WaveJSON. Don't-care bits become 0."""
    signals = json.loads((folder / "counterexample.json").read_text())["signal"]
    ports = {}
    for signal in signals:
        # In the string `wave`, `=` stands for the next entry of `data`, `.` means no change, and 4 means no value.
        last = signal["wave"].rstrip(".4")[-1:]
        bits = [text for text in signal.get("data", []) if text][-1:] if last == "=" else [last]
        ports[signal["name"].lstrip("\\")] = int("".join(b if b in "01" else "0" for b in "".join(bits)) or "0", 2)
    return ports


def finished(log: str) -> bool:
    # Yosys gives no verdict if an induction needs more steps.
    return "Reached maximum number of time steps" not in log
