"""Registers in a netlist: pipeline registers, state, and registers with don't-care values.

A register that either loads inputs or keeps its old value, as in operand gating, can hold don't-care values. A wire
replaces each register that can hold don't-care values. A register with don't-care values can keep any old value, so a
free (unconstrained) input replaces the register's old value.

    D = new or X     Q = D     X: anything
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fp9_sim.netlists.gates import AND, MUX, GateNetlist, Row, in_order
from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal

Register = tuple[int, int]


@dataclass(frozen=True)
class Kept:
    """Gates of a netlist in which a wire replaces each register that can hold don't-care values."""

    gates: list[Row]
    # The free inputs of the two compared circuits. A free input replaces the old value of a register.
    first: tuple[int, ...]
    second: tuple[int, ...]
    is_second: int
    nets: int


def opened(netlist: GateNetlist, kept: list[Register]) -> tuple[list[Row], list[Register]]:
    """Replace pipeline registers by wires, and return the gates and the state registers (D, Q)."""
    gates: list[Row] = [(op, a, b, s, y) for op, a, b, s, y in netlist.gates.tolist()]
    registers: list[Register] = [(d, q) for d, q in netlist.registers.tolist() if (d, q) not in kept]
    wires: list[Row] = [(AND, d, d, 0, q) for d, q in registers]
    looped = _in_loops([*gates, *wires])
    state = [(d, q) for d, q in registers if q in looped]
    return in_order([*gates, *(row for row in wires if row[4] not in looped)]), state


def _in_loops(rows: list[Row]) -> set[int]:
    """Return the nets that are in a loop of gates, or on a path between two loops."""
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
    """Return the registers whose next value depends only on the inputs and on their own value."""
    graph = AndGraph()
    sources = [*inputs, *(q for _, q in state)]
    value: dict[int, Literal] = {0: 0, 1: 1} | {net: graph.input(str(net)) for net in sources}
    own = {value[q] // 2 for _, q in state}
    for row in gates:
        value[row[4]] = graph.gate(row, value)
    return [(d, q) for d, q in state if graph.inputs_of(value[d]) & own == {value[q] // 2}]


def as_wires(gates: list[Row], registers: list[Register], nets: int) -> Kept:
    """Replace each register by a wire from D to Q, and the register's stored value by a free input."""
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
    driver = {row[4]: row for row in gates}
    reached: set[int] = set()
    stack = list(nets)
    while stack:
        net = stack.pop()
        if net not in reached and net in driver:
            reached.add(net)
            stack += driver[net][1:4]
    return [row for row in gates if row[4] in reached]
