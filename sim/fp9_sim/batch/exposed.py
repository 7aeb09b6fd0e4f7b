"""Expose the registers of a unit's Verilog as ports, so that the unit has no state.

A unit without registers is combinational, and each evaluation of the unit computes one clock cycle. Several
independent sequences of operations can therefore run in parallel.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from fp9.units import Port, Unit
from fp9_rtl.tools.yosys import run_yosys, yosys_version

# A wider register is split, so that each port fits one lane of a vector register.
_PIECE = 32

_FLATTEN = """\
read_verilog unit.v
hierarchy -check -top {name}
proc
flatten
async2sync
opt_expr
opt_clean
write_json unit.json
"""

_BACK = """\
read_json unit.json
opt_expr
opt_clean
write_verilog -noattr exposed.v
"""


class Exposed(NamedTuple):
    """Combinational Verilog of a unit, in which ports replace the registers."""

    verilog: str
    # The input ports for the registers' current values.
    before: tuple[Port, ...]
    # The output ports for the registers' next values.
    after: tuple[Port, ...]


NO_REGISTERS = Exposed("", (), ())


def recipe() -> list[str]:
    # The parts of a cache key on which the exposed Verilog depends, in addition to the unit's Verilog.
    return [_FLATTEN, _BACK, str(_PIECE), yosys_version()]


def exposed(unit: Unit, verilog: str) -> Exposed:
    with tempfile.TemporaryDirectory(prefix="fp9-exposed-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        run_yosys(_FLATTEN.format(name=unit.name), folder)
        design = json.loads((folder / "unit.json").read_text())
        # Latches, memories, and registers that depend on more than the rising edge of `clk` are errors.
        before, after = _open(unit, design["modules"][unit.name])
        (folder / "unit.json").write_text(json.dumps(design))
        run_yosys(_BACK, folder)
        return Exposed((folder / "exposed.v").read_text(), before, after)


def _open(unit: Unit, module: dict[str, Any]) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    ports, cells = module["ports"], module["cells"]
    clock = ports.pop("clk")["bits"]
    registers = [cells.pop(name) for name in [*cells] if _is_register(unit, cells[name], clock)]
    pairs = [(d, q) for cell in registers for d, q in _pieces(cell["connections"])]
    before = tuple(Port(f"before_clock_{i}", len(q), "register before the clock") for i, (_, q) in enumerate(pairs))
    after = tuple(Port(f"after_clock_{i}", len(d), "register after the clock") for i, (d, _) in enumerate(pairs))
    for (d, q), held, taken in zip(pairs, before, after, strict=True):
        ports[held.name] = {"direction": "input", "bits": q}
        ports[taken.name] = {"direction": "output", "bits": d}
    return before, after


def _is_register(unit: Unit, cell: dict[str, Any], clock: list[int]) -> bool:
    if cell["type"] == "$dff" and cell["connections"]["CLK"] == clock and int(cell["parameters"]["CLK_POLARITY"], 2):
        return True
    if "ff" in cell["type"] or "latch" in cell["type"] or "mem" in cell["type"]:
        raise ValueError(
            f"{unit.name}: {cell['type']} found, which depends on more than the rising edge of clk; run it without "
            "streams"
        )
    return False


def _pieces(connections: dict[str, list[int]]) -> list[tuple[list[int], list[int]]]:
    d, q = connections["D"], connections["Q"]
    return [(d[i : i + _PIECE], q[i : i + _PIECE]) for i in range(0, len(q), _PIECE)]
