"""Find the minimum cut of a graph by maximum flow (Dinic's algorithm)."""

from __future__ import annotations

from collections import deque

UNLIMITED = 1 << 40
"""Capacity of an edge that no cut may cross."""


class FlowNetwork:
    """A directed graph whose edges have integer capacities."""

    SOURCE, SINK = 0, 1

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        self._to: list[int] = []
        self._left: list[int] = []

    def node(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, start: int, end: int, capacity: int) -> None:
        for node, to, left in ((start, end, capacity), (end, start, 0)):
            self._edges[node].append(len(self._to))
            self._to.append(to)
            self._left.append(left)

    def source_side(self) -> set[int]:
        """Return the smallest set of nodes on the source's side of a minimum cut."""
        while True:
            level = self._levels()
            if self.SINK not in level:
                return set(level)
            self._fill(level)

    def _levels(self) -> dict[int, int]:
        level = {self.SOURCE: 0}
        waiting = deque([self.SOURCE])
        while waiting:
            node = waiting.popleft()
            for edge in self._edges[node]:
                to = self._to[edge]
                if self._left[edge] and to not in level:
                    level[to] = level[node] + 1
                    waiting.append(to)
        return level

    def _fill(self, level: dict[int, int]) -> None:
        """Send flow along shortest paths to the sink, until each shortest path has a full edge."""
        following = [0] * len(self._edges)
        way: list[int] = []
        node = self.SOURCE
        while True:
            if node == self.SINK:
                amount = min(self._left[edge] for edge in way)
                for edge in way:
                    self._left[edge] -= amount
                    self._left[edge ^ 1] += amount
                way, node = [], self.SOURCE
            elif following[node] < len(self._edges[node]):
                edge = self._edges[node][following[node]]
                to = self._to[edge]
                if self._left[edge] and level.get(to) == level[node] + 1:
                    way.append(edge)
                    node = to
                else:
                    following[node] += 1
            elif way:
                edge = way.pop()
                node = self._to[edge ^ 1]
                following[node] += 1
            else:
                return
