"""Prove that a third-party unit computes the right values for all inputs."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.regression import Check, State, proof_checks
from fp9_sim.simulators.style import any_style
from fp9_sim.third_party.mapping import Design
from fp9_sim.third_party.wrapper import absent, own_name, wrapped

_PLAIN = """\
read_verilog -sv unit.sv
hierarchy -check -top {name}
proc
flatten
opt_clean
write_verilog -noattr unit.v
"""


def design_proof(design: Design, seconds: float | None, sound: bool) -> list[Check]:
    """Prove that the DUT computes the right values for all inputs, within a time limit in seconds.

    Registers are replaced by wires, so the proof does not cover the latency or the handshake. If the DUT lacks an
    output, fp9's own circuit drives the output, so a missing output cannot refute the proof.
    """
    if seconds is None or not sound:
        return proof_checks(design.spec, None, seconds, sound)[0]
    if design.holds_operands or design.spec.has_state:
        why = "no proof is available for a unit with state or with start and done"
        return [Check("proof for all inputs", "proof", why, State.NOT_RUN)]
    if design.spec.extra_clocks:
        why = "no proof is available for division=iterative; give division=array for a proof of the values"
        return [Check("proof for all inputs", "proof", why, State.NOT_RUN)]
    try:
        text = _plain(design)
    except ValueError as error:
        said = f"Yosys cannot read the design: {error}"
        return [Check("proof for all inputs", "proof", "no verdict", State.NOT_RUN, findings=(said,))]
    return proof_checks(design.spec, text, seconds, sound, values_only=True)[0]


def _own_circuit(design: Design) -> str:
    if not absent(design):
        return ""
    spec: Any = design.spec
    return fp9_rtl.verilog(dataclasses.replace(spec, name=own_name(spec), stages=0))


def _plain(design: Design) -> str:
    with tempfile.TemporaryDirectory(prefix="fp9-plain-") as name:
        folder = Path(name)
        text = any_style(wrapped(design, design.latency or 1, function=True), design.spec.name)
        (folder / "unit.sv").write_text(text + _own_circuit(design))
        run_yosys(_PLAIN.format(name=design.spec.name), folder)
        return (folder / "unit.v").read_text()
