"""Errors drawn for a unit's netlist by Yosys' `mutate`: all those of a level in one netlist, chosen by one input."""

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
"""Name of the input that chooses a mutant; with 0 the circuit is as it was."""
SELECT_BITS = 8
MOST = (1 << SELECT_BITS) - 1
"""Most mutants of one netlist."""

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
    """One error: drawn with `seed` as the `number`th of its level, which is also its value of the select input;
    `change` is what Yosys changed where."""

    level: str
    seed: int
    number: int
    change: str


@dataclass(frozen=True)
class MutantSet:
    """The mutants of one level and one seed in one netlist."""

    mutants: tuple[Mutant, ...]
    netlist: GateNetlist


def draw(unit: Unit, text: str, level: str, count: int, seeds: tuple[int, ...]) -> Iterator[MutantSet]:
    """Draw mutants of a level of the circuit that `text` describes, for one seed after the other, and put those of a
    seed into one netlist.

    The circuit, whose mapping to gates takes the most time, is made once.
    """
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
    """The file of the mutants of the seed at a place."""
    return f"drawn{place}.txt"


def _inserted(unit: Unit, drawn: list[str], folder: Path) -> GateNetlist:
    """The prepared circuit with all mutants drawn."""
    insert = [f"{line} -ctrl {SELECT} {SELECT_BITS} {i}\n" for i, line in enumerate(drawn, start=1)]
    run_yosys("read_rtlil prepared.il\n" + "".join(insert) + TO_JSON, folder)
    return GateNetlist.from_json(json.loads((folder / "mutants.json").read_text())["modules"][unit.name])


def _change(line: str) -> str:
    """What was changed where: the mode, the cell with its port and bit, and the wire where it has a name."""
    words = line.split()
    options = {word: words[i + 1] for i, word in enumerate(words) if word.startswith("-") and i + 1 < len(words)}
    place = f"{options['-mode']} at {options['-cell']} {options['-port']}[{options['-portbit']}]"
    return place + (f" on {options['-wire']}[{options['-wirebit']}]" if "-wire" in options else "")
