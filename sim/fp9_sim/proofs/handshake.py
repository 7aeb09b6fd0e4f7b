"""Proof of the handshake of pipelined units, for all input sequences after reset.

The proof is by temporal induction. The invariant is that a counter of the operations inside the unit equals the number
of occupied pipeline stages.
"""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from fp9.units import Handshake, Unit
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.solvers.solver import TOP, Obligation, by_induction
from fp9_sim.proofs.miter import Case

PROVES = {
    Handshake.READY: "no operation is lost or repeated: as many results leave as operations enter, at most `stages` "
    "are inside, a full unit offers a result, and an offered result (the accumulator of a mac) stays until it is taken",
    Handshake.VALID: "no operation is lost or repeated: as many results leave as operations enter, each `stages` "
    "clocks after its operation, and none at any other time",
}
_SLOW = (
    "no operation is lost or repeated: as many results leave as operations enter, at most `stages` are inside, and an "
    "offered result stays until it is taken"
)

ASSUMES = ("the first clock is a reset", "the order and the values of the results are other claims")

_FLATTEN = "read_verilog unit.v\nhierarchy -check -top {name}\nproc\nflatten\nopt_clean\nwrite_json unit.json\n"


def handshake_cases(unit: Unit) -> tuple[Case, ...]:
    # The control claims that the pipeline is never full, which the solver must refute.
    return (Case("handshake", {}, _properties(unit, unit.stages), _properties(unit, unit.stages - 1)),)


def top(unit: Unit, inputs: Iterable[str], outputs: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    control = {port.name for port in unit.control_ports}
    ports = [
        f"  input {name}"
        for name in ("clk", "rst", "enable", "flush", "in_valid", "out_ready")
        if name in {*control, "rst"}
    ]
    ports += [f"  input [{port.width - 1}:0] {port.name}" for port in unit.inputs]
    ports += [f"  input {text}" for text in inputs] + [f"  output {text}" for text in outputs]
    absent = [f"  wire {name} = 1'b1;" for name in ("enable", "in_ready", "out_ready") if name not in control]
    clears = f"  wire clears = rst{' || flush' if unit.flush else ''};"
    lines = [f"module {TOP} (", ",\n".join([*ports, "  output ok"]), ");", *absent, clears]
    pins = {port.name: port.name for port in (*unit.control_ports, *unit.inputs)}
    return lines, pins | {unit.reset.port: "rst" if unit.reset.active else "!rst"}


def proves(unit: Unit) -> str:
    return _SLOW if unit.extra_clocks else PROVES[unit.handshake]


def _properties(unit: Unit, most: int) -> str:
    outputs = ", ".join(port.name for port in unit.outputs)
    width = sum(port.width for port in unit.outputs)
    full = f"(inside != {unit.stages} || out_ready)"
    # A slow operation can keep a unit from accepting an operation or offering a result.
    ready = f"(!in_ready || {full})" if unit.extra_clocks else f"in_ready == {full}"
    offers = () if unit.extra_clocks else (f"    && (inside != {unit.stages} || out_valid)",)
    in_time = f" && out_valid == entered[{unit.stages - 1}]" if unit.handshake is Handshake.VALID else ""
    return "\n".join(
        [
            "  reg [3:0] inside;",
            "  reg stalled;",
            f"  wire [{unit.stages - 1}:0] occupied;",
            f"  reg [{width - 1}:0] held;",
            f"  reg [{unit.stages}:0] entered;",
            "  always @(posedge clk) if (clears || enable) begin",
            "    entered <= clears ? 0 : {entered, in_valid};",
            "    inside <= clears ? 4'd0 : inside + (in_valid && in_ready) - (out_valid && out_ready);",
            "    stalled <= !clears && out_valid && !out_ready;",
            f"    held <= {{{outputs}}};",
            "  end",
            f"  assign ok = rst || (inside <= {most} && inside == $countones(occupied)",
            f"    && {ready}",
            "    && (!out_valid || inside != 0)",
            *offers,
            f"    && (!stalled || (out_valid && held == {{{outputs}}})){in_time});",
        ]
    )


def oblige_handshake(unit: Unit, verilog: str, case: Case, specification: str) -> Obligation:
    shown = [f"[{port.width - 1}:0] {port.name}" for port in (*unit.control_outputs, *unit.outputs)]
    lines, connected = top(unit, (), shown)
    connected |= {port.name: port.name for port in unit.outputs} | {"occupied": "occupied"}
    pins = ", ".join(f".{port}({wire})" for port, wire in connected.items())
    lines += [specification, f"  {unit.name} unit ({pins});", "endmodule", ""]
    design, control = _with_occupancy(unit, verilog), specification == case.control
    return by_induction(design, "\n".join(lines), 2 * unit.stages + 2, control=control)


@functools.lru_cache(maxsize=4)
def _with_occupancy(unit: Unit, verilog: str) -> str:
    """Return a unit as Yosys JSON, with the valid bits of its stages as an additional output."""
    with tempfile.TemporaryDirectory(prefix="fp9-handshake-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        run_yosys(_FLATTEN.format(name=unit.name), folder)
        design = json.loads((folder / "unit.json").read_text())
    module = design["modules"][unit.name]
    registers = [cell["connections"]["Q"] for cell in module["cells"].values() if cell["type"] in ("$dff", "$adff")]
    named = {wire["bits"][0] for name, wire in module["netnames"].items() if re.search(r"(^|[._])valid$", name)}
    bits = [q[0] for q in registers if len(q) == 1 and q[0] in named]
    if len(bits) != unit.stages:
        raise ValueError(
            f"{unit.name}: {len(bits)} registers named valid in {unit.stages} stages; expected one in each"
        )
    module["ports"]["occupied"] = {"direction": "output", "bits": bits}
    return json.dumps(design)
