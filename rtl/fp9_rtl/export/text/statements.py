"""The statements of a module: values in the order in which they depend on one another, instances, registers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fp9_rtl.export.text import source
from fp9_rtl.export.text.circuit import Bits, Cell
from fp9_rtl.export.text.expressions import INDENT, WIDTH, Expression, constant
from fp9_rtl.export.text.module import Module
from fp9_rtl.export.text.signals import Signal


@dataclass
class Definition:
    """What a signal is, the signals that it reads, and what the source says of it."""

    signal: Signal
    cells: list[Cell]
    text: list[str]
    reads: set[int]
    comment: str | None


def body(module: Module) -> list[str]:
    """The lines between a module's ports and its end."""
    definitions = _acyclic(module)
    instances = [line for name in module.children for line in _instance(module, name)]
    registers = _registers(module)
    ordered = _ordered(definitions)
    early = _declared_first(module, ordered)
    lines = [f"{INDENT}{declaration};" for declaration in early.values()]
    for definition in ordered:
        lines += _written(definition, definition.signal.kind == "value" and id(definition.signal) not in early)
    groups = (lines, instances, registers, _unused(module))
    return [line for group in groups if group for line in ("", *group)]


def _acyclic(module: Module) -> list[Definition]:
    """Definitions of which none depends on itself: signals of several values that would are divided."""
    while True:
        definitions = _definitions(module)
        loops = _loops(definitions)
        if not loops:
            return definitions
        module.divide(loops)


def _definitions(module: Module) -> list[Definition]:
    inside: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in module.part.cells:
        if id(cell) in module.home:
            inside[id(module.home[id(cell)])].append(cell)
    driven = {id(signal) for results in module.results.values() for signal in results}
    module.read_places.clear()
    found = []
    for signal in (*module.values, *(port for port in module.ports if port.kind == "output")):
        cells = inside[id(signal)]
        if id(signal) in driven or (signal.is_register and cells[0].kind == "$dff"):
            continue
        before = set(module.read_places)
        module.read_places.clear()
        if signal.is_register:
            text = _case(module, signal, cells[0])
        else:
            text = _assignment(signal, module.definition(signal, cells))
        reads = {number for number, _ in module.read_places}
        module.read_places |= before
        said = next((c for cell in cells if (c := source.comment(cell.source))), None)
        found.append(Definition(signal, cells, text, reads, said))
    return found


def _loops(definitions: Sequence[Definition]) -> set[int]:
    """Signals of several values that depend on themselves; in a loop without such, nothing can be done."""
    left = {id(d.signal): d for d in definitions}
    while True:
        free = [number for number, d in left.items() if not d.reads & left.keys()]
        if not free:
            break
        for number in free:
            del left[number]
    return {number for number, d in left.items() if len(d.cells) > 1}


def _ordered(definitions: Sequence[Definition]) -> list[Definition]:
    """Each behind those that it reads, otherwise as they come."""
    by_signal = {id(d.signal): d for d in definitions}
    ordered: list[Definition] = []
    done: set[int] = set()
    pending = [(d, False) for d in reversed(definitions)]
    while pending:
        definition, entered = pending.pop()
        if entered:
            ordered.append(definition)
        elif id(definition) not in done:
            done.add(id(definition))
            pending.append((definition, True))
            behind = [d for number, d in by_signal.items() if number in definition.reads]
            pending += [(d, False) for d in reversed(behind) if id(d) not in done]
    return ordered


def _declared_first(module: Module, ordered: Sequence[Definition]) -> dict[int, str]:
    """Declarations of registers, of what submodules drive, and of what is read above the place where it is defined."""
    defined = {id(d.signal): number for number, d in enumerate(ordered)}
    late = {
        read for number, definition in enumerate(ordered) for read in definition.reads if defined.get(read, -1) > number
    }
    return {
        id(signal): signal.declaration("reg" if signal.is_register else "wire")
        for signal in module.values
        if signal.is_register or id(signal) not in defined or id(signal) in late
    }


def _written(definition: Definition, declares: bool) -> Iterator[str]:
    """A definition with its comment."""
    if definition.comment:
        yield f"{INDENT}// {definition.comment}"
    if definition.signal.is_register:
        yield from definition.text
        return
    head = definition.signal.declaration("wire") if declares else f"assign {definition.signal.name}"
    first, *rest = definition.text
    yield f"{INDENT}{head} ={first}"
    yield from rest


def _assignment(signal: Signal, value: Expression) -> list[str]:
    """What stands behind the `=`, on its line and on those below."""
    taken = len(signal.declaration("assign")) + 5
    return _behind(value, taken)


def _behind(value: Expression, taken: int, indent: str = INDENT) -> list[str]:
    """A value behind the `=` of an assignment at some indent, to its semicolon."""
    flat = value.flat()
    if len(flat) + taken < WIDTH:
        return [f" {flat};"]
    lines = value.lines(indent + INDENT, len(indent) + 2)
    lines[0] = indent + INDENT + lines[0]
    return ["", *lines[:-1], f"{lines[-1]};"]


