"""Handle of a unit in a simulator: its ports, clock and reset by their specified names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from fp9.units import Port, Unit
from fp9_sim.bench.pins import pin, pins


class UnitHandle:
    """The simulator handle of a unit (the DUT), with its ports in the specification's order.

    `inputs` and `outputs` are simulator handles. `names` maps ports of the specification to other names in the DUT.
    Raises Violation for a missing port or a wrong width, and ValueError for names of unknown ports.
    """

    def __init__(self, dut: Any, unit: Unit, names: Mapping[str, str] | None = None) -> None:
        self.dut, self.unit, self._names = dut, unit, dict(names or {})
        known = [port.name for port in (*unit.control_ports, *unit.inputs, *unit.outputs)]
        if unknown := [name for name in self._names if name not in known]:
            raise ValueError(f"names has {unknown[0]!r}; {unit.name} has the ports {', '.join(known)}")
        self.inputs = self._handles(unit.inputs)
        self.outputs = self._handles(unit.outputs)
        self._control = {port.name for port in unit.control_ports}

    def _handles(self, ports: Sequence[Port]) -> list[Any]:
        return pins(self.dut, ports, self._names)

    def control(self, name: str) -> Any:
        """Return the handle of a control port such as `in_ready`, or None if the unit has no such port."""
        return pin(self.dut, self._names.get(name, name)) if name in self._control else None

    async def clock(self) -> None:
        """Wait for the next falling edge of the clock."""
        await FallingEdge(self.control("clk"))

    async def start(self) -> None:
        """Set all inputs to 0 and start the clock. The reset is inactive."""
        for port in (*self._handles(self.unit.control_inputs[1:]), *self.inputs):
            port.value = 0
        self.control(self.unit.reset.port).value = 1 - self.unit.reset.active
        Clock(self.control("clk"), 2, unit="step").start(start_high=False)
        await self.clock()  # setting the clock's first value also counts as an edge

    async def reset(self, clocks: int = 1) -> None:
        """Reset the unit for some clock cycles, with `in_valid` and `enable` low."""
        reset = self.control(self.unit.reset.port)
        reset.value = self.unit.reset.active
        for name in ("in_valid", "enable"):
            if (port := self.control(name)) is not None:
                port.value = 0
        for _ in range(clocks):
            await self.clock()
        reset.value = 1 - self.unit.reset.active

    async def flush(self) -> None:
        """Flush the unit for one clock cycle, with `in_valid` high and `enable` low.

        The unit must discard the operation at its inputs.
        """
        flush, enable = self.control("flush"), self.control("enable")
        flush.value = self.control("in_valid").value = 1
        if enable is not None:
            enable.value = 0
        await self.clock()
        flush.value = self.control("in_valid").value = 0
