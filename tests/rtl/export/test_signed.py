"""Signed numbers in the text: what is extended by its sign and what is not."""

from __future__ import annotations

from pathlib import Path

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tests.rtl.export.test_partly_constant import FIELDS, TESTBENCH, simulated
from tests.rtl.export.texts import icarus, said

from fp9_rtl.export.verilog import component_verilog


class ShiftedDifference(wiring.Component):
    """A difference below zero, shifted by a distance that has no sign."""

    def __init__(self) -> None:
        super().__init__({"select": In(2), "value": In(7), "result": Out(FIELDS.size)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        difference = Signal(signed(6))
        m.d.comb += [
            difference.eq(self.value[:5] - self.value[4:]),
            self.result.eq((difference << self.select) < self.value),
        ]
        return m


def test_a_signed_number_keeps_its_sign_under_a_shift(tmp_path: Path) -> None:
    """Zeros stood above it, as the distance is unsigned; Amaranth's own simulator says what is right."""
    (tmp_path / "dut.v").write_text(component_verilog(ShiftedDifference(), "dut"))
    (tmp_path / "bench.v").write_text(TESTBENCH)
    said(icarus(), "-o", "bench.vvp", "bench.v", "dut.v", folder=tmp_path)
    printed = said("vvp", "-n", "bench.vvp", folder=tmp_path)
    assert [int(line) for line in printed.split()[:512]] == simulated(ShiftedDifference())
