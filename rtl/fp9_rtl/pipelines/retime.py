"""Which register stage an operation belongs to: the shortest clock that a number of stages allows, then few registers.

The delays are those of the netlist's gates. A path begins at a port or register and ends at one; it is as long as its
gates together. With a clock of a given length, every operation can take its place as soon as the bits that it reads
have arrived, and no later than what reads its own bits allows; between these two bounds a minimal cut chooses, boundary
by boundary, where the fewest bits pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fp9_rtl.pipelines.cells import Bit
from fp9_rtl.pipelines.flow import UNLIMITED, FlowNetwork
from fp9_rtl.pipelines.netlist import Netlist, Operation

Stages = list[int]
"""For every operation its stage, from 1."""

_Time = tuple[int, int]
"""A stage and a time within it."""

_NAMED, _UNNAMED = 4, 5
"""What a bit in a register costs: one that the design names a little less, so that registers hold what has a name."""


def place(netlist: Netlist, stages: int) -> Stages:
    """The stage of every operation, such that the longest path of all stages is as short as it can be."""
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
    """Delay of the longest path between registers, for the stages that the operations stand in."""
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
    """When the bits that an operation drives arrive within a stage, and the latest of them."""
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
    """The earliest stage of every operation, none below its `floor`; None where `stages` are too few."""
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
    """The latest stage of every operation, for a period that so many stages can keep."""
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
    """How long it takes from the bits that an operation reads to the end of a stage, and the longest."""
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
    """Stages that keep a period, with few bits in each register."""
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
    """The operations before a boundary that few bits cross: all that must be there, and some that may."""
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
            network.edge(end, start, UNLIMITED)  # what is read before the boundary is driven before it
    before = network.source_side()
    return {index for index in may if node[index] in before}


def _wires(netlist: Netlist) -> dict[tuple[int | None, frozenset[int | None]], int]:
    """Bits with the same driver and the same readers, and what they cost in a register; None is a port."""
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
