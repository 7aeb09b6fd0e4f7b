"""Unit propagation of known node values in an AND graph, and simplification of the graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal

Known = Mapping[int, int]


class Implied:
    """The fan-in cone of a literal in an AND graph. The cone stops at the nodes in `free`."""

    def __init__(self, graph: AndGraph, literal: Literal, free: Collection[int]) -> None:
        self._graph, self.literal = graph, literal
        self._nodes = sorted((graph.reached(literal, free) | {*free}) - {0})
        operands = graph.operands()
        self._ands = {node: graph.literals(node) for node in self._nodes if node in operands and node not in free}
        self._users: dict[int, list[int]] = {}
        for node, pair in self._ands.items():
            for operand in pair:
                self._users.setdefault(operand // 2, []).append(node)

    def following(self, known: Known, literal: Literal) -> dict[int, int] | None:
        """Set a literal to 1 and return all implied node values, or None for a contradiction."""
        found, waiting = dict(known), [literal]
        while waiting:
            literal = waiting.pop()
            node, value = literal // 2, 1 ^ literal & 1
            if found.get(node, value) != value:
                return None
            if node not in found:
                found[node] = value
                for gate in (node, *self._users.get(node, ())):
                    waiting += self._said_by(gate, found)
        return found

    def _said_by(self, gate: int, known: Known) -> list[Literal]:
        if gate not in self._ands:
            return []
        a, b = self._ands[gate]
        first, second = (known.get(x // 2, -1) ^ (x & 1 if x // 2 in known else 0) for x in (a, b))
        if 0 in (first, second):
            return [2 * gate + 1]
        if first == second == 1:
            return [2 * gate]
        if known.get(gate) == 1:
            return [a, b]
        if known.get(gate) == 0 and 1 in (first, second):
            return [(b if first == 1 else a) ^ 1]
        return []

    def left(self, known: Known) -> tuple[AndGraph, Literal, dict[int, int]]:
        """Replace known nodes by constants.

        Return the simplified graph, the literal that a proof must show to be always 0, and a map from new to old nodes.
        """
        graph, image = AndGraph(), dict(known)
        agree: Literal = 1
        for node in self._nodes:
            if node in self._ands:
                a, b = (image[literal // 2] ^ (literal & 1) for literal in self._ands[node])
                value = graph.both(a, b)
                # A known node is a constant for its readers. The operands of the node must produce the same constant.
                agree = graph.both(agree, value ^ known[node] ^ 1) if node in known else agree
                image.setdefault(node, value)
            elif node not in known:
                image[node] = graph.input(self._graph.text(2 * node))
        stands = {image[node] // 2: node for node in reversed(self._nodes)}
        return graph, graph.both(agree, image[self.literal // 2] ^ (self.literal & 1)), stands

    def inputs(self, known: Known) -> dict[str, int]:
        return {
            self._graph.text(2 * node): known[node] for node in self._nodes if node in known.keys() - self._ands.keys()
        }
