"""Toggle counts of a unit's nets, with and without zero-operand gating.

A net toggles if its settled value differs from the previous clock cycle. Toggle counts are no estimate of power,
because they ignore glitches, wires, loads and the clock.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fp9.units import Dot, MacOp, Port, Unit
from fp9.units.views import sum_of
from fp9_rtl.components import build
from fp9_rtl.tools.rtlil import to_rtlil
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.cells import SIMPLE_GATES, CellNetlist
from fp9_sim.netlists.cells import toggles as count_changes
from fp9_sim.netlists.gates import WORD

COUNT = 20_480

_WORDS = 4
_STREAMS = _WORDS * WORD

_SCRIPT = """\
read_rtlil unit.il
hierarchy -check -top {name}
proc
async2sync
pmuxtree
opt_expr
wreduce
opt_clean
techmap
simplemap
opt_clean
abc -g AND,OR,XOR,NAND,NOR,XNOR,MUX
flatten
opt_clean -purge
write_json gates.json
"""


@dataclass(frozen=True)
class Toggles:
    """The mean number of toggles per operation in each submodule."""

    unit: str
    gated: bool
    # The fraction of products that have a zero operand.
    zeros: float
    operations: int
    by_submodule: Mapping[str, float]
    gates: int
    flip_flops: int

    @property
    def total(self) -> float:
        return sum(self.by_submodule.values())


def toggles(unit: Unit, zeros: float, *, count: int = COUNT, seed: int = 0) -> tuple[Toggles, Toggles]:
    """Return a unit's toggle counts without and with operand gating (`gate_zeros`), for the same operations.

    With probability `zeros`, one of a product's two operands, chosen at random, is +0. All other operands are random
    finite codes. A `mac` unit performs ACCUMULATE. Raises ValueError for a unit without zero-operand gating, for
    `zeros` outside 0..1, or for a count below 1.
    """
    summed = sum_of(unit)
    if summed is None:
        raise ValueError(f"{unit.name}: a {unit.kind} has no zero-operand gating; give an fma, dot or mac")
    if not 0 <= zeros <= 1:
        raise ValueError(f"a share of zeros of {zeros} given; give 0 to 1")
    if count < 1:
        raise ValueError(f"{count} operations given; give 1 or more")
    clocks = -(-count // _STREAMS)
    operations = _operations(summed, zeros, clocks + 2 * unit.stages + 1, np.random.default_rng(seed))
    plain, gated = (
        _count(dataclasses.replace(summed, gate_zeros=gate), zeros, clocks, operations) for gate in (False, True)
    )
    return plain, gated


def _operations(unit: Dot, zeros: float, clocks: int, rng: np.random.Generator) -> dict[str, NDArray[np.uint64]]:
    shape = (clocks, _STREAMS)
    drawn = {port.name: _finite(port, shape, rng) for port in unit.inputs}
    for a, b in zip(unit.lane_names("a"), unit.lane_names("b"), strict=True):
        is_zero, first = rng.random(shape) < zeros, rng.random(shape) < 0.5
        drawn[a][is_zero & first] = 0
        drawn[b][is_zero & ~first] = 0
    if unit.has_state:
        drawn["op"][:] = MacOp.ACCUMULATE
        if "c" in drawn:
            drawn["c"][:] = 0
    return drawn


def _finite(port: Port, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.uint64]:
    if not port.formats:
        return np.zeros(shape, dtype=np.uint64)
    fmt = port.formats[0]
    magnitudes = rng.integers(0, fmt.max_code, shape, dtype=np.uint64, endpoint=True)
    return magnitudes | rng.integers(0, 2, shape, dtype=np.uint64) << np.uint64(fmt.bits - 1)


def _count(unit: Dot, zeros: float, clocks: int, operations: Mapping[str, NDArray[np.uint64]]) -> Toggles:
    netlist = _netlist(unit)
    changed = count_changes(netlist.run(operations), len(next(iter(operations.values()))) - clocks)
    counted = clocks * _STREAMS
    sums: Counter[str] = Counter()
    for placed in sorted(netlist.cells, key=lambda placed: placed.name):
        sums[submodule(placed.name)] += sum(int(changed[placed.nets[pin]]) for pin in placed.cell.outputs)
    by_submodule = {owner: toggles / counted for owner, toggles in sums.items()}
    registers = sum(placed.bit >= 0 for placed in netlist.cells)
    return Toggles(unit.name, unit.gate_zeros, zeros, counted, by_submodule, len(netlist.cells) - registers, registers)


@functools.lru_cache(maxsize=8)
def _netlist(unit: Dot) -> CellNetlist:
    with tempfile.TemporaryDirectory(prefix="fp9-toggles-") as temporary:
        folder = Path(temporary)
        (folder / "unit.il").write_text(to_rtlil(build(unit), unit.name))
        run_yosys(_SCRIPT.format(name=unit.name), folder)
        module = json.loads((folder / "gates.json").read_text())["modules"][unit.name]
        return CellNetlist.from_json(module, SIMPLE_GATES.__getitem__)


def submodule(cell: str) -> str:
    """Return the submodule that contains a cell of a flattened netlist, as a path of at most two levels."""
    path = cell.removeprefix("$flatten").replace("\\", "").split(".$")[0]
    return ".".join(path.split(".")[:2]) if not path.startswith("$") else "handshake"
