"""Proof that generated Verilog is equivalent to its source circuit for all input sequences.

Yosys reads the generated Verilog as text, and also converts the Amaranth circuit directly. ABC compares combinational
circuits with a SAT solver, and circuits with registers by induction over clock cycles.
"""

from __future__ import annotations

import itertools
import re
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.system.missing import MissingTool
from fp9.units import Unit
from fp9_rtl.export.text.circuits.digest import code_digest
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists import aiger
from fp9_sim.netlists.aiger import GRAPH
from fp9_sim.netlists.solvers import abc
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.provenance import provenance

TEXT_SECONDS = 900.0
"""Default time limit of one comparison, in seconds."""

_TEXT = "read_verilog -sv {name}.v\nhierarchy -check -top {top}\nproc\nflatten\n" + GRAPH
_CHANGES = (("+", "-"), ("^", "&"), ("|", "&"), ("?", "== 1'b1 ? 1'b0 :"))

_CONTROLS = 8


@dataclass(frozen=True)
class TextRecord:
    """The outcome of an equivalence check between a circuit and its Verilog, with their digests.

    `control` is the outcome of an equivalence check between the circuit and deliberately changed Verilog.
    """

    unit: str
    spec: tuple[str, ...]
    circuit_sha256: str
    code_sha256: str
    state: str
    seconds: float
    control: str
    provenance: dict[str, str]

    @property
    def proven(self) -> bool:
        """Return whether ABC proved that the Verilog is equivalent to the circuit.

        As a check of the proof, ABC must also have shown that a deliberately changed Verilog text is not equivalent.
        """
        return self.state == State.PROVEN.value and self.control == State.REFUTED.value

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"proven": self.proven}


def prove_text(unit: Unit, verilog: str | None = None, timeout: float = TEXT_SECONDS) -> TextRecord:
    """Prove that a unit's generated Verilog is equivalent to its circuit.

    `verilog` replaces the generated Verilog. `timeout` is the time limit of one comparison in seconds. Raises
    MissingTool if ABC is not installed. Raises YosysError for unreadable Verilog.
    """
    text = fp9_rtl.verilog(unit) if verilog is None else verilog
    with tempfile.TemporaryDirectory(prefix="fp9-text-") as name:
        folder = Path(name)
        (folder / "circuit.aig").write_bytes(aiger.of_unit(unit))
        started = time.perf_counter()
        state = _compared(unit, text, "text", folder, timeout)
        seconds = time.perf_counter() - started
        control = _control(unit, text, folder, timeout)
    return TextRecord(
        unit.name,
        tuple(unit.describe()),
        fp9_rtl.circuit_digest(unit),
        code_digest(text),
        state.value,
        round(seconds, 1),
        control.value,
        provenance(),
    )


def _compared(unit: Unit, text: str, name: str, folder: Path, timeout: float) -> State:
    (folder / f"{name}.v").write_text(text)
    run_yosys(_TEXT.format(name=name, top=unit.name, file=f"{name}.aig"), folder)
    if abc.program() is None:
        raise MissingTool("ABC is not installed; install it with: apt install berkeley-abc")
    said = abc.run(f"{'dsec' if unit.stages else 'cec'} circuit.aig {name}.aig", folder, timeout)
    if "Networks are equivalent" in said:
        return State.PROVEN
    return State.REFUTED if "NOT EQUIVALENT" in said else State.UNFINISHED


def _control(unit: Unit, text: str, folder: Path, timeout: float) -> State:
    # One refuted copy is enough, because some changed operators do not change the circuit's function.
    for changed in itertools.islice(_changed(text), _CONTROLS):
        if _compared(unit, changed, "control", folder, timeout) is State.REFUTED:
            return State.REFUTED
    return State.UNFINISHED


def _changed(text: str) -> Iterator[str]:
    for operator, other in _CHANGES:
        found = [match.start() + 1 for match in re.finditer(f" {re.escape(operator)} ", text)]
        for place in dict.fromkeys((found[-1], found[len(found) // 2], found[0])) if found else ():
            yield text[:place] + other + text[place + 1 :]
