"""Equivalence checking of two circuits with state, for all input sequences from reset.

Simulation finds gates at which a difference between the circuits ends: an input differs, but the output is equal. For
gates with equal outputs in simulation, ABC proves with inductive invariants that the outputs are equal in every clock
cycle. If ABC finds a counterexample, the next simulation uses the counterexample and random variants as stimulus.

    registers that agree ---+--> first circuit ---> | ends | --> the rest is the same
    registers of the first -'                       |  ==  |
    registers of the second ---> second circuit --> | ends |
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.units import Unit
from fp9_sim.netlists.gates import WORD, GateNetlist, Planes, Row, bit_planes, evaluate, in_order
from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal
from fp9_sim.netlists.solvers import abc
from fp9_sim.netlists.solvers.solver import State, Verdict

STEPS = 96
"""Number of operations in a simulated sequence, longer than the longest chunk."""

_Sequences = dict[str, NDArray[Any]]


class Sequences:
    """Comparison of mutants with the original circuit, for sequences of operations. All registers start at 0."""

    def __init__(self, unit: Unit, netlist: GateNetlist, select: str, operations: Mapping[str, NDArray[Any]]) -> None:
        self._netlist = netlist
        self._select = netlist.inputs[select]
        self._outputs = [net for nets in netlist.outputs.values() for net in nets]
        self._widths = {port.name: len(netlist.inputs[port.name]) for port in unit.inputs}
        gates: list[Row] = [(op, a, b, s, y) for op, a, b, s, y in netlist.gates.tolist()]
        self._gates = in_order(gates)
        # A sequence can contain the operation CLEAR, which restores the reset state. The proof therefore also covers
        # sequences from reset.
        self._registers: list[tuple[int, int]] = [(d, q) for d, q in netlist.registers.tolist()]
        columns = {name: np.asarray(operations[name]) for name in self._widths}
        count = max(1, len(next(iter(columns.values()))) // STEPS)
        self._sequences = {name: np.resize(values, (count, STEPS)).T for name, values in columns.items()}

    def equal(self, number: int, timeout: float) -> Verdict:
        """Decide whether mutant `number` gives the same outputs as the original circuit in every clock cycle."""
        started, sequences = time.perf_counter(), self._sequences
        unequal = np.zeros(self._netlist.nets, dtype=np.bool_)
        while True:
            for step, differs in enumerate(self._steps(number, sequences)):
                unequal |= differs.any(axis=1)
                if any(unequal[net] for net in self._outputs):
                    seconds = time.perf_counter() - started
                    # The key `a@0` of a counterexample is input `a` of operation 0.
                    return Verdict(State.REFUTED, seconds, self._operations(sequences, step, differs[self._outputs]))
            left = timeout - time.perf_counter() + started
            verdict = self._ends_agree(number, unequal, left) if left > 0 else Verdict(State.UNFINISHED, 0.0)
            if verdict.state is not State.REFUTED:
                return Verdict(verdict.state, time.perf_counter() - started)
            sequences = self._beside(verdict.counterexample)

    def _steps(self, number: int, sequences: _Sequences) -> Iterator[Planes]:
        # For each clock cycle, yield an array (nets, words). Each word holds one bit of each of 64 sequences. A 1 marks
        # a difference between the circuits.
        d, q = np.array(self._registers, dtype=np.int64).reshape(-1, 2).T
        rows, ones = np.array(self._gates, dtype=np.int64), ~np.uint64(0)
        words = -(-next(iter(sequences.values())).shape[1] // WORD)
        held: list[Planes] = [np.zeros((len(q), words), dtype=np.uint64) for _ in range(2)]
        for step in range(STEPS):
            values = []
            for circuit, chosen in enumerate((0, number)):
                planes: Planes = np.zeros((self._netlist.nets, words), dtype=np.uint64)
                planes[1], planes[q] = ones, held[circuit]
                for name, width in self._widths.items():
                    planes[list(self._netlist.inputs[name])] = bit_planes(sequences[name][step], width)
                planes[[net for i, net in enumerate(self._select) if chosen >> i & 1]] = ones
                evaluate(rows, planes)
                held[circuit] = planes[d]
                values.append(planes)
            yield values[0] ^ values[1]

    def _operations(self, sequences: _Sequences, last: int, differs: Planes) -> dict[str, int]:
        any_net = np.bitwise_or.reduce(differs, axis=0)
        word = int(np.flatnonzero(any_net)[0])
        place = WORD * word + (int(any_net[word]) & -int(any_net[word])).bit_length() - 1
        return {f"{name}@{t}": int(values[t, place]) for t in range(last + 1) for name, values in sequences.items()}

    def _ends_agree(self, number: int, unequal: NDArray[np.bool_], timeout: float) -> Verdict:
        graph = AndGraph()
        first: dict[int, Literal] = {0: 0, 1: 1}
        for name in self._widths:
            first |= {net: graph.input(f"{name}[{i}]") for i, net in enumerate(self._netlist.inputs[name])}
        first |= {q: graph.input(f"register{q}") for _, q in self._registers}
        apart = [(d, q) for d, q in self._registers if unequal[d] or unequal[q]]
        second = first | {q: graph.input(f"mutant{q}") for _, q in apart}
        second |= {net: number >> i & 1 for i, net in enumerate(self._select)}
        differ = 0
        for row in self._gates:
            net, value = row[4], graph.gate(row, second)
            first[net] = graph.gate(row, first)
            second[net] = value if unequal[net] else first[net]
            differ = graph.either(differ, graph.differ(value, second[net]))
        following = {first[q]: first[d] for d, q in self._registers} | {second[q]: second[d] for d, q in apart}
        return abc.never_reached(graph, differ, following, timeout)

    def _beside(self, found: Mapping[str, int]) -> _Sequences:
        rng = np.random.default_rng(0)
        sequences = {}
        for name, width in self._widths.items():
            values = np.resize(self._sequences[name], (STEPS, WORD)).astype(object)
            for t in range(STEPS):
                bits = [found.get(f"{name}[{i}]@{t}") for i in range(width)]
                if None not in bits:
                    value = sum((bit or 0) << i for i, bit in enumerate(bits))
                    flips = np.bitwise_and.reduce(rng.integers(0, 1 << width, (4, WORD), dtype=np.uint64))
                    values[t] = value ^ np.where(np.arange(WORD), flips, 0).astype(object)
            sequences[name] = values.astype(self._sequences[name].dtype)
        return sequences
