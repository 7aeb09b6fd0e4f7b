"""A graph of two-input AND gates, with structural hashing and output as Verilog."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fp9_sim.netlists.gates import AND, INVERTED, MUX, NOT, OR, XOR, Row

Literal = int
"""Twice the number of a node, plus 1 for the node's inverse. The literals 0 and 1 are the constants."""


class AndGraph:
    """A graph of named inputs and AND gates of two literals. Equal AND nodes are stored once."""

    def __init__(self) -> None:
        self._names = ["1'b0"]
        self._operands: dict[int, tuple[Literal, Literal]] = {}
        self._known: dict[tuple[Literal, Literal], Literal] = {}

    def input(self, name: str) -> Literal:
        self._names.append(name)
        return 2 * (len(self._names) - 1)

    def both(self, a: Literal, b: Literal) -> Literal:
        """Return the literal of a AND b."""
        a, b = min(a, b), max(a, b)
        if a == 0 or a ^ b == 1:
            return 0
        if a in (1, b):
            return b
        if (a, b) not in self._known:
            self._known[a, b] = self.input(f"n{len(self._names)}")
            self._operands[self._known[a, b] // 2] = (a, b)
        return self._known[a, b]

    def either(self, a: Literal, b: Literal) -> Literal:
        return self.both(a ^ 1, b ^ 1) ^ 1

    def choose(self, select: Literal, one: Literal, zero: Literal) -> Literal:
        return one if one == zero else self.either(self.both(select, one), self.both(select ^ 1, zero))

    def differ(self, a: Literal, b: Literal) -> Literal:
        """Return the literal of a XOR b."""
        return self.choose(a, b ^ 1, b)

    def gate(self, row: Row, value: Mapping[int, Literal]) -> Literal:
        a, b, s = (value.get(net, 0) for net in row[1:4])
        match row[0] & ~INVERTED:
            case kind if kind == AND:
                result = self.both(a, b)
            case kind if kind == OR:
                result = self.either(a, b)
            case kind if kind == XOR:
                result = self.differ(a, b)
            case kind if kind == MUX:
                result = self.choose(s, b, a)
            case _:
                assert kind == NOT
                result = a ^ 1
        return result ^ bool(row[0] & INVERTED)

    def text(self, literal: Literal) -> str:
        return ("~" if literal & 1 else "") + self._names[literal // 2]

    def operands(self) -> dict[int, tuple[int, ...]]:
        return {node: (a // 2, b // 2) for node, (a, b) in self._operands.items()}

    def cone(self, literal: Literal, free: Collection[int] = ()) -> Iterator[str]:
        """Yield Verilog lines for the AND gates in a literal's fan-in cone, starting from the inputs."""
        for node in sorted(self.reached(literal, free) & self._operands.keys()):
            a, b = self._operands[node]
            yield f"  wire {self._names[node]} = {self.text(a)} & {self.text(b)};"

    def inputs(self) -> list[int]:
        return [node for node in range(1, len(self._names)) if node not in self._operands]

    def literals(self, node: int) -> tuple[Literal, Literal]:
        return self._operands[node]

    def inputs_of(self, literal: Literal) -> set[int]:
        return self.reached(literal) - self._operands.keys() - {0}

    def reached(self, literal: Literal, free: Collection[int] = ()) -> set[int]:
        """Return the nodes in a literal's fan-in cone, which stops before the nodes in `free`."""
        reached, stack = set(), [literal // 2]
        while stack:
            node = stack.pop()
            if node not in reached and node not in free:
                reached.add(node)
                stack += [operand // 2 for operand in self._operands.get(node, ())]
        return reached
