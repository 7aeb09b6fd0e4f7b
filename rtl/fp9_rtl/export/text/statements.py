"""Write the statements of a module: values in dependency order, instances and registers."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fp9_rtl.export.text import source
from fp9_rtl.export.text.circuits.circuit import Bits, Cell
from fp9_rtl.export.text.dialect import Dialect
from fp9_rtl.export.text.expressions import INDENT, WIDTH, Atom, Concatenation, Expression, Unary, constant
from fp9_rtl.export.text.module import Module, members
from fp9_rtl.export.text.signals import Signal
from fp9_rtl.tools.order import dependencies_first


@dataclass
class Definition:
    """The definition of a signal in Verilog."""

    signal: Signal
    cells: list[Cell]
    text: list[str]
    reads: set[int]
    comment: str | None  # from the Python source


def body(module: Module, dialect: Dialect) -> list[str]:
    definitions = _acyclic(module, dialect)
    instances = [line for name in module.children for line in _instance(module, name)]
    registers = _registers(module, dialect)
    ordered = _ordered(definitions)
    early = _declared_first(module, ordered)
    lines = [f"{INDENT}{dialect.value(signal)};" for signal in early]
    declared = {id(signal) for signal in early}
    for definition in ordered:
        declares = definition.signal.kind == "value" and id(definition.signal) not in declared
        lines += _written(definition, dialect.defined(definition.signal) if declares else "")
    groups = (lines, instances, registers, _unused(module, dialect))
    return [line for group in groups if group for line in ("", *group)]


def _acyclic(module: Module, dialect: Dialect) -> list[Definition]:
    # Each signal that holds several values and depends on itself is divided into one signal for each value.
    while True:
        definitions = _definitions(module, dialect)
        loops = _loops(definitions)
        if not loops:
            return definitions
        module.divide(loops)


def _definitions(module: Module, dialect: Dialect) -> list[Definition]:
    reading = module.reading
    inside: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in module.part.cells:
        if id(cell) in reading.home:
            inside[id(reading.home[id(cell)])].append(cell)
    driven = module.driven
    reading.places.clear()
    found = []
    for signal in (*module.values, *(port for port in module.pins if port.kind == "output")):
        cells = inside[id(signal)]
        if id(signal) in driven or signal.members or (signal.is_register and cells[0].kind == "$dff"):
            continue
        before = set(reading.places)
        reading.places.clear()
        if signal.is_register:
            text = _case(module, signal, cells[0], dialect)
        else:
            text = _assignment(signal, reading.definition(signal, cells))
        reads = {number for number, _ in reading.places}
        reading.places |= before
        said = next((c for cell in cells if (c := source.comment(cell.source))), None)
        found.append(Definition(signal, cells, text, reads, said))
    return found


def _loops(definitions: Sequence[Definition]) -> set[int]:
    # A dependency cycle in which every signal holds a single value is a real combinational loop of the circuit.
    left = {id(d.signal): d for d in definitions}
    while True:
        free = [number for number, d in left.items() if not d.reads & left.keys()]
        if not free:
            break
        for number in free:
            del left[number]
    return {number for number, d in left.items() if len(d.cells) > 1 or _is_part(d)}


def _is_part(definition: Definition) -> bool:
    return bool(definition.cells) and definition.cells[0].output != definition.signal.bits


def _ordered(definitions: Sequence[Definition]) -> list[Definition]:
    """Sort the definitions so that each signal is defined before its use."""
    by_signal = {id(d.signal): d for d in definitions}
    return [*dependencies_first(definitions, lambda d: (one for number, one in by_signal.items() if number in d.reads))]


def _declared_first(module: Module, ordered: Sequence[Definition]) -> list[Signal]:
    defined = {id(d.signal): number for number, d in enumerate(ordered)}
    late = {
        read for number, definition in enumerate(ordered) for read in definition.reads if defined.get(read, -1) > number
    }
    return [s for s in module.values if s.is_register or id(s) not in defined or id(s) in late]


def _commented(comment: str) -> list[str]:
    return textwrap.wrap(comment, WIDTH, initial_indent=f"{INDENT}// ", subsequent_indent=f"{INDENT}// ")


def _written(definition: Definition, declared: str) -> Iterator[str]:
    if definition.comment:
        yield from _commented(definition.comment)
    if definition.signal.is_register:
        yield from definition.text
        return
    first, *rest = definition.text
    yield from f"{INDENT}{declared or f'assign {definition.signal.name}'} ={first}".split("\n")
    yield from rest


def _assignment(signal: Signal, value: Expression) -> list[str]:
    taken = len(" ".join(["assign", *filter(None, [signal.range]), signal.name])) + 5
    return _behind(value, taken)


def _behind(value: Expression, taken: int, indent: str = INDENT) -> list[str]:
    flat = value.flat()
    if len(flat) + taken < WIDTH:
        return [f" {flat};"]
    lines = value.lines(indent + INDENT, len(indent) + 2)
    lines[0] = indent + INDENT + lines[0]
    return ["", *lines[:-1], f"{lines[-1]};"]


def _set(indent: str, target: str, operator: str, value: Expression) -> list[str]:
    first, *rest = _behind(value, len(indent) + len(target) + 5, indent)
    return [f"{indent}{target} {operator}{first}", *rest]


def _in_lines(labels: list[str], indent: str, target: str) -> list[str]:
    lines = [labels[0]]
    for label in labels[1:]:
        if len(indent) + len(lines[-1]) + len(label) + len(target) > WIDTH:
            lines.append(label)
        else:
            lines[-1] += f", {label}"
    return [*(f"{indent}{line}," for line in lines[:-1]), lines[-1]]


def _case(module: Module, signal: Signal, cell: Cell, dialect: Dialect) -> list[str]:
    case, reading = module.uses.cases[id(cell)], module.reading
    indent = 3 * INDENT
    subject, named = reading.choice(case.subject)
    lines = [f"{2 * INDENT}case ({subject.flat()})"]
    for labels, value in sorted(case.arms):
        names = [named.label(tuple(reversed(label))) if named else None for label in labels]
        shown = [name or constant(label).flat() for name, label in zip(names, labels, strict=True)]
        *above, last = _in_lines(shown, indent, signal.name)
        lines += above
        lines += _set(indent, f"{last}: {signal.name}", "=", reading.read(value))
    lines += _set(indent, f"default: {signal.name}", "=", reading.read(case.otherwise))
    return [f"{INDENT}{dialect.choosing(lines)}", *lines, f"{2 * INDENT}endcase"]


def _instance(module: Module, name: str) -> list[str]:
    child = module.children[name]
    outputs = iter(module.results[name])
    lines = []
    for port in child.ports:
        value = next(outputs).name if port.kind == "output" else ""
        text = [value] if value else module.reading.read(port.bits).lines(2 * INDENT, len(port.name) + 8)
        lines.append(f"{2 * INDENT}.{port.name}(" + "\n".join(text) + ")")
    return ["", f"{INDENT}@{name}@ u_{name} (", *",\n".join(lines).split("\n"), f"{INDENT});"][1:]


def _registers(module: Module, dialect: Dialect) -> list[str]:
    # Registers that change under the same conditions share a clocked block.
    groups: defaultdict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in module.part.cells:
        if cell.kind == "$dff":
            update = module.uses.updates[id(cell)]
            conditions = tuple(condition for condition, _ in update.arms)
            reset = cell.inputs.get("ARST"), cell.reset_by
            groups[cell.inputs["CLK"], reset, conditions, update.holds].append(cell)
    lines: list[str] = []
    for cells in groups.values():
        lines += ([""] if lines else []) + _clocked(module, cells, dialect)
    return lines


def _clocked(module: Module, cells: Sequence[Cell], dialect: Dialect) -> list[str]:
    first = module.uses.updates[id(cells[0])]
    edges = [f"posedge {module.reading.read(cells[0].inputs['CLK']).flat()}"]
    conditions = [module.reading.read(condition).flat() for condition, _ in first.arms]
    values = [[module.uses.updates[id(cell)].arms[number][1] for cell in cells] for number in range(len(conditions))]
    if "ARST" in cells[0].inputs:
        reset, level = module.reading.read(cells[0].inputs["ARST"]).flat(), cells[0].reset_by
        edges.append(f"{'posedge' if level else 'negedge'} {reset}")
        conditions.insert(0, reset if level else f"!{reset}")
        values.insert(0, [cell.inputs["RESET"] for cell in cells])
    heads = [("else " if number else "") + f"if ({condition})" for number, condition in enumerate(conditions)]
    if not first.holds:
        heads.append("else" if heads else "")
        values.append([module.uses.updates[id(cell)].otherwise for cell in cells])
    comments = dict.fromkeys(c for cell in cells if (c := source.comment(cell.source)))
    lines = [line for comment in comments for line in _commented(comment)]
    block = len(cells) > 1 or bool(conditions)
    lines += [f"{INDENT}{dialect.clocked} @({' or '.join(edges)})" + (" begin" if block else "")]
    targets = [module.reading.home[id(cell)].name for cell in cells]
    for head, given in zip(heads, values, strict=True):
        lines += _branch(module, head, targets, given)
    return [*lines, f"{INDENT}end"] if block else lines


def _branch(module: Module, head: str, targets: Sequence[str], given: Sequence[Bits]) -> list[str]:
    indent = 3 * INDENT if head else 2 * INDENT
    lines = [
        line
        for target, bits in zip(targets, given, strict=True)
        for line in _set(indent, target, "<=", module.reading.read(bits))
    ]
    if not head:
        return lines
    if len(targets) == 1:
        return [f"{2 * INDENT}{head}", *lines]
    return [f"{2 * INDENT}{head} begin", *lines, f"{2 * INDENT}end"]


def _unused(module: Module, dialect: Dialect) -> list[str]:
    """Return a wire that reads all unused bits, because lint tools report unused bits."""
    parts: list[str] = []
    for signal in (*module.pins, *members(module.values)):
        if signal.kind == "output":
            continue
        unread = [i for i in range(len(signal.bits)) if (id(signal), i) not in module.reading.places]
        start = 0
        while start < len(unread):
            end = start
            while end + 1 < len(unread) and unread[end + 1] == unread[end] + 1:
                end += 1
            parts.append(signal.part(unread[start], end - start + 1))
            start = end + 1
    if not parts:
        return []
    signal = Signal("unused", (0,))
    value = Unary("&", Concatenation((Atom("1'b0"), *map(Atom, parts))))
    first, *rest = _assignment(signal, value)
    return [*f"{INDENT}{dialect.defined(signal)} ={first}".split("\n"), *rest]
