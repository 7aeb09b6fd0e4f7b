"""Grading of vectors by mutation: what share of single-gate and single-operator errors a suite notices.

Yosys draws the mutants, half of them in the operators as the Verilog has them (an adder, a comparison, a multiplexer)
and half in a netlist of two-input gates. All mutants of a level stand in one netlist, of which the input `mutant`
chooses one; 0 is the circuit as it is. A mutant that no vector notices is compared with the circuit by a SAT proof:
equal ones are no errors and leave the count.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9_rtl
from fp9 import vectors as library
from fp9.formats import HFP8_BIASES
from fp9.units import Mac, Port, Unit
from fp9.vectors import VectorSet
from fp9_rtl.yosys import run_yosys
from fp9_sim.function import ACCUMULATOR, function, function_inputs
from fp9_sim.gates import GateNetlist, bit_planes
from fp9_sim.proofs.solver import State, Verdict, run
from fp9_sim.provenance import provenance

LEVELS = ("operator", "gate")
DRAWN = 240
"""Mutants of a unit, both levels together."""

REQUIRED = {"smoke": 0.95, "corner": 1.0}
"""Suites that are graded, and the share of mutants that each has to notice."""

_SELECT = "mutant"
_SELECT_BITS = 8
EQUIVALENCE_SECONDS = 60.0

Progress = Callable[[str, int, int], None]

_READ = """\
read_verilog unit.v
hierarchy -check -top {name}
proc
opt -full
opt_clean
"""
_TO_GATES = "techmap\nopt -full\nabc -g AND,OR,XOR,NAND,NOR,XNOR,MUX\nopt_clean\n"
_TO_JSON = "techmap\nopt_expr\nopt_merge\nopt_clean\nwrite_json mutants.json\nwrite_rtlil mutants.il\n"


@dataclass(frozen=True)
class Mutant:
    """One error: `number` is its value of the select input at its level, `change` what Yosys changed where."""

    level: str
    number: int
    change: str


@dataclass(frozen=True)
class MutantSet:
    """The mutants of one level in one netlist."""

    level: str
    mutants: tuple[Mutant, ...]
    netlist: GateNetlist
    rtlil: str


@dataclass(frozen=True)
class SuiteGrade:
    """A suite's figures; `survivors` are mutants that are not equal to the circuit and that it does not notice."""

    suite: str
    operations: int
    killed: int
    survivors: tuple[Mutant, ...]

    @property
    def rate(self) -> float:
        """Share of the mutants noticed, equal ones left out."""
        return self.killed / max(1, self.killed + len(self.survivors))


@dataclass(frozen=True)
class Grade:
    """The mutants drawn of a unit and each suite's figures.

    `unnoticed` are mutants that no suite noticed, with inputs that tell them apart; `undecided` those for which the
    proof did not finish.
    """

    unit: str
    spec: tuple[str, ...]
    verilog_sha256: str
    drawn: int
    seed: int
    equivalent: tuple[Mutant, ...]
    undecided: tuple[Mutant, ...]
    unnoticed: tuple[tuple[Mutant, dict[str, int]], ...]
    suites: tuple[SuiteGrade, ...]
    provenance: dict[str, str]

    @property
    def sufficient(self) -> bool:
        """Whether every suite reaches the share that is asked of it (`REQUIRED`)."""
        return all(suite.rate >= REQUIRED[suite.suite] for suite in self.suites)

    def to_dict(self) -> dict[str, Any]:
        record = asdict(self)
        for suite, graded in zip(self.suites, record["suites"], strict=True):
            graded["rate"] = round(suite.rate, 5)
        return record


