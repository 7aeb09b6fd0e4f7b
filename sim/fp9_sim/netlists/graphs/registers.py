"""The registers of a netlist: those of a pipeline, those that hold state, and those that keep what has no meaning.

The last keep values of earlier operations, as the held factors of products that are zero. Such a register takes a
value that comes from the inputs alone, or keeps what it had. Where what it keeps does not matter, it is no state: it
is read as a wire, with a free input in the place of the earlier value. Two circuits to be compared have a free input
each, so that what they keep may differ.

    D = new or X     Q = D     X: anything
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fp9_sim.netlists.gates import AND, MUX, GateNetlist, Row, in_order
from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal

Register = tuple[int, int]
"""The nets of D and Q."""


@dataclass(frozen=True)
class Kept:
    """Gates in which registers are wires, the nets of the free inputs of either circuit, and the net that is 1 in the
    second one; `nets` is one more than the highest."""

    gates: list[Row]
    first: tuple[int, ...]
    second: tuple[int, ...]
    is_second: int
    nets: int


def opened(netlist: GateNetlist, kept: list[Register]) -> tuple[list[Row], list[Register]]:
    """The gates in order, pipeline registers as wires among them, and (D, Q) of the registers that hold state, those
    `kept` left out."""
    gates: list[Row] = [(op, a, b, s, y) for op, a, b, s, y in netlist.gates.tolist()]
    registers: list[Register] = [(d, q) for d, q in netlist.registers.tolist() if (d, q) not in kept]
    wires: list[Row] = [(AND, d, d, 0, q) for d, q in registers]
    looped = _in_loops([*gates, *wires])
    state = [(d, q) for d, q in registers if q in looped]
    return in_order([*gates, *(row for row in wires if row[4] not in looped)]), state


def _in_loops(rows: list[Row]) -> set[int]:
    """Nets in loops and between loops: what is left when gates that nothing drives, or nothing reads, are taken off."""
    driver = {row[4]: i for i, row in enumerate(rows)}
    sources = [{driver[net] for net in row[1:4] if net in driver} for row in rows]
    readers: list[set[int]] = [set() for _ in rows]
    for i, gates in enumerate(sources):
        for gate in gates:
            readers[gate].add(i)
    left = set(range(len(rows)))
    for before, after in ((sources, readers), (readers, sources)):
        waiting = {i: len(before[i] & left) for i in left}
        free = [i for i, count in waiting.items() if not count]
        while free:
            gate = free.pop()
            left.discard(gate)
            for i in after[gate] & left:
                waiting[i] -= 1
                if not waiting[i]:
                    free.append(i)
    return {rows[i][4] for i in left}


def keepers(gates: list[Row], state: list[Register], inputs: Iterable[int]) -> list[Register]:
    """Registers that take what comes from the inputs alone, or their own value. Nets that are neither are 0."""
    graph = AndGraph()
    sources = [*inputs, *(q for _, q in state)]
    value: dict[int, Literal] = {0: 0, 1: 1} | {net: graph.input(str(net)) for net in sources}
    own = {value[q] // 2 for _, q in state}
    for row in gates:
        value[row[4]] = graph.gate(row, value)
    return [(d, q) for d, q in state if graph.inputs_of(value[d]) & own == {value[q] // 2}]


def as_wires(gates: list[Row], registers: list[Register], nets: int) -> Kept:
    """The gates with these registers as wires: what drives them stands there twice, the copy with the free inputs."""
    count = len(registers)
    first, second, either = (tuple(range(nets + i * count, nets + (i + 1) * count)) for i in range(3))
    is_second = nets + 3 * count
    earlier = {q: net for (_, q), net in zip(registers, either, strict=True)}
    copied = _behind(gates, [d for d, _ in registers])
    copy = earlier | {row[4]: is_second + 1 + i for i, row in enumerate(copied)}
    rows: list[Row] = [(MUX, x, y, is_second, one) for x, y, one in zip(first, second, either, strict=True)]
    rows += [_renamed(row, copy) for row in copied]
    rows += [(AND, copy.get(d, d), copy.get(d, d), 0, q) for d, q in registers]
    return Kept(in_order([*gates, *rows]), first, second, is_second, is_second + 1 + len(copied))


def _renamed(row: Row, copy: Mapping[int, int]) -> Row:
    kind, a, b, s, y = row
    return kind, copy.get(a, a), copy.get(b, b), copy.get(s, s), copy[y]


def _behind(gates: list[Row], nets: list[int]) -> list[Row]:
    """The gates that nets depend on, in order."""
    driver = {row[4]: row for row in gates}
    reached: set[int] = set()
    stack = list(nets)
    while stack:
        net = stack.pop()
        if net not in reached and net in driver:
            reached.add(net)
            stack += driver[net][1:4]
    return [row for row in gates if row[4] in reached]
