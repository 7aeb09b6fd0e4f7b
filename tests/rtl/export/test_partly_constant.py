"""Structures of which a part never changes: they have gone wrong between Amaranth and a simulator."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext
from tests.rtl.export.texts import icarus, said
from tests.support.programs import built

from fp9_rtl.export.verilog import component_verilog
from fp9_rtl.tools.yosys import run_yosys

FIELDS = data.StructLayout({"switched": 7, "constant": 4, "plain": 1})


class ConstantBesideSwitched(wiring.Component):
    """A field that never changes beside one that is switched (amaranth#1629, yosys#2271)."""

    def __init__(self) -> None:
        super().__init__({"select": In(2), "value": In(7), "result": Out(FIELDS.size)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = Signal(FIELDS)
        m.d.comb += [fields.constant.eq(0b0101), fields.plain.eq(self.value[0]), self.result.eq(fields)]
        with m.Switch(self.select):
            with m.Case(0):
                m.d.comb += fields.switched.eq(self.value)
            with m.Case(1, 2):
                m.d.comb += fields.switched.eq(~self.value)
        return m


class PartialAssignments(wiring.Component):
    """A prefix-coded switch on one slice, a constant on a second, a third driven elsewhere: one signal."""

    def __init__(self) -> None:
        super().__init__({"select": In(2), "value": In(7), "result": Out(FIELDS.size)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = Signal(FIELDS)
        m.d.comb += [fields.constant.eq(0b1000), self.result.eq(fields)]
        with m.Switch(self.value):
            with m.Case("1------"):
                m.d.comb += fields.switched[:4].eq(self.value)
            with m.Case("01-----"):
                m.d.comb += fields.switched[2:].eq(Cat(self.value[:3], Const(0b11, 2)))
        with m.If(self.select == 2):
            m.d.comb += fields.plain.eq(1)
        return m


def simulated(component: Any) -> list[int]:
    """Results for every input, in Amaranth's simulator."""
    results = []

    async def bench(ctx: SimulatorContext) -> None:
        for select in range(4):
            for value in range(128):
                ctx.set(component.select, select)
                ctx.set(component.value, value)
                await ctx.delay(1e-9)
                results.append(ctx.get(component.result))

    simulator = Simulator(component)
    simulator.add_testbench(bench)
    simulator.run()
    return results


TESTBENCH = """\
module bench;
  reg [1:0] select; reg [6:0] value; wire [11:0] result;
  integer i;
  dut dut (.select(select), .value(value), .result(result));
  initial begin
    for (i = 0; i < 512; i = i + 1) begin
      {select, value} = i;
      #1 $display("%0d", result);
    end
    $finish;
  end
endmodule
"""


def test_both_patterns_go_wrong_where_processes_are_written_as_they_are(tmp_path: Path) -> None:
    """Without the remedy the constant field is driven from a block that no event ever wakes."""
    for pattern in (ConstantBesideSwitched, PartialAssignments):
        (tmp_path / "dut.il").write_text(rtlil.convert(pattern(), name="dut", emit_src=False))
        run_yosys("read_rtlil dut.il\nproc -nomux -norom\nwrite_verilog dut.v\n", tmp_path)
        assert re.search(r"always @\*\s+\w+\[10:7\] = 4'h\w;", (tmp_path / "dut.v").read_text())


patterns = pytest.mark.parametrize("pattern", [ConstantBesideSwitched, PartialAssignments])


@patterns
def test_icarus_agrees_on_partly_constant_structures(pattern: Callable[[], Any], tmp_path: Path) -> None:
    (tmp_path / "dut.v").write_text(component_verilog(pattern(), "dut"))
    (tmp_path / "bench.v").write_text(TESTBENCH)
    said(icarus(), "-Wall", "-o", "bench.vvp", "bench.v", "dut.v", folder=tmp_path)
    printed = said("vvp", "-n", "bench.vvp", folder=tmp_path)
    assert [int(line) for line in printed.split()[:512]] == simulated(pattern())


PROGRAM = """\
#include "Vdut.h"
#include <cstdio>
int main() {
  VerilatedContext context;
  Vdut dut(&context);
  for (int i = 0; i < 512; i++) {
    dut.select = i >> 7;
    dut.value = i & 127;
    dut.eval();
    std::printf("%d\\n", (int)dut.result);
  }
}
"""


@pytest.mark.slow
@patterns
def test_verilator_agrees_on_partly_constant_structures(pattern: Callable[[], Any], tmp_path: Path) -> None:
    (tmp_path / "dut.v").write_text(component_verilog(pattern(), "dut"))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    strict = ["-Werror-ALWNEVER", "-Werror-UNOPTFLAT", "-Wno-WIDTH"]
    printed = said(built(tmp_path, "-fno-dfg", *strict, "dut.v", "main.cpp") / "Vdut", folder=tmp_path)
    assert [int(line) for line in printed.split()] == simulated(pattern())
