"""Proof that a pipelined unit delivers results in order, by temporal induction over tags.

A tag register replaces each data register of the pipeline, and the tags must leave the pipeline in order. A structural
check shows that each register reads only data of the preceding stage, and that the outputs read only the last stage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fp9.units import Unit
from fp9_sim.netlists.solvers.solver import Obligation, by_induction
from fp9_sim.proofs.handshake import top
from fp9_sim.proofs.miter import Case
from fp9_sim.proofs.tagging import TAG_BITS, UNSTALLED, Tagged, tagged_design

PROVES = (
    "the n-th result belongs to the n-th operation: no register takes or keeps another operation's data than the one "
    "its stage holds, whatever the stalls, and an accumulator takes an operation once, when it enters the last stage"
)
ASSUMES = ("the first clock is a reset", "registers read the stage before theirs alone; checked on the netlist")


def order_cases() -> tuple[Case, ...]:
    # The deliberately wrong control expects inverted tags.
    return (Case("order", {}, "tag", "~tag"),)


def _properties(unit: Unit, tagged: Tagged, entering: str) -> str:
    n, tag = unit.stages, f"[{TAG_BITS - 1}:0]"
    lines = [f"  reg {tag} {', '.join(f'queue{i}' for i in range(n))};", f"  wire {tag} queue{n} = 0;"]
    lines += [f"  wire [3:0] older{i} = {_occupied(range(i + 1, n))};" for i in range(n)]
    lines += ["  reg [3:0] inside;", "  wire leaves = out_valid && out_ready; wire [3:0] left = inside - leaves;"]
    lines.append("  always @(posedge clk) if (clears || enable) begin")
    lines.append("    inside <= clears ? 4'd0 : left + (in_valid && in_ready);")
    for i in range(n):
        after = f"leaves ? queue{i + 1} : queue{i}"
        lines.append(f"    queue{i} <= in_valid && in_ready && left == {i} ? {entering} : {after};")
    lines.append("  end")
    claims = [f"inside == {_occupied(range(n))}", f"out_valid == occupied[{n - 1}]"]
    for i, registers in enumerate(tagged.stages):
        free = " || ".join(["out_ready", *(f"!occupied[{j}]" for j in range(i, n))])
        enters = f"(enable && {f'occupied[{i - 1}]' if i else 'in_valid'} && ({free}))"
        expected = "".join(f"older{i} == {j} ? queue{j} : " for j in range(n - 1)) + f"queue{n - 1}"
        lines.append(f"  wire {tag} stage{i} = {expected};")
        for name in registers:
            held = f"(!occupied[{i}] || tag_{name} == stage{i})"
            claims.append(f"takes_{name} == ({enters} && wants_{name})" if name in tagged.state else held)
    claims += [f"(!takes_{name} || next_{name} == plain_{name})" for name in tagged.handshaken]
    lines.append("  assign ok = rst || (" + "\n    && ".join(claims) + ");")
    return "\n".join(lines)


def _occupied(stages: Iterable[int]) -> str:
    return " + ".join(["4'd0", *(f"occupied[{i}]" for i in stages)])


def oblige_order(unit: Unit, verilog: str, case: Case, specification: str) -> Obligation:
    return oblige_tagged(unit, tagged_design(unit, verilog), specification)


def oblige_tagged(unit: Unit, tagged: Tagged, specification: str) -> Obligation:
    names = [name for stage in tagged.stages for name in stage]
    wires = {port.name: 1 for port in unit.control_outputs} | {"occupied": unit.stages}
    wires |= {f"takes_{name}": 1 for name in names} | {f"tag_{name}": TAG_BITS for name in names}
    wires |= {f"next_{name}": bits for name, bits in tagged.handshaken.items()}
    lines, pins = top(unit, (f"[{TAG_BITS - 1}:0] tag", f"[{tagged.cut_bits - 1}:0] cut"), ())
    pins |= {"tag": "tag", "cut": "cut"} | {name: name for name in wires}
    held = {"clk": "clk", unit.reset.port: f"1'b{1 - unit.reset.active}", "flush": "1'b0"}
    unstalled = {port.name: held.get(port.name, "1'b1") for port in unit.control_inputs}
    unstalled |= {name: name for name in ("tag", "cut", *(port.name for port in unit.inputs))}
    unstalled |= {f"next_{name}": f"plain_{name}" for name in tagged.handshaken}
    unstalled |= {"full": f"{{{unit.stages}{{1'b1}}}}"} | {f"takes_{name}": f"wants_{name}" for name in names}
    lines += [f"  wire [{width - 1}:0] {name};" for name, width in wires.items()]
    lines += [f"  wire wants_{name};" for name in names]
    lines += [f"  wire [{bits - 1}:0] plain_{name};" for name, bits in tagged.handshaken.items()]
    lines += [f"  {unit.name} unit ({_connected(pins)});", f"  {UNSTALLED} unstalled ({_connected(unstalled)});"]
    lines += [_properties(unit, tagged, specification), "endmodule", ""]
    return by_induction(tagged.design, "\n".join(lines), 2 * unit.stages + 2)


def _connected(pins: Mapping[str, str]) -> str:
    return ", ".join(f".{port}({wire})" for port, wire in pins.items())
