"""Proofs by cones of logic: lemmas about the logic between cut points of a netlist.

A cut point is a net inside the circuit, such as `place.product0_placed`. A lemma may read only nets whose values
earlier lemmas determine. A lemma may assume only conditions that earlier lemmas prove. Together, the lemmas determine
the outputs.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fp9.units import Unit
from fp9_rtl.tools.yosys import run_yosys
from fp9_sim.netlists.graphs.between import nets_of
from fp9_sim.netlists.graphs.tied import TIED, tied
from fp9_sim.netlists.solvers.diagrams import by_diagrams
from fp9_sim.netlists.solvers.hard import perhaps_hard
from fp9_sim.netlists.solvers.solver import TOP, Obligation
from fp9_sim.proofs.miter import Case
from fp9_sim.proofs.parts import Bits, Lemma, PartCase, fields_of, in_words, present, word

_FLATTEN = """\
read_verilog -sv {files}
hierarchy -check -top {top}
proc
flatten
async2sync
opt -nodffe -nosdff
write_json unit.json
"""
# `opt` also replaces registers that always hold a constant, such as the registers of a handshake that is tied to 1.

_BACK = """\
read_json gates.json
opt_clean
write_verilog -noattr gates.v
"""

HELD, NEXT = "register.held", "register.next"
"""Names of a register's current and next value, if only one register depends on itself.

