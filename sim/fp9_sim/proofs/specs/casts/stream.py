"""Specification of quantisers whose blocks take several operations.

Temporal induction proves the contents of the block registers for all input sequences after reset. The proof follows the
numbers of one arbitrary operation through the block registers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from fp9.units import Quantiser
from fp9_sim.netlists.graphs.function import function
from fp9_sim.netlists.solvers.solver import Obligation, by_induction, combinational
from fp9_sim.proofs.handshake import top
from fp9_sim.proofs.miter import Case, miter, selected
from fp9_sim.proofs.order import oblige_order, order_cases
from fp9_sim.proofs.specs.casts.quantiser import scale_specifications
from fp9_sim.proofs.stream_netlist import GIVEN, behind, behind_block, exposed

PROVES_HANDSHAKE = (
    "no operation is lost or repeated: as many results leave as operations enter, only those of complete blocks, the "
    "unit refuses an operation only when it is full and none leaves, and an offered result stays until it is taken"
)
PROVES_ORDER = (
    "the n-th result belongs to the n-th operation: its numbers leave the block as they came, its block's scale beside "
    "them, and pass the stages behind it in order, whatever the stalls"
)
PROVES_SCALES = (
    "when a block's last operation is taken, its scale is that of the largest magnitude under that operation's rule, "
    "NaN where that is no number; before, what is kept is the largest magnitude so far, and 0 after it"
)
BY_NAME = "the registers of the block are found by their names"
FINITE = "numbers behind the block are finite where their scale is: what the scales claim"

_TRACKED, _BEHIND = "block", "behind the block"


# --- cases ------------------------------------------------------------------------------------------------------------


def stream_handshake_cases(unit: Quantiser) -> tuple[Case, ...]:
    most = unit.group + unit.stages - 1
    return (Case("handshake", {}, _handshake(unit, most), _handshake(unit, 1)),)


def stream_order_cases(unit: Quantiser) -> tuple[Case, ...]:
    block = Case(_TRACKED, {}, _tracked(unit, 0), _tracked(unit, 1))
    behind = [dataclasses.replace(case, name=_BEHIND) for case in order_cases()] if unit.stages > 1 else []
    return (block, *behind)


def stream_scale_cases(unit: Quantiser) -> Iterator[Case]:
    yield Case("amax", {}, _kept(unit, ""), _kept(unit, " ^ 1'b1"))
    widths = {port.name: port.width for port in unit.inputs}
    for index, rule in enumerate(unit.rules):
        fixed, condition = selected("rule", len(unit.rules), index, widths.get("rule", 0))
        chosen = " && ".join([condition, *(f"rule == {value}" for value in fixed.values())]).replace("rule", "was_rule")
        right, wrong = scale_specifications(unit, rule)
        for place in range(unit.width + 1):
            texts = [_scale(unit, place, chosen, steps) for steps in (right, wrong)]
            what = unit.lane_names("x")[place] if place < unit.width else "before"
            yield Case(f"scale {rule.name}, amax {what}", {}, texts[0], None if place else texts[1])


# --- checkers ---------------------------------------------------------------------------------------------------------


def _handshake(unit: Quantiser, most: int) -> str:
    # The counter `inside` counts all operations inside the unit, and `whole` only operations of complete blocks.
    last, stages = unit.group - 1, unit.stages
    outputs = ", ".join(port.name for port in unit.outputs)
    width = sum(port.width for port in unit.outputs)
    behind = " + ".join(["8'd0", *(f"occupied[{stage}]" for stage in range(stages - 1))])
    return "\n".join(
        [
            *_block_wires(unit),
            "  reg [7:0] inside, whole, place;",
            "  reg stalled;",
            f"  reg [{width - 1}:0] held;",
            "  wire enters = in_valid && in_ready, leaves = out_valid && out_ready;",
            f"  wire completes = enters && place == {last};",
            "  always @(posedge clk) begin",
            "    inside <= rst ? 8'd0 : inside + enters - leaves;",
            f"    whole <= rst ? 8'd0 : whole + (completes ? 8'd{unit.group} : 8'd0) - leaves;",
            "    place <= rst || completes ? 8'd0 : place + enters;",
            "    stalled <= !rst && out_valid && !out_ready;",
            f"    held <= {{{outputs}}};",
            "  end",
            f"  wire [7:0] behind = {behind};",
            f"  assign ok = rst || (inside <= {most} && inside == whole + place",
            "    && place == taken && whole == waiting + behind && in_order",
            f"    && in_ready == (inside != {most} || out_ready)",
            "    && (!out_valid || whole != 0)",
            f"    && (whole <= {stages - 1} || block_valid) && (inside != {most} || out_valid)",
            f"    && (!stalled || (out_valid && held == {{{outputs}}})));",
        ]
    )


def _block_wires(unit: Quantiser) -> list[str]:
    count = unit.group
    # `waiting` counts the operations of a complete block that are still in the block registers.
    return [
        "  wire [7:0] given = taken + lead;",
        f"  wire [7:0] waiting = block_valid ? {count} - given : 8'd0;",
        f"  wire in_order = given <= {count - 1} && (block_valid || lead == 0);",
    ]


def _tracked(unit: Quantiser, change: int) -> str:
    """Return Verilog that follows one operation, chosen by the input `mark`, through the block registers."""
    count, width = unit.group, unit.width * unit.source.bits
    numbers = ", ".join(reversed(unit.lane_names("x")))
    left = ", ".join(f"block_{x}" for x in reversed(unit.lane_names("x")))
    return "\n".join(
        [
            *_block_wires(unit),
            f"  reg [{width - 1}:0] numbers;",
            "  reg [7:0] ahead, place;",
            "  reg tracked, kept;",
            f"  reg [{unit.block.scale.bits - 1}:0] before;",
            "  wire enters = in_valid && in_ready, leaves = block_valid && block_ready;",
            "  wire [7:0] left = waiting + taken - leaves;",
            "  always @(posedge clk) begin",
            f"    kept <= !rst && !(enters && taken == {count - 1});",
            "    before <= block_scale;",
            "    if (rst) tracked <= 1'b0;",
            "    else if (!tracked && mark && enters) begin",
            f"      tracked <= 1'b1; ahead <= left; place <= taken; numbers <= {{{numbers}}} ^ {change};",
            "    end else if (tracked && leaves) begin",
            "      tracked <= ahead != 0; ahead <= ahead - 1;",
            "    end",
            "  end",
            "  wire complete = block_valid && place >= given;",
            "  wire there = complete ? ahead == place - given : place < taken && ahead == waiting + place;",
            "  assign ok = rst || (in_order && (!kept || before == block_scale)",
            f"    && (!tracked || (place <= {count - 1} && there && places[place * {width} +: {width}] == numbers))",
            f"    && (!tracked || !block_valid || ahead != 0 || {{{left}}} == numbers));",
        ]
    )


def _was(unit: Quantiser) -> list[str]:
    top_bit = unit.source.bits - 2
    rule = [port for port in unit.inputs if port.choices]
    taken = [f"  reg [{top_bit}:0] {_magnitude(place)};" for place in range(unit.width + 1)]
    moved = [f"    {_magnitude(place)} <= {x}[{top_bit}:0];" for place, x in enumerate(unit.lane_names("x"))]
    moved += [f"    {_magnitude(unit.width)} <= amax;", *(f"    was_rule <= {port.name};" for port in rule)]
    return [
        *taken,
        *(f"  reg [{port.width - 1}:0] was_rule;" for port in rule),
        "  reg entered, completed;",
        "  always @(posedge clk) begin",
        "    entered <= !rst && in_valid && in_ready;",
        f"    completed <= !rst && in_valid && in_ready && taken == {unit.group - 1};",
        *moved,
        "  end",
    ]


def _magnitude(place: int) -> str:
    return f"was{place}"


def _kept(unit: Quantiser, change: str) -> str:
    every = [_magnitude(place) for place in range(unit.width + 1)]
    reached = " && ".join(f"amax >= {name}" for name in every)
    one = " || ".join(f"amax == ({name}{change})" for name in every)
    kept = f"completed ? amax == 0 : ({reached}) && ({one})"
    return "\n".join([*_was(unit), f"  assign ok = rst || !entered || ({kept});"])


def _scale(unit: Quantiser, place: int, condition: str, steps: str) -> str:
    name = _magnitude(place)
    largest = " && ".join([condition, *(f"m >= {_magnitude(other)}" for other in range(unit.width + 1))])
    return "\n".join(
        [
            *_was(unit),
            f"  wire [{unit.source.bits - 2}:0] m = {name};",
            steps,
            f"  assign ok = rst || !completed || !({largest}) || block_scale == step;",
        ]
    )


# --- deciding ---------------------------------------------------------------------------------------------------------


def oblige_stream(unit: Quantiser, verilog: str, case: Case, specification: str) -> Obligation:
    if case.name == _BEHIND:
        return oblige_order(behind_block(unit), behind(unit, verilog), case, specification)
    design, widths = exposed(unit, verilog)
    ports = (*unit.control_outputs, *unit.outputs)
    shown = [f"[{port.width - 1}:0] {port.name}" for port in ports]
    shown += [f"[{width - 1}:0] {name}" for name, width in widths.items()]
    lines, pins = top(unit, ("mark",), shown)
    pins |= {name: name for name in (*(port.name for port in ports), *widths)}
    connected = ", ".join(f".{port}({wire})" for port, wire in pins.items())
    lines += [specification, f"  {unit.name} unit ({connected});", "endmodule", ""]
    control = specification == case.control
    return by_induction(design, "\n".join(lines), 2 * (unit.group + unit.stages) + 2, control=control)


def oblige_behind(unit: Quantiser, verilog: str, case: Case, specification: str) -> Obligation:
    """Return the proof obligation about the pipeline stages that follow a quantiser's block registers."""
    rest, top_bit = behind_block(unit), unit.source.bits - 2
    finite = " && ".join(f"{x}[{top_bit}:0] <= {unit.source.max_code}" for x in unit.lane_names("x"))
    body = [
        "  wire right;",
        specification.replace("assign ok =", "assign right ="),
        f"  wire comes = {GIVEN} == {unit.block.scale.nan_code(False)} || ({finite});",
        f"  assign ok = !comes || (right && scale == {GIVEN});",
    ]
    return combinational(function(rest, behind(unit, verilog)), miter(rest, case, "\n".join(body)))
