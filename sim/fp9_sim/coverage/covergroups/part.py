"""Parts of a unit for which SystemVerilog coverage is sampled: the whole unit, or one operation of an FPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fp9.formats import Format, with_bias
from fp9.units import Port, Unit
from fp9_sim.coverage.covergroups.groups import CoverGroup, identifier
from fp9_sim.coverage.covergroups.numbers import Numbers
from fp9_sim.coverage.values import lowest_place
from fp9_sim.templates import width


@dataclass(frozen=True)
class Part:
    """Groups of cover points by name, for a whole unit or for one operation of an FPU."""

    unit: Unit
    prefix: str
    groups: Mapping[str, CoverGroup]
    numbers: Numbers
    # Type and value after reset of each variable that keeps its value between operations.
    state: dict[str, tuple[str, str]] = field(default_factory=dict)

    def kept(self, name: str, kind: str, start: str) -> str:
        """Declare a variable that keeps its value between operations, and return its name."""
        variable = identifier(self.prefix, "kept", name)
        self.state[variable] = kind, start
        return variable

    def function(self, lines: Iterable[str]) -> str:
        lines = list(lines)
        ports = ", ".join(f"input logic {width(port)}{port.name}" for port in self.ports)
        return "\n".join(
            [
                *(f"  {kind} {name} = {start};" for name, (kind, start) in self.state.items()),
                f"  function automatic void {identifier(self.prefix, 'sample')}({ports});",
                *(f"    {line}" for line in lines),
                "  endfunction",
                "",
            ]
        )

    @property
    def ports(self) -> tuple[Port, ...]:
        return *self.unit.inputs, *self.unit.outputs

    def moved(self, formats: Sequence[Format], bias: str) -> list[str]:
        has = any(port.name == bias for port in self.unit.inputs)
        return [moved(fmt, bias) if has and fmt.programmable_bias else "0" for fmt in formats]


def moved(fmt: Format, bias: str) -> str:
    return f"int'($signed({bias})) - ({lowest_place(with_bias(fmt, 0)) - lowest_place(fmt)})"
