"""Compare an original circuit and its mutant, by simulation and by an AND graph that contains both circuits.

The current value of a state register becomes an input, and its next value becomes an output.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats import HFP8_BIASES
from fp9.units import Port, Unit
from fp9_sim.netlists.gates import GateNetlist, Planes, bit_planes, evaluate
from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal
from fp9_sim.netlists.graphs.registers import Register, as_wires, opened
from fp9_sim.netlists.solvers.solver import TOP, State, Verdict, run

STATE = "registers"
KEPT, KEPT_BY_MUTANT = "kept", "kept_by_mutant"
"""Names of counterexample inputs for the don't-care register values of the two circuits."""

_PATTERNS = 1 << 15
"""Largest number of operations in the first simulation."""

_DECIDE = """\
read_verilog proof.v
hierarchy -check -top proof
proc
abc -g AND
opt_clean
sat -verify -show-ports -dump_json counterexample.json -prove ok 1 proof
"""


class Pair:
    """A netlist that is the original circuit if the input `select` is 0, and otherwise a mutant."""

    def __init__(self, unit: Unit, netlist: GateNetlist, select: str, operations: Mapping[str, NDArray[Any]]) -> None:
        self.unit = unit
        self.select, self._select = select, netlist.inputs[select]
        self.ports = {port.name: netlist.inputs[port.name] for port in unit.inputs}
        self.outputs = [net for nets in netlist.outputs.values() for net in nets]
        self.source = netlist, operations
        self.set_up([])

    def set_up(self, kept: list[Register]) -> None:
        netlist, operations = self.source
        # `state` holds a pair of nets (D, Q) for every state register.
        gates, self.state = opened(netlist, kept)
        wires = as_wires(gates, kept, netlist.nets)
        self.gates, self.nets, self._is_second = wires.gates, wires.nets, wires.is_second
        free = {STATE: tuple(q for _, q in self.state), KEPT: wires.first, KEPT_BY_MUTANT: wires.second}
        self.inputs = self.ports | {name: nets for name, nets in free.items() if nets}
        rng = np.random.default_rng(0)
        drawn = rng.permutation(len(next(iter(operations.values()))))[:_PATTERNS]
        planes = {name: bit_planes(operations[name][drawn], len(nets)) for name, nets in self.ports.items()}
        for name, nets in free.items():
            planes[name] = rng.integers(0, 1 << 64, (len(nets), -(-len(drawn) // 64)), dtype=np.uint64)
        # One row per input bit. Each bit of a row belongs to one simulation pattern.
        self.patterns = np.concatenate([planes[name] for name in self.inputs])
        self.graph = AndGraph()
        bits = [(f"{name}[{i}]", net) for name, nets in self.inputs.items() for i, net in enumerate(nets)]
        self.literals: dict[int, Literal] = {0: 0, 1: 1} | {net: self.graph.input(name) for name, net in bits}
        self.always_zero = self._never_set()
        self.literals |= dict.fromkeys(self.always_zero, 0)
        self._driven = np.array([net not in self.always_zero for nets in self.inputs.values() for net in nets])
        self.patterns[~self._driven] = 0
        # The literal of each net of the original circuit.
        self.right = self.evaluated(0, 0)
        self.ignored: frozenset[int] | None = None

    @property
    def compared(self) -> list[int]:
        return self.outputs + [d for d, q in self.state if q not in (self.ignored or ())]

    @property
    def takes_biases(self) -> bool:
        return any(port.name.endswith("_bias") for port in self.unit.inputs)

    def _never_set(self) -> set[int]:
        """Return the register bits that stay 0 after reset, proven by induction over clock cycles."""
        literals, zero = self.literals, {q for _, q in self.state}
        while zero:
            self.literals = literals | dict.fromkeys(zero, 0)
            value = self.evaluated(0, 0)
            kept = {q for d, q in self.state if q in zero and value[d] == 0}
            if kept == zero:
                break
            zero = kept
        self.literals = literals
        return zero

    def differing(self, number: int) -> Planes:
        """Return a bit plane for every net. A 1 marks a pattern for which the two circuits differ."""
        differs: Planes = self.simulated(0, 0) ^ self.simulated(number, 1)
        return differs

    def simulated(self, number: int, is_second: int) -> Planes:
        planes: Planes = np.zeros((self.nets, self.patterns.shape[1]), dtype=np.uint64)
        planes[1] = ~np.uint64(0)
        planes[[net for nets in self.inputs.values() for net in nets]] = self.patterns
        planes[[net for i, net in enumerate(self._select) if number >> i & 1]] = ~np.uint64(0)
        planes[self._is_second] = ~np.uint64(0) * np.uint64(is_second)
        evaluate(np.array(self.gates, dtype=np.int64), planes)
        return planes

    def pattern(self, word: int, found: NDArray[np.uint64]) -> dict[str, int]:
        differs = int(np.bitwise_or.reduce(found))
        place = (differs & -differs).bit_length() - 1
        bits = iter((self.patterns[:, word] >> np.uint64(place) & np.uint64(1)).tolist())
        return {name: sum(next(bits) << i for i in range(len(nets))) for name, nets in self.inputs.items()}

    def learn(self, inputs: Mapping[str, int]) -> None:
        """Add a simulation pattern, and random variants of the pattern in which some input bits are inverted."""
        bits = np.concatenate([bit_planes(np.array([inputs[n]], object), len(nets)) for n, nets in self.inputs.items()])
        flips = np.random.default_rng(self.patterns.shape[1]).integers(0, 1 << 64, (4, len(bits)), dtype=np.uint64)
        held = np.concatenate([np.full(len(nets), n.endswith("_bias")) for n, nets in self.inputs.items()])
        held |= ~self._driven
        flipped = np.bitwise_and.reduce(flips) & ~np.uint64(1)
        word = np.where(bits[:, 0] & np.uint64(1), ~np.uint64(0), np.uint64(0)) ^ np.where(held, np.uint64(0), flipped)
        self.patterns = np.concatenate([self.patterns, word[:, None]], axis=1)

    def whole(self, bits: Mapping[str, int]) -> dict[str, int]:
        """Return the values of all inputs from the bits of a counterexample. Missing bits are 0."""
        if not bits:
            return {}
        return {
            name: sum(bits.get(f"{name}[{i}]", 0) << i for i in range(len(nets))) for name, nets in self.inputs.items()
        }

    def evaluated(self, number: int, is_second: Literal) -> dict[int, Literal]:
        value = self.literals | {net: number >> i & 1 for i, net in enumerate(self._select)}
        value[self._is_second] = is_second
        for row in self.gates:
            value[row[4]] = self.graph.gate(row, value)
        return value

    def ends(self, differs: Planes) -> list[int]:
        """Return the output nets of gates at which the two circuits differ in an input, but not in the output."""
        unequal = np.bitwise_or.reduce(differs, axis=1) != 0
        return [row[4] for row in self.gates if not unequal[row[4]] and unequal[list(row[1:4])].any()]

    def difference(self, number: int, nets: list[int]) -> Literal:
        """Return a literal that is 1 only if at least one of the nets differs between the two circuits."""
        graph, wrong, differs = self.graph, self.evaluated(number, 1), 0
        for net in nets:
            differs = graph.either(differs, graph.differ(self.right[net], wrong[net]))
        # Without a difference at the changed gates nothing differs. The extra condition decides most mutants at once.
        return graph.both(differs, self._changed(wrong))

    def _changed(self, wrong: Mapping[int, Literal]) -> Literal:
        changed, right = 0, self.right
        for *_, a, b, s, y in self.gates:
            taken = [(right.get(net, 0), wrong.get(net, 0)) for net in (a, b, s)]
            of_select = any(pair in ((0, 1), (1, 0)) for pair in taken)
            if (right[y], wrong[y]) not in ((0, 1), (1, 0)) and (of_select or all(r == w for r, w in taken)):
                changed = self.graph.either(changed, self.graph.differ(right[y], wrong[y]))
        return changed

    def never(self, differs: Literal, timeout: float, free: Collection[int] = ()) -> Verdict:
        """Decide whether a literal is 0 for all accepted inputs. The nodes in `free` may have any value."""
        graph = self.graph
        if differs == 0:
            return Verdict(State.PROVEN, 0.0)
        ports = [f"input [{len(nets) - 1}:0] {name}" for name, nets in self.inputs.items()]
        ports += [f"input {graph.text(2 * node)}" for node in sorted(free)]
        lines = [f"module {TOP}({', '.join(ports)}, output ok);", *graph.cone(differs, free)]
        lines += [f"  assign ok = {_outside(self.unit.inputs)} || ~({graph.text(differs)});", "endmodule", ""]
        return run(_DECIDE, {"proof.v": "\n".join(lines)}, timeout)


def _outside(ports: tuple[Port, ...]) -> str:
    low, high = HFP8_BIASES.start, HFP8_BIASES.stop - 1
    biases = [port.name for port in ports if port.name.endswith("_bias")]
    return " || ".join(["1'b0", *(f"$signed({name}) < {low} || $signed({name}) > {high}" for name in biases)])
