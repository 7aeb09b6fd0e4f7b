"""Trivial expressions, wrappers and repeated names do not reach the text, and folding keeps a circuit's function."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rtl.export.texts import catalogue, text_of

from fp9.units import Unit
from fp9_rtl.export.text.circuits.circuit import Bit, Bits, Cell, Circuit, Port
from fp9_rtl.export.text.circuits.folding import fold
from fp9_rtl.export.text.hierarchy import without_wrappers

INPUTS = tuple(range(4))
TRIVIAL = (
    re.compile(r"[&|^] 1'b[01]\b|1'b[01] [&|^?]"),
    re.compile(r"\? (\w+) : \1\b(?!\[)"),
    re.compile(r"(?<![\w&^] )\b(\w+) ([|&]) (?:\w+ \2 )*\1\b(?![\[\w])"),
    re.compile(r"[+-] \d+'[dhb]0\b"),
    re.compile(r"\? 1'b(?:0 : 1'b1|1 : 1'b0)\b"),
    re.compile(r"\((\w+) >= (\S+)\) & \(\1 <= \2\)"),
)
_MODULE = re.compile(r"^module (\w+)\(", re.MULTILINE)


@catalogue
def test_the_text_has_no_trivial_expression(unit: Unit) -> None:
    code = [line.partition("//")[0] for line in text_of(unit).splitlines()]
    code = [line for line in code if "unused" not in line]
    assert [line for line in code for found in TRIVIAL if found.search(line)] == []


@catalogue
def test_names_of_modules_do_not_repeat_a_word(unit: Unit) -> None:
    words = [name.removeprefix(unit.name).split("_") for name in _MODULE.findall(text_of(unit))]
    assert [w for w in words if any(a == b and not a.isdigit() for a, b in itertools.pairwise(w))] == []


@catalogue
def test_names_of_signals_do_not_repeat_a_word(unit: Unit) -> None:
    assert re.findall(r"\b\w*?(?:\b|_)([a-z]{3,})_\1_\w*", text_of(unit)) == []


@catalogue
def test_no_module_holds_one_instance_of_its_own_name_and_nothing_else(unit: Unit) -> None:
    bodies = re.findall(r"^module (\w+)\(.*?\);\n(.*?)^endmodule", text_of(unit), re.MULTILINE | re.DOTALL)
    instances = [(name, re.fullmatch(r"\s*\w+ u_(\w+) \([^;]*\);\s*", body)) for name, body in bodies]
    assert [name for name, alone in instances if alone and name.endswith(f"{unit.name}_{alone[1]}")] == []


def _bit(known: Sequence[Bit]) -> st.SearchStrategy[Bit]:
    return st.sampled_from([*known, "0", "1"])


@st.composite
def circuits(draw: st.DrawFn) -> Circuit:
    """Circuits of some cells on four inputs, with constants among the operands."""
    known: list[Bit] = [*INPUTS]
    cells: list[Cell] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(sorted(VALUES)))
        width = draw(st.integers(1, 2)) if kind in ("$and", "$or", "$xor", "$not", "$mux", "$pmux") else 1
        widths = {
            "$not": {"A": width},
            "$mux": {"A": width, "B": width, "S": 1},
            "$pmux": {"A": width, "B": 2 * width, "S": 2},
        }.get(kind, {"A": width, "B": width})
        if kind.startswith("$reduce") or kind == "$is_zero":
            widths = {"A": 3}
        elif kind in ("$lt", "$le", "$gt", "$ge", "$eq"):
            widths = {"A": 3, "B": 3}
        inputs = {port: tuple(draw(_bit(known)) for _ in range(count)) for port, count in widths.items()}
        first = 10 + 2 * len(cells)
        output = tuple(range(first, first + width))
        cells.append(Cell(kind, inputs, output, ()))
        known += output
    result = tuple(draw(st.sampled_from(known)) for _ in range(3))
    return Circuit(cells, [], [Port("x", True, INPUTS), Port("y", False, result)])


def _number(bits: Sequence[int]) -> int:
    return sum(bit << i for i, bit in enumerate(bits))


def _each(operation: Callable[[int, int], int]) -> Callable[[dict[str, list[int]]], list[int]]:
    return lambda p: [operation(a, b) for a, b in zip(p["A"], p["B"], strict=True)]


def _pmux(pins: dict[str, list[int]]) -> list[int]:
    width = len(pins["A"])
    for i, selected in enumerate(pins["S"]):
        if selected:
            return pins["B"][i * width : (i + 1) * width]
    return pins["A"]


VALUES: dict[str, Callable[[dict[str, list[int]]], list[int]]] = {
    "$and": _each(lambda a, b: a & b),
    "$or": _each(lambda a, b: a | b),
    "$xor": _each(lambda a, b: a ^ b),
    "$not": lambda p: [1 - bit for bit in p["A"]],
    "$mux": lambda p: p["B"] if p["S"][0] else p["A"],
    "$pmux": _pmux,
    "$reduce_or": lambda p: [int(any(p["A"]))],
    "$reduce_and": lambda p: [int(all(p["A"]))],
    "$is_zero": lambda p: [int(not any(p["A"]))],
    "$lt": lambda p: [int(_number(p["A"]) < _number(p["B"]))],
    "$le": lambda p: [int(_number(p["A"]) <= _number(p["B"]))],
    "$gt": lambda p: [int(_number(p["A"]) > _number(p["B"]))],
    "$ge": lambda p: [int(_number(p["A"]) >= _number(p["B"]))],
    "$eq": lambda p: [int(p["A"] == p["B"])],
}


def _table(circuit: Circuit) -> list[list[int]]:
    """The outputs of a circuit for every input."""
    rows = []
    for word in range(1 << len(INPUTS)):
        values: dict[Bit, int] = {"0": 0, "1": 1, **{i: word >> i & 1 for i in INPUTS}}

        def read(bits: Bits, values: dict[Bit, int] = values) -> list[int]:
            return [values[bit] for bit in bits]

        for cell in circuit.cells:
            pins = {port: read(bits) for port, bits in cell.inputs.items()}
            values.update(zip(cell.output, VALUES[cell.kind](pins), strict=True))
        rows.append([bit for port in circuit.ports if not port.is_input for bit in read(port.bits)])
    return rows


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no limit on a loaded machine
@given(circuits())
def test_folding_keeps_the_function_of_a_circuit(circuit: Circuit) -> None:
    folded = copy.deepcopy(circuit)
    fold(folded)
    assert _table(folded) == _table(circuit)


@pytest.mark.parametrize(
    ("kind", "inputs", "value"),
    [
        ("$and", {"A": (0,), "B": ("0",)}, "0"),
        ("$or", {"A": ("0",), "B": (0,)}, 0),
        ("$xor", {"A": (0,), "B": (0,)}, "0"),
        ("$mux", {"A": (0,), "B": (0,), "S": (1,)}, 0),
        ("$mux", {"A": (0,), "B": (1,), "S": ("1",)}, 1),
        ("$mux", {"A": ("0",), "B": ("1",), "S": (1,)}, 1),
        ("$sub", {"A": (0,), "B": ("0",)}, 0),
        ("$reduce_or", {"A": ("0", 2, "0")}, 2),
        ("$ge", {"A": (0, "0", "0"), "B": ("1", "0", "0")}, 0),
        ("$ge", {"A": (0, "0", "0"), "B": ("0", "1", "0")}, "0"),
    ],
)
def test_a_trivial_cell_is_its_value(kind: str, inputs: dict[str, Bits], value: Bit) -> None:
    circuit = Circuit([Cell(kind, inputs, (10,), ())], [], [Port("x", True, INPUTS), Port("y", False, (10,))])
    fold(circuit)
    assert not circuit.cells
    assert circuit.ports[1].bits == (value,)


def test_a_choice_of_0_and_1_is_an_inversion() -> None:
    circuit = Circuit([Cell("$mux", {"A": ("1",), "B": ("0",), "S": (1,)}, (10,), ())], [], [Port("y", False, (10,))])
    fold(circuit)
    assert [(cell.kind, cell.inputs) for cell in circuit.cells] == [("$not", {"A": (1,)})]


def test_a_choice_that_gives_the_default_is_left_out() -> None:
    """`x == 1 ? 0 : x == 0 ? 1 : 0` is `x == 0`."""
    word = INPUTS[:2]
    labels = [Cell("$eq", {"A": word, "B": ("1", "0")}, (10,), ()), Cell("$is_zero", {"A": word}, (11,), ())]
    choice = Cell("$pmux", {"A": ("0",), "B": ("0", "1"), "S": (10, 11)}, (12,), ())
    circuit = Circuit([*labels, choice], [], [Port("x", True, INPUTS), Port("y", False, (12,))])
    fold(circuit)
    assert circuit.ports[1].bits == (11,)


def test_a_range_of_one_number_is_an_equality() -> None:
    number = {"A": INPUTS[:3], "B": ("1", "0", "1")}
    bounds = [Cell("$ge", number, (10,), ()), Cell("$le", number, (11,), ())]
    both = Cell("$and", {"A": (10,), "B": (11,)}, (12,), ())
    circuit = Circuit([*bounds, both], [], [Port("x", True, INPUTS), Port("y", False, (12,))])
    fold(circuit)
    assert [(cell.kind, cell.inputs) for cell in circuit.cells if cell.output == (12,)] == [("$eq", number)]


def test_an_operand_that_an_or_already_has_is_read_once() -> None:
    """`tail | sticky | tail` is `tail | sticky`."""
    cells = [Cell("$or", {"A": (0,), "B": (1,)}, (10,), ()), Cell("$or", {"A": (10,), "B": (0,)}, (11,), ())]
    circuit = Circuit(cells, [], [Port("x", True, INPUTS), Port("y", False, (11,))])
    fold(circuit)
    assert [cell.output for cell in circuit.cells] == [(10,)]
    assert circuit.ports[1].bits == (10,)


def test_a_wrapper_of_one_module_of_its_own_name_is_left_out() -> None:
    cells = [
        Cell("$not", {"A": (0,)}, (10,), ("align", "align")),
        Cell("$not", {"A": (10,)}, (11,), ("decode", "decode_a")),
        Cell("$not", {"A": (11,)}, (12,), ("decode", "decode_b")),
    ]
    circuit = Circuit(cells, [], [Port("x", True, INPUTS), Port("y", False, (12,))])
    shorter, docs = without_wrappers(circuit, {("align",): "", ("align", "align"): "Align two terms."})
    assert [cell.path for cell in shorter.cells] == [("align",), ("decode", "decode_a"), ("decode", "decode_b")]
    assert docs == {("align",): "Align two terms."}
