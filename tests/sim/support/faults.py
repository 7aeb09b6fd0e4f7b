"""A unit of three stages with every fault of its protocol, one of which a file switches on: one build serves all.

The file is read where the simulation starts; without it the unit is sound.
"""

from __future__ import annotations

from fp9.units import Unit
from fp9_rtl import verilog

FAULTS = {
    1: "the first stage is not reset",
    2: "a middle stage is not reset",
    3: "the last stage is not reset",
    4: "the first stage loses what waits",
    5: "a middle stage loses what waits",
    6: "the last stage loses what waits",
    7: "every other result is lost",
    8: "a result changes while it waits",
    9: "a result is repeated",
    10: "the unit is not ready where its result is taken",
    11: "a valid is unknown",
    12: "the second clock of a reset leaves a result",
}
"""What the number in the file switches on."""

_READ = """\
  integer fault, file;
  reg was_reset;
  always @(posedge clk) was_reset <= rst;
  initial begin
    {o_valid, was_reset} = 0;
    fault = 0;
    file = $fopen("@file", "r");
    if (file != 0) file = $fscanf(file, "%d", fault);
  end
"""

_WARNINGS = ("BLKSEQ", "PROCASSINIT", "UNUSEDSIGNAL")

_EDITS = [
    *((stage, "if (rst)", f"if (rst && fault != {stage})") for stage in (1, 2, 3)),
    *((stage, "else if (i_ready)", f"else if (i_ready | ~i_valid & fault == {stage + 3})") for stage in (1, 2, 3)),
    (
        3,
        "o_valid <= i_valid;",
        "o_valid <= fault == 7 ? i_valid & ~o_valid : fault == 9 ? i_valid | o_valid\n"
        "        : fault == 11 & i_valid ? 1'bx : i_valid;",
    ),
    (3, "o_valid <= 1'b0;", "o_valid <= fault == 12 & was_reset;"),
    (3, "if (i_ready_and_i_valid)", "if (i_ready_and_i_valid | fault == 8)"),
    (3, "= ~o_valid | o_ready;", "= ~o_valid | o_ready & fault != 10;"),
]
"""The pipeline's register of a stage, its text, and the text with the faults."""


def with_faults(unit: Unit, file: str) -> str:
    """The unit's Verilog with every fault. Registers of valid start at 0, so that no x tells of a missing reset."""
    text = verilog(unit)
    for stage in (1, 2, 3):
        before, head, module = text.partition(f"module {unit.name}_pipeline_register{stage}(")
        module = module.replace("  assign i_ready", f"{_READ.replace('@file', file)}  assign i_ready", 1)
        for place, good, bad in _EDITS:
            if place == stage:
                assert good in module
                module = module.replace(good, bad, 1)
        text = f"{before}{head}{module}"
    return "".join(f"/* verilator lint_off {warning} */\n" for warning in _WARNINGS) + text