def _set(indent: str, target: str, operator: str, value: Expression) -> list[str]:
    """A procedural assignment."""
    first, *rest = _behind(value, len(indent) + len(target) + 5, indent)
    return [f"{indent}{target} {operator}{first}", *rest]


def _case(module: Module, signal: Signal, cell: Cell) -> list[str]:
    case = module.cases[id(cell)]
    indent = 3 * INDENT
    lines = [f"{INDENT}always @*", f"{2 * INDENT}case ({module.read(case.subject).flat()})"]
    for labels, value in sorted(case.arms):
        shown = ", ".join(constant(label).flat() for label in labels)
        lines += _set(indent, f"{shown}: {signal.name}", "=", module.read(value))
    lines += _set(indent, f"default: {signal.name}", "=", module.read(case.otherwise))
    return [*lines, f"{2 * INDENT}endcase"]


def _instance(module: Module, name: str) -> list[str]:
    child = module.children[name]
    outputs = iter(module.results[name])
    lines = []
    for port in child.ports:
        value = next(outputs).name if port.kind == "output" else ""
        text = [value] if value else module.read(port.bits).lines(2 * INDENT, len(port.name) + 8)
        lines.append(f"{2 * INDENT}.{port.name}(" + "\n".join(text) + ")")
    return ["", f"{INDENT}@{name}@ u_{name} (", *",\n".join(lines).split("\n"), f"{INDENT});"][1:]


def _registers(module: Module) -> list[str]:
    """Clocked blocks: registers that take values under the same conditions stand in one."""
    groups: defaultdict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in module.part.cells:
        if cell.kind == "$dff":
            update = module.updates[id(cell)]
            conditions = tuple(condition for condition, _ in update.arms)
            reset = cell.inputs.get("ARST"), cell.reset_by
            groups[cell.inputs["CLK"], reset, conditions, update.holds].append(cell)
    lines: list[str] = []
    for cells in groups.values():
        lines += ([""] if lines else []) + _clocked(module, cells)
    return lines


def _clocked(module: Module, cells: Sequence[Cell]) -> list[str]:
    first = module.updates[id(cells[0])]
    edges = [f"posedge {module.read(cells[0].inputs['CLK']).flat()}"]
    conditions = [module.read(condition).flat() for condition, _ in first.arms]
    values = [[module.updates[id(cell)].arms[number][1] for cell in cells] for number in range(len(conditions))]
    if "ARST" in cells[0].inputs:
        reset, level = module.read(cells[0].inputs["ARST"]).flat(), cells[0].reset_by
        edges.append(f"{'posedge' if level else 'negedge'} {reset}")
        conditions.insert(0, reset if level else f"!{reset}")
        values.insert(0, [cell.inputs["RESET"] for cell in cells])
    heads = [("else " if number else "") + f"if ({condition})" for number, condition in enumerate(conditions)]
    if not first.holds:
        heads.append("else" if heads else "")
        values.append([module.updates[id(cell)].otherwise for cell in cells])
    comments = dict.fromkeys(c for cell in cells if (c := source.comment(cell.source)))
    lines = [f"{INDENT}// {comment}" for comment in comments]
    block = len(cells) > 1 or bool(conditions)
    lines += [f"{INDENT}always @({' or '.join(edges)})" + (" begin" if block else "")]
    targets = [module.home[id(cell)].name for cell in cells]
    for head, given in zip(heads, values, strict=True):
        lines += _branch(module, head, targets, given)
    return [*lines, f"{INDENT}end"] if block else lines


def _branch(module: Module, head: str, targets: Sequence[str], given: Sequence[Bits]) -> list[str]:
    """The values that registers take in one case."""
    indent = 3 * INDENT if head else 2 * INDENT
    lines = [
        line
        for target, bits in zip(targets, given, strict=True)
        for line in _set(indent, target, "<=", module.read(bits))
    ]
    if not head:
        return lines
    if len(targets) == 1:
        return [f"{2 * INDENT}{head}", *lines]
    return [f"{2 * INDENT}{head} begin", *lines, f"{2 * INDENT}end"]


def _unused(module: Module) -> list[str]:
    """A wire for the bits that nothing reads, so that no tool asks about them."""
    parts: list[str] = []
    for signal in (*module.ports, *module.values):
        if signal.kind == "output":
            continue
        unread = [i for i in range(len(signal.bits)) if (id(signal), i) not in module.read_places]
        start = 0
        while start < len(unread):
            end = start
            while end + 1 < len(unread) and unread[end + 1] == unread[end] + 1:
                end += 1
            parts.append(signal.part(unread[start], end - start + 1))
            start = end + 1
    return [f"{INDENT}wire unused = &{{1'b0, {', '.join(parts)}}};"] if parts else []


def ports_text(module: Module) -> Mapping[str, str]:
    """The declarations of a module's ports, by name."""
    words = {"input": "input ", "output": "output"}
    return {
        port.name: port.declaration(words[port.kind] + (" reg" if port.is_register else "")) for port in module.ports
    }
