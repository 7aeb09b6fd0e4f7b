"""Mutants of a unit's constants of two bits or more, in the circuit before optimisation.

They model a wrong number in the source: a bias, a limit, a code, a width. All mutants of a level and a seed are in
one
netlist, selected by one input. Multiplexers drive the changed constants.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fp9.units import Unit
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.mutants.chosen import Bit, Choice, simple_gates
from fp9_sim.mutants.draw import TO_JSON, Mutant, MutantSet

STEP, FLIP = "step", "flip"

_READ = """\
read_verilog unit.v
hierarchy -check -top {name}
proc
flatten
opt_clean
write_json read.json
"""
_TO_GATES = (
    """\
read_json changed.json
hierarchy -top {name}
opt -full -nodffe -nosdff
opt_clean
"""
    + TO_JSON
)


@dataclass(frozen=True)
class Constant:
    """A constant at a pin of a cell: its bits, least significant first, and another value for it."""

    cell: str
    pin: str
    bits: tuple[str, ...]
    other: int

    @property
    def change(self) -> str:
        """Return the name of the mutant."""
        width, value = len(self.bits), int("".join(reversed(self.bits)), 2)
        return f"{self.cell} {self.pin}: {width}'d{value} is {width}'d{self.other}"


def draw(unit: Unit, text: str, level: str, count: int, seeds: tuple[int, ...]) -> Iterator[MutantSet]:
    """Yield random mutants of a level of the circuit in `text`, one netlist for each seed.

    There are fewer than `count` if the circuit has no more.
    """
    read = _read(unit, text)
    for seed in seeds:
        module = json.loads(read)["modules"][unit.name]
        every = list(_constants(module, level))
        order = np.random.default_rng(seed).permutation(len(every))[:count]
        changes = [every[i] for i in order]
        _insert(module, changes)
        mutants = tuple(Mutant(level, seed, i, changed.change) for i, changed in enumerate(changes, start=1))
        yield MutantSet(mutants, simple_gates(unit, module, _TO_GATES))


@functools.lru_cache(maxsize=1)
def _read(unit: Unit, text: str) -> str:
    """Return the circuit before optimisation as Yosys JSON."""
    with tempfile.TemporaryDirectory(prefix="fp9-mutants-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(text)
        run_yosys(_READ.format(name=unit.name), folder)
        return (folder / "read.json").read_text()


# --- drawing ----------------------------------------------------------------------------------------------------------


def _constants(module: Mapping[str, Any], level: str) -> Iterator[Constant]:
    """Yield every mutant of a level in the order of the netlist."""
    for name, cell in module["cells"].items():
        for pin, bits in cell["connections"].items():
            if cell["port_directions"][pin] == "input" and len(bits) > 1 and {*bits} <= {"0", "1"}:
                value = int("".join(reversed(bits)), 2)
                for other in _OTHERS[level](value, len(bits)):
                    yield Constant(name, pin, tuple(bits), other)


def _steps(value: int, width: int) -> list[int]:
    """Return the next larger and next smaller value."""
    return [(value + step) % (1 << width) for step in (1, -1)]


def _flips(value: int, width: int) -> list[int]:
    """Return the values with one inverted bit. The last bit is left out, because its inversion is a step."""
    return [value ^ (1 << bit) for bit in range(1, width)]


_OTHERS = {STEP: _steps, FLIP: _flips}
LEVELS = tuple(_OTHERS)


# --- inserting --------------------------------------------------------------------------------------------------------


def _insert(module: dict[str, Any], changes: list[Constant]) -> None:
    """Insert changes into a module, selected by their numbers from 1 on."""
    choice = Choice(module)
    for number, changed in enumerate(changes, start=1):
        pins = module["cells"][changed.cell]["connections"]
        other: list[Bit] = [str(changed.other >> i & 1) for i in range(len(changed.bits))]
        shown = choice.instead(f"constant_{number}", choice.chosen(number), pins[changed.pin], other)
        pins[changed.pin] = shown