def grade(
    unit: Unit,
    *,
    drawn: int = DRAWN,
    seed: int = 1,
    suites: tuple[str, ...] = tuple(REQUIRED),
    progress: Progress | None = None,
) -> Grade:
    """Grade suites of a unit's vectors by `drawn` mutants.

    Raises ValueError where the circuit itself disagrees with a vector, or `drawn` is not 2..510.
    """
    if not 2 <= drawn <= 2 * ((1 << _SELECT_BITS) - 1):
        raise ValueError(f"{drawn} mutants given; give 2 to {2 * ((1 << _SELECT_BITS) - 1)}")
    verilog = fp9_rtl.verilog(unit)
    text = function(unit, verilog)
    counts = (drawn - drawn // 2, drawn // 2)
    levels = [_draw(unit, text, level, count, seed) for level, count in zip(LEVELS, counts, strict=True)]
    made = {suite: library.generate(unit, suite) for suite in suites}
    noticed: dict[str, set[Mutant]] = {}
    for number, (suite, vectors) in enumerate(made.items()):
        if progress:
            progress(f"{unit.name}: {suite}", number, len(suites) + 1)
        noticed[suite] = {mutant for level in levels for mutant in _killed(level, vectors)}
    if progress:
        progress(f"{unit.name}: equal mutants", len(suites), len(suites) + 1)
    compared = _compared(unit, levels, set().union(*noticed.values()))
    mutants = [mutant for level in levels for mutant in level.mutants]
    equivalent = tuple(m for m in mutants if m in compared and compared[m].state is State.PROVEN)
    return Grade(
        unit.name,
        tuple(unit.describe()),
        hashlib.sha256(verilog.encode()).hexdigest(),
        len(mutants),
        seed,
        equivalent,
        tuple(m for m, verdict in compared.items() if verdict.state is State.UNFINISHED),
        tuple((m, dict(v.counterexample)) for m, v in compared.items() if v.state is State.REFUTED),
        tuple(
            SuiteGrade(suite, len(made[suite]), len(kills), tuple(m for m in mutants if m not in kills | {*equivalent}))
            for suite, kills in noticed.items()
        ),
        provenance(),
    )


def _compared(unit: Unit, levels: list[MutantSet], noticed: set[Mutant]) -> dict[Mutant, Verdict]:
    """The mutants that no suite noticed, and whether each is proven equal to the circuit."""
    return {m: _equal(unit, level, m) for level in levels for m in level.mutants if m not in noticed}


# --- drawing --------------------------------------------------------------------------------------------------------


def _draw(unit: Unit, text: str, level: str, count: int, seed: int) -> MutantSet:
    """Draw mutants of a level and put them all into one netlist."""
    prepare = _READ.format(name=unit.name) + (_TO_GATES if level == "gate" else "")
    with tempfile.TemporaryDirectory(prefix="fp9-mutants-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(text)
        run_yosys(f"{prepare}write_rtlil prepared.il\nmutate -list {count} -seed {seed} -o drawn.txt\n", folder)
        drawn = [line for line in (folder / "drawn.txt").read_text().splitlines() if line.startswith("mutate ")]
        insert = [f"{line} -ctrl {_SELECT} {_SELECT_BITS} {i}\n" for i, line in enumerate(drawn, start=1)]
        run_yosys("read_rtlil prepared.il\n" + "".join(insert) + _TO_JSON, folder)
        module = json.loads((folder / "mutants.json").read_text())["modules"][unit.name]
        mutants = tuple(Mutant(level, i, _change(line)) for i, line in enumerate(drawn, start=1))
        return MutantSet(level, mutants, GateNetlist.from_json(module), (folder / "mutants.il").read_text())


def _change(line: str) -> str:
    """What was changed where: the mode, the cell with its port and bit, and the wire where it has a name."""
    words = line.split()
    options = {word: words[i + 1] for i, word in enumerate(words) if word.startswith("-") and i + 1 < len(words)}
    place = f"{options['-mode']} at {options['-cell']} {options['-port']}[{options['-portbit']}]"
    return place + (f" on {options['-wire']}[{options['-wirebit']}]" if "-wire" in options else "")


# --- running --------------------------------------------------------------------------------------------------------


def _killed(level: MutantSet, made: VectorSet) -> list[Mutant]:
    """The mutants whose outputs differ from the expected ones for some operation."""
    count = len(made)
    widths = {port.name: port.width for port in function_inputs(made.unit)}
    inputs = {name: bit_planes(column, widths[name]) for name, column in _columns(made).items()}
    expected = {port.name: bit_planes(made.expected[port.name], port.width) for port in made.unit.outputs}
    care = {port.name: _care_planes(made, port.name, port.width) for port in made.unit.outputs}

    def first_difference(number: int) -> int:
        planes = np.zeros((_SELECT_BITS, next(iter(inputs.values())).shape[1]), dtype=np.uint64)
        planes[[bit for bit in range(_SELECT_BITS) if number >> bit & 1]] = ~np.uint64(0)
        return level.netlist.mismatches({**inputs, _SELECT: planes}, expected, care, count)

    if (wrong := first_difference(0)) >= 0:
        raise ValueError(f"{made.unit.name}: the circuit itself fails vector {wrong}; nothing can be graded by it")
    return [mutant for mutant in level.mutants if first_difference(mutant.number) >= 0]


def _columns(made: VectorSet) -> Mapping[str, NDArray[Any]]:
    """Inputs of the unit's function; an accumulator holds what the operation before left behind."""
    if not isinstance(made.unit, Mac):
        return made.inputs
    results = made.expected["result"]
    return {**made.inputs, ACCUMULATOR: np.concatenate([np.zeros(1, dtype=results.dtype), results[:-1]])}


def _care_planes(made: VectorSet, output: str, width: int) -> NDArray[np.uint64]:
    """Every bit of an output where it carries meaning; 0 beyond the last operation."""
    matters = made.care.get(output, np.ones(len(made), dtype=np.bool_))
    return np.repeat(bit_planes(matters, 1), width, axis=0)


# --- equal mutants --------------------------------------------------------------------------------------------------

_COMPARE = """\
read_rtlil mutants.il
read_verilog compare.v
hierarchy -check -top compare
flatten
opt -full -share_all
sat -verify -show-ports -dump_json counterexample.json -prove ok 1 compare
"""


def _equal(unit: Unit, level: MutantSet, mutant: Mutant) -> Verdict:
    """Whether a mutant computes what the circuit computes, for all inputs and where the outputs matter."""
    ports = function_inputs(unit)
    declared = ", ".join(f"input [{port.width - 1}:0] {port.name}" for port in ports)
    lines = [f"module compare({declared}, output ok);"]
    for side, number in (("right", 0), ("wrong", mutant.number)):
        pins = [f".{port.name}({port.name})" for port in ports]
        for port in unit.outputs:
            lines.append(f"  wire [{port.width - 1}:0] {side}_{port.name};")
            pins.append(f".{port.name}({side}_{port.name})")
        lines.append(f"  {unit.name} {side}({', '.join(pins)}, .{_SELECT}({_SELECT_BITS}'d{number}));")
    same = " && ".join(f"right_{port.name} == wrong_{port.name}" for port in unit.outputs)
    lines += [f"  assign ok = {_outside(ports)} || ({same});", "endmodule", ""]
    files = {"mutants.il": level.rtlil, "compare.v": "\n".join(lines)}
    return run(_COMPARE, files, EQUIVALENCE_SECONDS)


def _outside(ports: tuple[Port, ...]) -> str:
    """The condition that an extra bias is none that the unit takes."""
    low, high = HFP8_BIASES.start, HFP8_BIASES.stop - 1
    biases = [port.name for port in ports if port.name.endswith("_bias")]
    return " || ".join(["1'b0", *(f"$signed({name}) < {low} || $signed({name}) > {high}" for name in biases)])
