"""Random mutants of a unit's netlist, made by Yosys' command `mutate`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fp9.units import Unit
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.gates import GateNetlist

LEVELS = ("operator", "gate")

SELECT = "mutant"
"""Name of the input that selects a mutant. The value 0 selects the original circuit."""
SELECT_BITS = 8
MOST = (1 << SELECT_BITS) - 1

READ = """\
read_verilog unit.v
hierarchy -check -top {name}
proc
flatten
opt -full -nodffe -nosdff
opt_clean
"""
_TO_GATES = "techmap\nopt -full -nodffe -nosdff\nabc -g AND,OR,XOR,NAND,NOR,XNOR,MUX\nopt_clean\n"
TO_JSON = "techmap\nopt_expr\nopt_merge\nopt_clean\nwrite_json mutants.json\n"


@dataclass(frozen=True)
class Mutant:
    """A circuit with one deliberate error, active if the netlist's select input has the value `number`."""

    level: str
    seed: int
    number: int
    change: str


@dataclass(frozen=True)
class MutantSet:
    """Netlist with several mutants from one random seed, all with the same type of error, such as a changed gate."""

    mutants: tuple[Mutant, ...]
    netlist: GateNetlist


def draw(unit: Unit, text: str, level: str, count: int, seeds: tuple[int, ...]) -> Iterator[MutantSet]:
    """Yield, for each seed, one set of `count` random mutants of the circuit in the Verilog source `text`."""
    # A mutant changes an "operator" of the Verilog, or a "gate" of the synthesised circuit.
    prepare = READ.format(name=unit.name) + (_TO_GATES if level == "gate" else "")
    lists = (f"mutate -list {count} -seed {seed} -o {_list(place)}\n" for place, seed in enumerate(seeds))
    with tempfile.TemporaryDirectory(prefix="fp9-mutants-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(text)
        run_yosys(f"{prepare}write_rtlil prepared.il\n{''.join(lists)}", folder)
        for place, seed in enumerate(seeds):
            said = (folder / _list(place)).read_text().splitlines()
            drawn = [line for line in said if line.startswith("mutate ")]
            mutants = tuple(Mutant(level, seed, i, _change(line)) for i, line in enumerate(drawn, start=1))
            yield MutantSet(mutants, _inserted(unit, drawn, folder))


def _list(place: int) -> str:
    return f"drawn{place}.txt"


def _inserted(unit: Unit, drawn: list[str], folder: Path) -> GateNetlist:
    insert = [f"{line} -ctrl {SELECT} {SELECT_BITS} {i}\n" for i, line in enumerate(drawn, start=1)]
    run_yosys("read_rtlil prepared.il\n" + "".join(insert) + TO_JSON, folder)
    return GateNetlist.from_json(json.loads((folder / "mutants.json").read_text())["modules"][unit.name])


def _change(line: str) -> str:
    words = line.split()
    options = {word: words[i + 1] for i, word in enumerate(words) if word.startswith("-") and i + 1 < len(words)}
    place = f"{options['-mode']} at {options['-cell']} {options['-port']}[{options['-portbit']}]"
    return place + (f" on {options['-wire']}[{options['-wirebit']}]" if "-wire" in options else "")
