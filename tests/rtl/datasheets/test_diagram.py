"""Block diagrams: their boxes are the modules of the Verilog, their arrows its nets."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

import pytest
from tests.support.rosters import every_circuit

from fp9.units import CATALOGUE, Unit
from fp9_rtl.datasheets.diagram import flowchart
from fp9_rtl.export.text.circuits.circuit import Cell, Circuit, Path, Port
from fp9_rtl.export.text.equal_modules import Edge, Steps, steps
from fp9_rtl.export.text.hierarchy import parts
from fp9_rtl.export.verilog import unit_steps, verilog

with_units = pytest.mark.parametrize("unit", every_circuit())

Chain = tuple[str, ...]
"""Modules that hold one another, the top one's first."""


def _modules(unit: Unit) -> dict[str, str]:
    return {text.split("(")[0].strip(): text for text in re.split(r"^module ", verilog(unit), flags=re.MULTILINE)[1:]}


def _instances(modules: dict[str, str], chain: Chain) -> Counter[Chain]:
    """Every module below one, as often as the Verilog instantiates it."""
    found = Counter({chain: 1})
    for inner in re.findall(r"^ +(\w+) \w+ *\(", modules[chain[-1]], re.MULTILINE):
        if inner in modules:
            found += _instances(modules, (*chain, inner))
    return found


def _prefixes(path: Path) -> list[Path]:
    return [path[:depth] for depth in range(1, len(path) + 1)]


@with_units
def test_the_steps_are_the_modules_of_the_verilog(unit: Unit) -> None:
    found = {step.path: step for step in unit_steps(unit).steps}
    counted = Counter[Chain]({(unit.name,): 1})
    for path in filter(None, found):
        holding = [found[prefix] for prefix in _prefixes(path)]
        counted[unit.name, *(step.module for step in holding)] += math.prod(len(step.names) for step in holding)
    assert counted == _instances(_modules(unit), (unit.name,))


@with_units
def test_steps_keep_what_the_registers_of_their_modules_keep(unit: Unit) -> None:
    modules = _modules(unit)
    for step in unit_steps(unit).steps:
        text = modules[step.module]
        declared = re.findall(r"\breg (?:signed )?(?:\[(\d+):0\] )?(\w+)", text)
        widths = {name: int(high or 0) + 1 for high, name in declared}
        clocked = set(re.findall(r"^ +(\w+)(?:\[[\d:]+\])? <=\s", text, re.MULTILINE))
        assert step.kept == sum(widths[name] for name in clocked), step.path


@with_units
def test_a_diagram_has_a_box_for_every_step_and_port_and_its_arrows_end_at_boxes(unit: Unit) -> None:
    found = unit_steps(unit)
    drawn = flowchart(unit, found)
    boxes = re.findall(r"^ *(\w+)\(?\[", drawn, re.MULTILINE)
    frames = re.findall(r"^ *subgraph in_(\w+)\[", drawn, re.MULTILINE)
    names = ["_".join(("step", *step.path)) for step in found.steps]
    assert sorted({*frames, *(box for box in boxes if box.startswith("step"))}) == sorted(names)
    assert len(set(boxes)) == len(boxes) and drawn.count("\n") > len(boxes)
    arrows = re.findall(r"^  (\w+) -->\|(\d+)\| (\w+)$", drawn, re.MULTILINE)
    ends = {end for source, _, target in arrows for end in (source, target)}
    assert {box for box in boxes if box.startswith("step")} <= ends <= set(boxes)
    assert len({(source, target) for source, _, target in arrows}) == len(arrows)
    ports = [line for box in re.findall(r'\(\["(.*)"\]\)', drawn) for line in box.split("<br>")]
    shown = {name for line in ports for name in _spelt_out(line)}
    assert shown == {port.name for port in (*unit.inputs, *unit.outputs)}


def _spelt_out(line: str) -> list[str]:
    """`a0 to a3` as four names."""
    first, _, last = line.partition(" to ")
    if not last:
        return [first]
    stem = first.rstrip("0123456789")
    return [f"{stem}{i}" for i in range(int(first[len(stem) :]), int(last[len(stem) :]) + 1)]


def test_the_way_of_a_multiply_add() -> None:
    unit = CATALOGUE["fma_fp32"]
    bits = {(edge.source, edge.target): edge.bits for edge in unit_steps(unit).edges}
    way = [("decode", "decode_a"), ("multiply",), ("align",), ("add",), ("normalise",), ("round",)]
    assert all(ends in bits for ends in itertools.pairwise(way))
    widths = {port.name: port.width for port in unit.inputs}
    decoded = ("a", "a_format", "b", "b_format")
    assert sum(bits[name, way[0]] for name in decoded) == sum(widths[name] for name in decoded)
    assert (bits["c", ("align",)], bits[("round",), "result"]) == (32, 32)
    drawn = flowchart(unit, unit_steps(unit))
    assert 'step_decode_decode_a["decode x 2"]' in drawn and "step_normalise -->|" in drawn


def _inverters(places: dict[Path, tuple[int, int]], outputs: dict[str, int]) -> Steps:
    """The steps of a circuit of inverters, each in a module of its own, all modules equal."""
    cells = [Cell("$not", {"A": (a,)}, (y,), path) for path, (a, y) in places.items()]
    ports = [Port("x", True, (1, 2)), *(Port(name, False, (bit,)) for name, bit in outputs.items())]
    circuit = Circuit(cells, [], ports)
    top = parts(circuit, ())
    return steps(circuit, top, {part.path: "_".join(("inverter", str(len(part.path)))) for part in top.walk()})


def test_equal_modules_side_by_side_are_one_step() -> None:
    found = _inverters({("lane0", "part"): (1, 3), ("lane1", "part"): (2, 4)}, {"y": 3, "z": 4})
    assert [(step.path, step.names, step.computes) for step in found.steps] == [
        (("lane0",), ("lane0", "lane1"), False),
        (("lane0", "part"), ("part",), True),
    ]
    lane = ("lane0", "part")
    assert set(found.edges) == {Edge("x", lane, 2), Edge(lane, "y", 1), Edge(lane, "z", 1)}


def test_equal_modules_one_behind_the_other_are_two_steps() -> None:
    found = _inverters({("first",): (1, 3), ("second",): (3, 4)}, {"y": 4})
    assert [step.names for step in found.steps] == [("first",), ("second",)]
    assert Edge(("first",), ("second",), 1) in found.edges
    assert Steps.from_dict(found.to_dict()) == found