If several registers depend on themselves, the names contain the net: `chunk_count.held` is the value of `chunk.count`.
"""

_HELD, _NEXT = ".held", ".next"

_GATES = "gates"


@dataclass(frozen=True)
class ConeLemma(Lemma):
    """A lemma about a cone of logic."""

    # If `at` is not empty, binary decision diagrams (BDDs) decide the lemma. `at` maps a net to the position of the
    # net's lowest bit in the variable order.
    at: Mapping[str, int] = field(default_factory=dict)


def cone(lemma: Lemma, **changed: Any) -> ConeLemma:
    fields = {field.name: getattr(lemma, field.name) for field in dataclasses.fields(lemma)}
    return ConeLemma(**fields | changed)


def oblige_cone(unit: Unit, lemmas: Sequence[ConeLemma], verilog: str, case: Case, specification: str) -> Obligation:
    assert isinstance(case, PartCase)
    assert isinstance(case.lemma, ConeLemma)
    circuit = flattened(unit, verilog)
    # The lemmas must determine every output, and earlier lemmas must prove every assumption of a lemma.
    circuit.check(lemmas)
    text = present(specification, circuit.nets, {})
    by = by_diagrams if case.lemma.at else perhaps_hard
    return by(*circuit.obligation(tuple(case.lemma.says), text, case.lemma.at, case.fixed))


@dataclass(frozen=True)
class Circuit:
    """The flattened gates of a unit. Bits are Yosys' net numbers."""

    unit: Unit
    nets: Mapping[str, Bits]
    outputs: Mapping[str, Bits]
    cells: Mapping[str, dict[str, Any]]

    @functools.cached_property
    def _drivers(self) -> Mapping[int, str]:
        return {bit: key for key, cell in self.cells.items() for bit in nets_of(cell, "output")}

    def check(self, lemmas: Sequence[ConeLemma]) -> None:
        """Raise ValueError for an output that no lemma determines, and for a lemma with an unproven assumption."""
        said = {name for name in self.nets if name.endswith(_HELD)}
        given: set[str] = set()
        for lemma in lemmas:
            if missing := lemma.at.keys() - self.nets.keys():
                raise self._error(f"its Verilog has no net {min(missing)}")
            rests = fields_of(lemma.text) - said - lemma.says.keys()
            rests |= {text for text in lemma.assumes if text not in given}
            if rests:
                raise self._error(f"lemma {lemma.name} assumes {min(rests)}, which no earlier lemma proves")
            said |= lemma.says.keys()
            given |= set(lemma.gives)
        if unsaid := (self.outputs.keys() | {name for name in self.nets if name.endswith(_NEXT)}) - said:
            raise self._error(f"no lemma determines {min(unsaid)}")

    def obligation(
        self, says: Sequence[str], text: str, at: Mapping[str, int], fixed: Mapping[str, int] = MappingProxyType({})
    ) -> tuple[str, str]:
        """Return two Verilog modules: gates that drive the lemma's nets, and a proof module that contains `text`."""
        words = set(re.findall(r"(?<!')\b[a-z][\w.]*", text))
        shown = {name: bits for name, bits in {**self.nets, **self.outputs}.items() if name in says}
        ports = {port.name: self.nets[port.name] for port in self.unit.inputs}
        named = {name: bits for name, bits in self.nets.items() if name in words - shown.keys()}
        at = {word(name): place for name, place in at.items()}
        free, known = _told_apart(named | ports)
        shown |= {name: bits for name, bits in known.items() if name in words}
        gates = self._gates(free, shown, words)
        declared, ordered = [], []
        for name, port in gates["ports"].items():
            bits, first = len(port["bits"]), at.get(name, 0)
            of = f"{bits}'d{fixed[name]}" if name in fixed else f"at_{name}" if first else name
            ordered += [f"  wire {_range(bits, 0)}{name} = {of};"] if of != name else []
            if name not in fixed:
                declared.append(f"  {port['direction']} {_range(bits, first)}{of}")
        pins = ", ".join(f".{name}({name})" for name in gates["ports"])
        head = [
            f"module {TOP} (",
            ",\n".join([*declared, "  output ok"]),
            ");",
            *ordered,
            f"  {_GATES} gates ({pins});",
        ]
        return _verilog(json.dumps(gates)), "\n".join([*head, in_words(text), "endmodule", ""])

    def _gates(self, free: Mapping[str, Bits], shown: Mapping[str, Bits], words: set[str]) -> dict[str, Any]:
        first = 1 + max(bit for cell in self.cells.values() for bit in nets_of(cell, "input", "output"))
        cut: dict[int | str, int] = {}
        for bits in free.values():
            cut |= {bit: first + len(cut) + i for i, bit in enumerate(bits)}
        cells: dict[str, dict[str, Any]] = {}
        read = {bit for bits in shown.values() for bit in bits}
        waiting = list(read)
        while waiting:
            bit = waiting.pop()
            key = None if bit in cut or isinstance(bit, str) else self._drivers.get(bit)
            if key is not None and key not in cells:
                cells[key] = _reading(self.cells[key], cut)
                read.update(nets_of(self.cells[key], "input"))
                waiting += nets_of(self.cells[key], "input")
        ports = {
            word(name): {"direction": "input", "bits": [cut[bit] for bit in bits]}
            for name, bits in free.items()
            if name in words or read & set(bits)
        }
        for name, bits in shown.items():
            ports[word(name)] = {"direction": "output", "bits": [cut.get(bit, bit) for bit in bits]}
        return {"attributes": {}, "ports": ports, "cells": cells, "netnames": {}}

    def _error(self, what: str) -> ValueError:
        return ValueError(f"{self.unit.name}: no proof by parts: {what}")


def _told_apart(nets: Mapping[str, Bits]) -> tuple[dict[str, Bits], dict[str, Bits]]:
    free: dict[str, Bits] = {}
    known: dict[str, Bits] = {}
    found: set[int | str] = set("01x")
    for name, bits in sorted(nets.items(), key=lambda item: -len(item[1])):
        if found >= set(bits):
            known[name] = bits
        elif found & set(bits) - set("01x"):
            raise ValueError(f"no proof by parts: {name} has bits of another net and bits of its own")
        else:
            free[name] = bits
            found |= set(bits)
    return free, known


def _reading(cell: Mapping[str, Any], cut: Mapping[int | str, int]) -> dict[str, Any]:
    pins = {
        pin: [cut.get(bit, bit) for bit in bits] if cell["port_directions"][pin] == "input" else bits
        for pin, bits in cell["connections"].items()
    }
    return {**cell, "connections": pins}


