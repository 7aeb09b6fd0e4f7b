"""SystemVerilog coverage of FPUs and of multi-format FPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fp9.formats import Format
from fp9.units import Fpu, FpuOp, MultiFpu
from fp9.units.multi_fpu import ROUNDED, MultiFpuOp
from fp9_sim.coverage.covergroups.casts import cast, choice
from fp9_sim.coverage.covergroups.codes import upcast
from fp9_sim.coverage.covergroups.part import Part
from fp9_sim.coverage.covergroups.sums import Added, dot, port_sum
from fp9_sim.coverage.fpus import part_unit, wide_sum
from fp9_sim.coverage.model import CLASSES, FLAGS, SIGNS
from fp9_sim.coverage.multi_fpus import follows_a, reads

_WRITERS: Mapping[FpuOp, Callable[..., str]] = {FpuOp.FMMA: dot, FpuOp.UPCAST: upcast, FpuOp.DOWNCAST: cast}


def fpu(part: Part, unit: Fpu) -> str:
    """Return SystemVerilog functions that sample the coverage of each operation and of the whole FPU."""
    names, group = tuple(op.name.lower() for op in unit.operations), part.groups[""]
    texts, lines = [], [f"int operation = {choice('op', names)};", group.clear]
    lines += [*group.set("operation", "operation", names), group.hit]
    for number, op in enumerate(unit.operations):
        name = op.name.lower()
        own = {key.partition(".")[2]: group for key, group in part.groups.items() if key.partition(".")[0] == name}
        inner = Part(unit if op is FpuOp.FMA else part_unit(unit, op), name, own, part.numbers)
        if op is FpuOp.FMA:
            sum_ = Added(inner, own[""], wide_sum(unit), [("a", "b")])
            texts.append(inner.function([*sum_.declarations, *port_sum(sum_)]))
        else:
            texts.append(_WRITERS[op](inner, inner.unit))
        arguments = ", ".join(_argument(op, port.name) for port in inner.ports)
        lines.append(f"if (operation == {number}) {name}_sample({arguments});")
    return "\n".join([*texts, part.function(lines)])


def _argument(op: FpuOp, port: str) -> str:
    if op is FpuOp.FMMA and port[:1] in "ab" and port[1:].isdigit():
        return f"{port[0]}[{8 * int(port[1:])} +: 8]"
    own = {
        FpuOp.UPCAST: {"code": "a[7:0]", "code_format": "a_format"},
        FpuOp.DOWNCAST: {"x": "c", "target": "a_format"},
    }
    return own.get(op, {}).get(port, port)


def multi_fpu(part: Part, unit: MultiFpu) -> str:
    return part.function(_multi(part, unit))


def _multi(part: Part, unit: MultiFpu) -> Iterator[str]:
    offered = {port.name: port.choices for port in unit.inputs if port.choices}
    operations = tuple(op.value for op in unit.operations)
    group = part.groups[""]
    yield "number_t x;"
    yield f"int operation = {choice('op', operations)};"
    yield group.clear
    yield from group.set("operation", "operation", operations)
    for name, choices in offered.items():
        if name != "op":
            yield from group.set(name, choice(name, choices), choices)
    yield from group.set("vector", "int'(vector)")
    yield from group.set("flags", "flag_of(flags)", FLAGS)
    yield group.hit
    if unit.lanes > 1:
        yield "if (vector == 0) begin"
    for name in unit.operands:
        ops = [op for op in unit.operations if reads(op, name)]
        own = [op for op in ops if not (name == "c" and follows_a(op))]
        yield from _operand(part, unit, name, name, own, offered)
        if name == "c":
            yield from _operand(part, unit, name, "a", [op for op in ops if follows_a(op)], offered)
    yield from _operand(part, unit, "result", "result", [op for op in unit.operations if op in ROUNDED], offered)
    if unit.lanes > 1:
        yield "end"


def _operand(
    part: Part, unit: MultiFpu, port: str, chooser: str, ops: Sequence[MultiFpuOp], offered: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    if not ops:
        return
    formats: dict[str, Format] = {fmt.name: fmt for fmt in unit.formats}
    select = unit.format_port(chooser)
    names = offered.get(select, (unit.formats[0].name,))
    chosen = " || ".join(f"operation == {unit.operations.index(op)}" for op in ops)
    for number, name in enumerate(names):
        group = part.groups[f"{port}.{name}"]
        yield f"if (({chosen}) && {choice(select, names)} == {number}) begin"
        yield group.clear
        yield f"x = {part.numbers.read(formats[name])}({port}, 0);"
        yield from group.set("class", "x.kind", CLASSES)
        yield from group.set("sign", "int'(x.negative)", SIGNS)
        yield group.hit
        yield "end"
