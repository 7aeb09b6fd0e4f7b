"""Proofs in parts: each lemma specifies some computation steps of a unit's Verilog.

A lemma refers to ports of the unit, and to nets between computation steps, such as `align.product0`. A lemma covers a
group of steps, and nets that enter the group become free inputs, which can have any value. `Netlist.check` verifies
that

- each step belongs to one group,
- an earlier lemma determines each net that a group reads from another group,
- an earlier lemma proves each assumption, and
- the lemmas determine each output.
"""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fp9.units import Unit
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.graphs.between import ENTER, LEAVE
from fp9_sim.netlists.graphs.function import function
from fp9_sim.netlists.solvers.alike import alike
from fp9_sim.netlists.solvers.diagrams import by_diagrams
from fp9_sim.netlists.solvers.solver import TOP, Obligation, combinational
from fp9_sim.proofs.miter import Case

_FIELD = re.compile(r"\b[a-z]\w*\.\w+\b")

Bits = tuple[int | str, ...]

_HIERARCHY = "read_verilog -sv unit.v\nhierarchy -check -top {name}\nproc\nwrite_json unit.json\n"


@dataclass(frozen=True)
class Lemma:
    """Statement about some computation steps.

    The statement must hold for all inputs that satisfy the conditions `assumes`.
    """

    name: str
    steps: tuple[str, ...]
    lines: tuple[str, ...]
    # The keys are the nets that the lemma determines, and the values are Verilog conditions on these nets.
    says: Mapping[str, str]
    # Replacing the first text by the second adds a deliberate error to the specification, which the solver must refute.
    control: tuple[str, str]
    assumes: tuple[str, ...] = ()
    # Further conditions that later lemmas may assume.
    gives: tuple[str, ...] = ()
    # For proofs by binary decision diagrams: the net of each term in a long sum, and the net of the term's sign.
    adds: Mapping[str, str] = field(default_factory=dict)
    alike: bool = False

    @property
    def text(self) -> str:
        right = " && ".join(f"({condition})" for condition in (*self.says.values(), *self.gives))
        wrong = "".join(f"!({condition}) || " for condition in self.assumes)
        # The wire `ok` is 1 if the lemma holds.
        return "\n".join([*self.lines, f"  assign ok = {wrong}({right});"])

    @property
    def broken(self) -> str:
        found, error = self.control
        if self.text.count(found) == 0:
            raise ValueError(f"lemma {self.name}: its control changes {found}, which the lemma does not state")
        return self.text.replace(found, error, 1)


@dataclass(frozen=True)
class PartCase(Case):
    lemma: Lemma


def part_cases(lemmas: Iterable[Lemma], fixed: Mapping[str, int] = MappingProxyType({})) -> tuple[PartCase, ...]:
    return tuple(PartCase(lemma.name, fixed, lemma.text, lemma.broken, lemma) for lemma in lemmas)


def oblige_part(
    unit: Unit, lemmas: Sequence[Lemma], instead: Mapping[str, str], verilog: str, case: Case, specification: str
) -> Obligation:
    assert isinstance(case, PartCase)
    steps = dict.fromkeys(step for lemma in lemmas for step in lemma.steps if step not in (ENTER, LEAVE))
    # Pipeline registers are read as wires.
    verilog = function(unit, verilog, tuple(steps))
    netlist = dismantled(unit, verilog)
    netlist.check(lemmas)
    by = by_diagrams if case.lemma.adds else alike if case.lemma.alike else combinational
    adds = {term: netlist.present(sign, instead) for term, sign in case.lemma.adds.items()}
    return by(verilog, netlist.proof(case.lemma.steps, netlist.present(specification, instead), adds))