def _range(bits: int, first: int) -> str:
    return f"[{first + bits - 1}:{first}] " if bits > 1 or first else ""


@functools.lru_cache(maxsize=256)
def _verilog(gates: str) -> str:
    with tempfile.TemporaryDirectory(prefix="fp9-cones-") as name:
        folder = Path(name)
        design = {"modules": {_GATES: json.loads(gates)}}
        (folder / "gates.json").write_text(json.dumps(design))
        run_yosys(_BACK, folder)
        return (folder / "gates.v").read_text()


@functools.lru_cache(maxsize=4)
def flattened(unit: Unit, verilog: str) -> Circuit:
    """Return the gates of a unit's Verilog, and the nets of each computation step."""
    with tempfile.TemporaryDirectory(prefix="fp9-cones-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        files, top = "unit.v", unit.name
        # Wires replace pipeline registers. The current value of a state register becomes an input.
        if unit.stages:
            (folder / "tied.v").write_text(tied(unit, clocked=True))
            files, top = "unit.v tied.v", TIED
        run_yosys(_FLATTEN.format(files=files, top=top), folder)
        module = json.loads((folder / "unit.json").read_text())["modules"][top]
    ports = {
        direction: {
            port: tuple(content["bits"])
            for port, content in module["ports"].items()
            if content["direction"] == direction
        }
        for direction in ("input", "output")
    }
    steps = {_step(name): tuple(net["bits"]) for name, net in module["netnames"].items() if "u_" in name}
    cells, registers = _without_registers(module["cells"])
    return Circuit(unit, ports["input"] | steps | _named(registers, steps), ports["output"], cells)


def _step(name: str) -> str:
    *steps, net = name.split(".")
    return f"{steps[-1].removeprefix('u_')}.{net}"


def _without_registers(
    cells: Mapping[str, dict[str, Any]],
) -> tuple[dict[str, dict[str, Any]], dict[str, tuple[Bits, Bits]]]:
    # Wires replace all registers except those whose next value depends on their current value.
    wired = {key: _wire(cell) if cell["type"] == "$dff" else cell for key, cell in cells.items()}
    loops = [key for key, cell in cells.items() if cell["type"] == "$dff" and _reads_itself(wired, key)]
    pins = {key: wired.pop(key)["connections"] for key in loops}
    return wired, {key: (tuple(of["Y"]), tuple(of["A"])) for key, of in pins.items()}


def _named(registers: Mapping[str, tuple[Bits, Bits]], steps: Mapping[str, Bits]) -> dict[str, Bits]:
    named: dict[str, Bits] = {}
    for cell, (held, taken) in registers.items():
        step = cell.split(".")[-2].removeprefix("\\u_")
        own = min((name for name, bits in steps.items() if bits == held and name.split(".")[0] == step), default=None)
        if len(registers) > 1 and own is None:
            raise ValueError(f"no proof by parts: {len(registers)} registers read themselves, one outside of the steps")
        name = "register" if len(registers) == 1 or own is None else word(own)
        named |= {name + _HELD: held, name + _NEXT: taken}
    return named


def _wire(register: Mapping[str, Any]) -> dict[str, Any]:
    width = len(register["connections"]["Q"])
    return {
        "type": "$pos",
        "parameters": {"A_SIGNED": 0, "A_WIDTH": width, "Y_WIDTH": width},
        "attributes": {},
        "port_directions": {"A": "input", "Y": "output"},
        "connections": {"A": register["connections"]["D"], "Y": register["connections"]["Q"]},
    }


def _reads_itself(cells: Mapping[str, dict[str, Any]], register: str) -> bool:
    drivers = {bit: key for key, cell in cells.items() for bit in nets_of(cell, "output")}
    met: set[str] = set()
    waiting = list(nets_of(cells[register], "input"))
    while waiting:
        key = drivers.get(waiting.pop())
        if key == register:
            return True
        if key is not None and key not in met:
            met.add(key)
            waiting += nets_of(cells[key], "input")
    return False
