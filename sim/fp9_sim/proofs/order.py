"""The order and the content of what a pipelined unit delivers, by temporal induction over tags.

The data are cut out of the circuit: every register that holds data is replaced by one that holds a tag, with the same
clock and enable, which takes the tag of the registers that feed it; what it held becomes a free input, so that nothing
rests on the data. Each operation brings a tag of its own, and the tags have to come out as they went in. That a
register reads nothing but the stage before it, and the outputs nothing but the last one, is read off the netlist.
"""

from __future__ import annotations

from collections.abc import Iterable

from fp9.units import Unit
from fp9_sim.netlists.solver import INDUCT, TOP, Verdict, run
from fp9_sim.proofs.miter import Case
from fp9_sim.proofs.tagging import TAG_BITS, UNSTALLED, Tagged, tagged_design

PROVES = (
    "the n-th result belongs to the n-th operation: no register takes or keeps another operation's data than the one "
    "its stage holds, whatever the stalls, and an accumulator takes an operation once, when it enters the last stage"
)
ASSUMES = ("the first clock is a reset", "registers read the stage before theirs alone; checked on the netlist")


def order_cases() -> tuple[Case, ...]:
    """The one case, by the tag that is expected of an operation; its control expects every tag inverted."""
    return (Case("order", {}, "tag", "~tag"),)


def _properties(unit: Unit, tagged: Tagged, entering: str) -> str:
    """A queue of the tags inside, the oldest first, and what the registers have to hold."""
    n, tag = unit.stages, f"[{TAG_BITS - 1}:0]"
    lines = [f"  reg {tag} {', '.join(f'queue{i}' for i in range(n))};", f"  wire {tag} queue{n} = 0;"]
    lines += [f"  wire [3:0] older{i} = {_occupied(range(i + 1, n))};" for i in range(n)]
    lines += ["  reg [3:0] inside;", "  wire leaves = out_valid && out_ready; wire [3:0] left = inside - leaves;"]
    lines.append("  always @(posedge clk) begin")
    lines.append("    inside <= rst ? 4'd0 : left + (in_valid && in_ready);")
    for i in range(n):
        after = f"leaves ? queue{i + 1} : queue{i}"
        lines.append(f"    queue{i} <= in_valid && in_ready && left == {i} ? {entering} : {after};")
    lines.append("  end")
    claims = [f"inside == {_occupied(range(n))}", f"out_valid == occupied[{n - 1}]"]
    for i, registers in enumerate(tagged.stages):
        free = " || ".join(["out_ready", *(f"!occupied[{j}]" for j in range(i, n))])
        enters = f"({f'occupied[{i - 1}]' if i else 'in_valid'} && ({free}))"
        expected = "".join(f"older{i} == {j} ? queue{j} : " for j in range(n - 1)) + f"queue{n - 1}"
        lines.append(f"  wire {tag} stage{i} = {expected};")
        for name in registers:
            held = f"(!occupied[{i}] || tag_{name} == stage{i})"
            claims.append(f"takes_{name} == ({enters} && wants_{name})" if name in tagged.state else held)
    claims += [f"(!takes_{name} || next_{name} == plain_{name})" for name in tagged.handshaken]
    lines.append("  assign ok = rst || (" + "\n    && ".join(claims) + ");")
    return "\n".join(lines)


def _occupied(stages: Iterable[int]) -> str:
    """How many of these stages are occupied."""
    return " + ".join(["4'd0", *(f"occupied[{i}]" for i in stages)])


def decide_order(unit: Unit, verilog: str, case: Case, specification: str, timeout: float) -> Verdict:
    """Whether `ok` holds in every clock of every sequence."""
    return decide_tagged(unit, tagged_design(unit, verilog), specification, timeout)


def decide_tagged(unit: Unit, tagged: Tagged, specification: str, timeout: float) -> Verdict:
    """The same of a design that is cut already."""
    names = [name for stage in tagged.stages for name in stage]
    inputs = {"clk": 1, "rst": 1, "in_valid": 1, "out_ready": 1, "tag": TAG_BITS, "cut": tagged.cut_bits}
    inputs |= {port.name: port.width for port in unit.inputs}
    wires = {"in_ready": 1, "out_valid": 1, "occupied": unit.stages} | {f"takes_{name}": 1 for name in names}
    wires |= {f"tag_{name}": TAG_BITS for name in names}
    unstalled = {"clk": "clk", "rst": "1'b0", "in_valid": "1'b1", "out_ready": "1'b1", "tag": "tag", "cut": "cut"}
    unstalled |= {port.name: port.name for port in unit.inputs}
    wires |= {f"next_{name}": bits for name, bits in tagged.handshaken.items()}
    unstalled |= {f"next_{name}": f"plain_{name}" for name in tagged.handshaken}
    unstalled |= {"full": f"{{{unit.stages}{{1'b1}}}}"} | {f"takes_{name}": f"wants_{name}" for name in names}
    ports = [f"  input [{width - 1}:0] {name}" for name, width in inputs.items()]
    top = [f"module {TOP} (", ",\n".join([*ports, "  output ok"]), ");"]
    top += [f"  wire [{width - 1}:0] {name};" for name, width in wires.items()]
    pins = ", ".join(f".{name}({name})" for name in (*inputs, *wires))
    top += [f"  wire wants_{name};" for name in names]
    top += [f"  wire [{bits - 1}:0] plain_{name};" for name, bits in tagged.handshaken.items()]
    top += [f"  {unit.name} unit ({pins});"]
    top += [f"  {UNSTALLED} unstalled ({', '.join(f'.{port}({wire})' for port, wire in unstalled.items())});"]
    top += [_properties(unit, tagged, specification), "endmodule", ""]
    script = INDUCT.format(steps=2 * unit.stages + 2)
    return run(script, {"unit.json": tagged.design, "proof.v": "\n".join(top)}, timeout)
