"""Assign operations to pipeline stages, for a short clock period and few registers."""

# A short clock period has priority. For a given period, each operation has an earliest and a latest stage. Within
# these limits, a minimum cut places each register boundary so that the fewest bits cross it.

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fp9_rtl.pipelines.cells import Bit
from fp9_rtl.pipelines.flow import UNLIMITED, FlowNetwork
from fp9_rtl.pipelines.netlist import Netlist, Operation

Stages = list[int]

_Time = tuple[int, int]

_NAMED, _UNNAMED = 4, 5
"""Register cost of a bit, with and without a name in the source.

Named bits cost less, so that registers get meaningful names.
"""


def place(netlist: Netlist, stages: int) -> Stages:
    """Return a stage for every operation, so that the slowest stage is as fast as possible."""
    anywhere = [1] * len(netlist.operations)
    low, high = 0, longest_path(netlist, anywhere)
    while low < high:
        period = (low + high) // 2
        if _earliest(netlist, period, stages, anywhere) is None:
            low = period + 1
        else:
            high = period
    return _fewest_registers(netlist, high, stages)


def longest_path(netlist: Netlist, placed: Sequence[int]) -> int:
    arrived: dict[Bit, _Time] = dict.fromkeys(netlist.inputs, (1, 0))
    longest = 0
    for operation, stage in zip(netlist.operations, placed, strict=True):
        times, latest = _forward(netlist, operation, stage, arrived)
        arrived.update({bit: (stage, time) for bit, time in times.items()})
        longest = max(longest, latest)
    return longest


def _forward(
    netlist: Netlist, operation: Operation, stage: int, arrived: Mapping[Bit, _Time]
) -> tuple[dict[int, int], int]:
    gates = netlist.gates
    times: dict[Bit, int] = {}
    for bit in operation.reads:
        at, time = arrived[bit]
        net = gates.read[bit]
        times[net] = max(times.get(net, 0), (time if at == stage else 0) + gates.load_delays[bit])
    for gate in operation.gates:
        times[gate.output] = gate.delay + max(times.get(net, 0) for net in gate.inputs)
    driven = {bit: times.get(gates.driven[bit], 0) for bit in operation.drives}
    return driven, max(driven.values(), default=0)


def _earliest(netlist: Netlist, period: int, stages: int, floor: Sequence[int]) -> Stages | None:
    """Return the earliest stage of every operation, or None if `stages` is too small."""
    arrived: dict[Bit, _Time] = dict.fromkeys(netlist.inputs, (1, 0))
    placed = []
    for index, operation in enumerate(netlist.operations):
        stage = max([floor[index], *(arrived[bit][0] for bit in operation.reads)])
        times, latest = _forward(netlist, operation, stage, arrived)
        if latest > period:
            stage += 1
            times, latest = _forward(netlist, operation, stage, arrived)
        if latest > period or stage > stages:
            return None
        arrived.update({bit: (stage, time) for bit, time in times.items()})
        placed.append(stage)
    return placed


def _latest(netlist: Netlist, period: int, stages: int) -> Stages:
    needed: dict[int, _Time] = {bit: (stages, 0) for bit in netlist.outputs if isinstance(bit, int)}
    placed = []
    for operation in reversed(netlist.operations):
        stage = min([stages, *(needed[bit][0] for bit in operation.drives if bit in needed)])
        times, longest = _backward(netlist, operation, stage, needed)
        if longest > period:
            stage -= 1
            times, longest = _backward(netlist, operation, stage, needed)
        for bit, time in times.items():
            at, remaining = needed.get(bit, (stages + 1, 0))
            needed[bit] = (stage, max(time, remaining if at == stage else 0)) if at >= stage else (at, remaining)
        placed.append(stage)
    return placed[::-1]


def _backward(
    netlist: Netlist, operation: Operation, stage: int, needed: Mapping[int, _Time]
) -> tuple[dict[int, int], int]:
    gates = netlist.gates
    times: dict[Bit, int] = {}
    for bit in operation.drives:
        at, time = needed.get(bit, (stage + 1, 0))
        net = gates.driven[bit]
        times[net] = max(times.get(net, 0), time if at == stage else 0)
    for gate in reversed(operation.gates):
        time = times.get(gate.output, 0) + gate.delay
        for net in gate.inputs:
            times[net] = max(times.get(net, 0), time)
    read = {bit: times.get(gates.read[bit], 0) + gates.load_delays[bit] for bit in operation.reads}
    return read, max(read.values(), default=0)


def _fewest_registers(netlist: Netlist, period: int, stages: int) -> Stages:
    latest = _latest(netlist, period, stages)
    placed = [1] * len(latest)
    for boundary in range(1, stages):
        earliest = _earliest(netlist, period, stages, placed)
        assert earliest is not None
        must = {i for i, late in enumerate(latest) if late <= boundary or placed[i] < boundary}
        may = {i for i, early in enumerate(earliest) if early <= boundary}
        before = _cheapest(netlist, must, may)
        placed = [stage if index in before else boundary + 1 for index, stage in enumerate(placed)]
    return placed


def _cheapest(netlist: Netlist, must: set[int], may: set[int]) -> set[int]:
    """Return the operations to place before a register boundary, for the lowest register cost."""
    network = FlowNetwork()
    node: dict[int | None, int] = {None: network.SOURCE}
    for index in range(len(netlist.operations)):
        node[index] = network.SOURCE if index in must else network.node() if index in may else network.SINK
    for (driver, readers), cost in _wires(netlist).items():
        start, ends = node[driver], {node[r] if r is not None else network.SINK for r in readers}
        wire = network.node()
        network.edge(start, wire, cost)
        for end in ends:
            network.edge(wire, end, UNLIMITED)
            network.edge(end, start, UNLIMITED)  # a bit is driven before it is read
    before = network.source_side()
    return {index for index in may if node[index] in before}


def _wires(netlist: Netlist) -> dict[tuple[int | None, frozenset[int | None]], int]:
    driver = {bit: index for index, operation in enumerate(netlist.operations) for bit in operation.drives}
    readers: dict[int, set[int | None]] = {}
    for index, operation in enumerate(netlist.operations):
        for bit in operation.reads:
            readers.setdefault(bit, set()).add(index)
    for output in netlist.outputs:
        if isinstance(output, int):
            readers.setdefault(output, set()).add(None)
    costs: Counter[tuple[int | None, frozenset[int | None]]] = Counter()
    for bit, reading in readers.items():
        costs[driver.get(bit), frozenset(reading)] += _NAMED if bit in netlist.names else _UNNAMED
    return dict(costs)