@dataclass(frozen=True)
class Netlist:
    """The computation steps of a unit and their input and output nets. Bits are Yosys' net numbers."""

    unit: Unit
    drives: Mapping[str, Bits]
    outputs: Mapping[str, Bits]
    pins: Mapping[str, Mapping[str, Bits]]
    gives: Mapping[str, Mapping[str, Bits]]
    modules: Mapping[str, str]

    def present(self, text: str, instead: Mapping[str, str]) -> str:
        return present(text, self.drives, instead)

    def check(self, lemmas: Sequence[Lemma]) -> None:
        groups = list(dict.fromkeys(lemma.steps for lemma in lemmas))
        if sorted(step for group in groups for step in group) != sorted(self.modules):
            raise self._error(f"the steps of its Verilog are {', '.join(self.modules)}, not those of the lemmas")
        said: set[str] = set()
        given: set[str] = set()
        for group in groups:
            own = [lemma for lemma in lemmas if lemma.steps == group]
            shown = said | {name for lemma in own for name in lemma.says}
            for lemma in own:
                rests = {name for name in fields_of(lemma.text) if name not in shown}
                rests |= {text for text in lemma.assumes if text not in given}
                if rests:
                    raise self._error(f"lemma {lemma.name} assumes {min(rests)}, which no earlier lemma proves")
            said = shown
            given |= {text for lemma in own for text in lemma.gives}
        if unsaid := self.outputs.keys() - said:
            raise self._error(f"no lemma determines {min(unsaid)}")

    def proof(self, steps: Sequence[str], text: str, adds: Mapping[str, str]) -> str:
        shown = {name: bits for name, bits in self.drives.items() if name.split(".")[0] in steps}
        words = set(re.findall(r"(?<!')\b[\w.]+", text))
        outputs = {name: bits for name, bits in self.outputs.items() if name in words}
        read = {bit for step in steps for bits in self.pins[step].values() for bit in bits}
        read |= {bit for bits in outputs.values() for bit in bits}
        free = {n: bits for n, bits in self.drives.items() if n not in shown and (read & set(bits) or n in words)}
        spelled = {
            bit: f"{word(name)}[{i}]" if len(bits) > 1 else word(name)
            for name, bits in {**free, **shown}.items()
            for i, bit in enumerate(bits)
        }
        ports = [f"  input {declared(f'of_{name}' if name in adds else name, bits)}" for name, bits in free.items()]
        ports += [f"  output {declared(name, bits)}" for name, bits in {**shown, **outputs}.items()]
        lines = [f"module {TOP} (", ",\n".join([*ports, "  output ok"]), ");"]
        for term, sign in adds.items():
            signs = f"{{{len(free[term])}{{{in_words(sign)}}}}}"
            lines.append(f"  wire {declared(term, free[term])} = of_{word(term)} ^ {signs};")
        for step in steps:
            into = {pin: concatenated(bits, spelled) for pin, bits in self.pins[step].items()}
            out = {pin: concatenated(bits, spelled) for pin, bits in self.gives[step].items()}
            pins = ", ".join(f".{pin}({value})" for pin, value in {**into, **out}.items())
            lines.append(f"  {self.modules[step]} u_{step} ({pins});")
        lines += [f"  assign {name} = {concatenated(bits, spelled)};" for name, bits in outputs.items()]
        return "\n".join([*lines, in_words(text), "endmodule", ""])

    def _error(self, what: str) -> ValueError:
        return ValueError(f"{self.unit.name}: no proof by parts: {what}")


def present(text: str, nets: Container[str], instead: Mapping[str, str]) -> str:
    def resolved(match: re.Match[str]) -> str:
        name = match[0]
        while name not in nets and name in instead:
            name = instead[name]
        return name if name.split("[")[0] in nets else "1'b0"

    return _FIELD.sub(resolved, text)


def in_words(text: str) -> str:
    return _FIELD.sub(lambda match: word(match[0]), text)


def fields_of(text: str) -> set[str]:
    return {match[0] for match in _FIELD.finditer(text)}


def word(name: str) -> str:
    return name.replace(".", "_")


def declared(name: str, bits: Bits) -> str:
    return f"[{len(bits) - 1}:0] {word(name)}" if len(bits) > 1 else word(name)


def concatenated(bits: Bits, spelled: Mapping[int | str, str]) -> str:
    words = [spelled.get(bit, f"1'b{bit}") for bit in reversed(bits)]
    return f"{{{', '.join(words)}}}"


@functools.lru_cache(maxsize=4)
def dismantled(unit: Unit, verilog: str) -> Netlist:
    with tempfile.TemporaryDirectory(prefix="fp9-parts-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        run_yosys(_HIERARCHY.format(name=unit.name), folder)
        modules = json.loads((folder / "unit.json").read_text())["modules"]
    top = modules[unit.name]
    steps = {cell.split(".")[-1].removeprefix("u_"): content for cell, content in top["cells"].items()}
    gates = sorted(step for step, cell in steps.items() if cell["type"] not in modules)
    if gates:
        raise ValueError(f"{unit.name}: no proof by parts: its Verilog is not a chain of steps")

    def pins(cell: Mapping[str, Any], direction: str) -> dict[str, Bits]:
        ports = modules[cell["type"]]["ports"]
        return {pin: tuple(bits) for pin, bits in cell["connections"].items() if ports[pin]["direction"] == direction}

    gives = {step: pins(cell, "output") for step, cell in steps.items()}
    ports = {
        direction: {
            port: tuple(content["bits"]) for port, content in top["ports"].items() if content["direction"] == direction
        }
        for direction in ("input", "output")
    }
    fields = {f"{step}.{pin}": bits for step, outputs in gives.items() for pin, bits in outputs.items()}
    into = {step: pins(cell, "input") for step, cell in steps.items()}
    types = {step: cell["type"] for step, cell in steps.items()}
    return Netlist(unit, ports["input"] | fields, ports["output"], into, gives, types)
