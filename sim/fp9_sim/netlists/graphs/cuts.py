"""Minimum cuts: the smallest sets of nodes that block every path from inputs to a node.

A claim that holds for arbitrary values at a cut also holds for the circuit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set

Operands = Mapping[int, tuple[int, ...]]

_Residual = dict[int, dict[int, int]]
_UNLIMITED = 1 << 30
_FIRST, _LAST = -1, -2


def levels(operands: Operands, root: int) -> dict[int, int]:
    found: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        before = operands.get(node, ())
        waiting = [other for other in before if other not in found]
        if waiting:
            stack += waiting
        else:
            found[node] = 1 + max((found[other] for other in before), default=-1)
            stack.pop()
    return found


def narrowest(operands: Operands, root: int, part: float, most: int) -> set[int] | None:
    """Return the minimum cut nearest to the inputs, or None if every cut has more than `most` nodes."""
    level = levels(operands, root)
    highest = part * level[root]
    return _fewest(operands, {node: 1 if level[node] <= highest else _UNLIMITED for node in level}, {root}, most)


def narrowest_near(operands: Operands, ends: Set[int]) -> set[int]:
    """Return a minimum cut among the nodes whose distance to `ends` is at most half of the largest distance."""
    distance = dict.fromkeys(ends, 0)
    waiting = deque(ends)
    while waiting:
        node = waiting.popleft()
        for before in operands.get(node, ()):
            if before not in distance:
                distance[before] = distance[node] + 1
                waiting.append(before)
    furthest = max(distance.values(), default=0) // 2
    near = {node: 1 for node, far in distance.items() if far <= furthest}
    return _fewest(operands, near, ends, len(ends)) or set()


def _fewest(operands: Operands, capacity: Mapping[int, int], ends: Set[int], most: int) -> set[int] | None:
    # Shortest augmenting paths (Edmonds and Karp 1972). In the flow network, node n of the circuit has the entry vertex
    # 2 n and the exit vertex 2 n + 1.
    residual: _Residual = {_FIRST: {}, _LAST: {}}
    for node in capacity:
        residual.setdefault(2 * node, {})[2 * node + 1] = capacity[node]
        residual.setdefault(2 * node + 1, {}).setdefault(2 * node, 0)
        for before in operands.get(node, (None,)):
            source = _FIRST if before is None or before not in capacity else 2 * before + 1
            residual.setdefault(source, {})[2 * node] = _UNLIMITED
            residual[2 * node].setdefault(source, 0)
    for end in ends:
        residual[2 * end + 1][_LAST] = _UNLIMITED
        residual[_LAST][2 * end + 1] = 0
    for _ in range(most + 1):
        came = _reached(residual, _LAST)
        if _LAST not in came:
            return {node for node in capacity if 2 * node in came and 2 * node + 1 not in came}
        place = _LAST
        while place != _FIRST:
            residual[came[place]][place] -= 1
            residual[place][came[place]] += 1
            place = came[place]
    return None


def _reached(residual: _Residual, last: int) -> dict[int, int]:
    came, waiting = {_FIRST: _FIRST}, deque([_FIRST])
    while waiting and last not in came:
        place = waiting.pop()
        for following, left in residual[place].items():
            if left > 0 and following not in came:
                came[following] = place
                waiting.append(following)
    return came
