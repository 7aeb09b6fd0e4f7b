"""Unknown bits in a four-state simulator: none comes out after reset, whatever stands at inputs that say nothing."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.rosters import each_kind

from fp9.units import CATALOGUE, Handshake, Port, Reset, Unit
from fp9_rtl import verilog

pytestmark = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")

_GATED = CATALOGUE["mac_dlfloat16_gated"]
VARIANTS = (
    dataclasses.replace(_GATED, name="mac_valid", handshake=Handshake.VALID, reset=Reset.ASYNC_LOW),  # type: ignore[call-arg]
    dataclasses.replace(_GATED, name="mac_low", reset=Reset.SYNC_LOW),  # type: ignore[call-arg]
)

COUNT = 400
"""Operations or clocks: every value of every select comes, mapped or not, with many operands."""


def _declared(kind: str, ports: Sequence[Port]) -> list[str]:
    return [f"  {kind} [{port.width - 1}:0] {port.name};" for port in ports]


def bench(unit: Unit) -> str:
    """Drives drawn operands, or unknown ones in a clock without an operation; ends with the number of known results."""
    pins = [port.name for port in (*unit.control_ports, *unit.inputs, *unit.outputs)]
    drawn = [f"      {port.name} = {{$random(seed), $random(seed)}};" for port in unit.inputs]
    unknown = [f"      {port.name} = {port.width}'bx;" for port in unit.inputs]
    results = ", ".join(port.name for port in unit.outputs)
    control = [port for port in unit.control_inputs if port.name not in ("clk", unit.reset.port)]
    shown = ", ".join(port.name for port in unit.control_outputs)
    clocked = [
        "  always #2 clk = !clk;",
        f"  initial begin {unit.reset.port} = {unit.reset.active}; clk = 0;",
        *(f"    {port.name} = 0;" for port in control),
        f"    repeat (3) @(negedge clk); {unit.reset.port} = {1 - unit.reset.active};",
        f"    for (i = 0; i < {COUNT}; i = i + 1) begin",
        "      @(negedge clk);",
        *(f"      {port.name} = $random(seed);" for port in control),
        "      if (in_valid) begin",
        *drawn,
        "      end else begin",
        *unknown,
        "      end",
        "      #1;",
        f'      if (^{{{shown}}} === 1\'bx) $display("unknown handshake in clock %0d", i);',
        "      if (out_valid) check;",
        "    end",
    ]
    combinational = [
        f"  initial begin for (i = 0; i < {COUNT}; i = i + 1) begin",
        *drawn,
        "      #1 check;",
        "    end",
    ]
    return "\n".join(
        [
            "module bench;",
            *_declared("reg", (*unit.inputs, *unit.control_inputs)),
            *_declared("wire", (*unit.outputs, *unit.control_outputs)),
            "  integer i, seed = 1, known = 0;",
            f"  {unit.name} unit ({', '.join(f'.{name}({name})' for name in pins)});",
            "  task check;",
            f'    if (^{{{results}}} === 1\'bx) $display("unknown result in operation %0d", i);',
            "    else known = known + 1;",
            "  endtask",
            *(clocked if unit.stages else combinational),
            '    $display("known %0d", known); $finish;',
            "  end",
            "endmodule",
            "",
        ]
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", [*each_kind(CATALOGUE.values()), *VARIANTS], ids=lambda unit: unit.name)
def test_no_unknown_bit_comes_out(unit: Unit, tmp_path: Path) -> None:
    (tmp_path / "bench.v").write_text(verilog(unit) + bench(unit))
    commands = (["iverilog", "-g2005", "-s", "bench", "-o", "bench.vvp", "bench.v"], ["vvp", "-n", "bench.vvp"])
    for command in commands:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    said, _, known = done.stdout.strip().rpartition("known ")
    assert said == ""
    assert int(known) > COUNT // 10


def test_an_unknown_select_would_be_noticed(tmp_path: Path) -> None:
    unit = CATALOGUE["decoder_ocp"]
    wrong = verilog(unit).replace("assign sign = code[7]", "assign sign = code_format ? 1'bx : code[7]")
    assert wrong != verilog(unit)
    (tmp_path / "bench.v").write_text(wrong + bench(unit))
    subprocess.run(["iverilog", "-s", "bench", "-o", "bench.vvp", "bench.v"], cwd=tmp_path, check=True)
    assert (
        "unknown result"
        in subprocess.run(["vvp", "-n", "bench.vvp"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    )
