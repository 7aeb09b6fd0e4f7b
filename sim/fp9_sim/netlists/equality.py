"""Whether a netlist computes the same with two values of a select input, for all other inputs.

SAT decides, in most cases at once. Where it takes long, ABC decides, where it is installed: by its own SAT, in two
parts (below), or by proving inner nets equal from the inputs on. What it leaves open, simulation narrows, as it finds
where a difference ends: nets that agree on all patterns so far, behind one that does not. SAT then proves that these
agree on all inputs, and so whatever lies behind them; its counterexample becomes a pattern. Last, the narrowest place
on the way is given any values.

The two parts are the inputs on which a difference goes far, as special operands that only the last steps overrule, and
all others. The first have some input bits in common (module `reach`): with these as constants little of the circuit is
left. On the others the difference ends early, and that it ends there is enough.

Pipeline registers are read as wires; registers that hold state, those in a loop, become inputs, and what they take next
is an output. So equal means equal from equal states on. Where that fails, the states that sequences reach are looked at
alone (module `sequences`). Some register bits are known better: those that are 0 for ever, as all are at first and none
but 0 comes in; those that are proven to decide nothing, neither an output nor what another register takes; and those
that keep a value without a meaning (module `registers`), which are no state at all.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats import HFP8_BIASES
from fp9.units import Port, Unit
from fp9_sim.netlists import abc
from fp9_sim.netlists.and_graph import AndGraph, Literal
from fp9_sim.netlists.cuts import narrowest
from fp9_sim.netlists.gates import GateNetlist, Planes, bit_planes, evaluate
from fp9_sim.netlists.reach import depths, furthest, in_common
from fp9_sim.netlists.registers import Register, as_wires, keepers, opened
from fp9_sim.netlists.sequences import Sequences
from fp9_sim.netlists.solver import TOP, State, Verdict, run

STATE = "registers"
"""Name of the input that stands for the registers that hold state, in a counterexample."""
KEPT, KEPT_BY_MUTANT = "kept", "kept_by_mutant"
"""Names of the inputs that stand for what registers kept that have no meaning then, in the circuit and its mutant."""

_PATTERNS = 1 << 15
"""Most operations that are simulated at first, drawn from all."""

_WHOLE_SECONDS = 5.0
"""Limit of the proof that looks at the outputs alone; most are done in less."""

_BEHIND = 0.6
"""Share of the time for proofs of where a difference ends."""

_ABC_PARTS = (0.1, 0.4, 0.5)
"""Shares of ABC's time: by SAT, in two parts, by proving inner nets equal."""

_CUT_AT = (0.5, 0.35)
"""How deep the narrowest place may lie, as parts of the longest path."""

_CUT_MOST = 120
"""Most nodes of a narrowest place."""

_BIT_SECONDS, _KEPT_SECONDS = 60.0, 600.0
"""Limits of the proofs that a register bit decides nothing, and that what registers keep has no meaning."""

_DECIDE = """\
read_verilog proof.v
hierarchy -check -top proof
proc
abc -g AND
opt_clean
sat -verify -show-ports -dump_json counterexample.json -prove ok 1 proof
"""


class Comparison:
    """A netlist with a unit's ports and the input `select`, to be compared with itself.

    `operations` are columns of the unit's inputs, the patterns to begin with.
    """

    def __init__(self, unit: Unit, netlist: GateNetlist, select: str, operations: Mapping[str, NDArray[Any]]) -> None:
        self._unit = unit
        self._select_name, self._select = select, netlist.inputs[select]
        self._ports = {port.name: netlist.inputs[port.name] for port in unit.inputs}
        self._outputs = [net for nets in netlist.outputs.values() for net in nets]
        self._source = netlist, operations
        self._kept_known = False
        self._set_up([])

    def _set_up(self, kept: list[Register]) -> None:
        """Take the registers `kept` as wires, and all others of the state as inputs and outputs."""
        netlist, operations = self._source
        gates, self._state = opened(netlist, kept)
        wires = as_wires(gates, kept, netlist.nets)
        self._gates, self._nets, self._is_second = wires.gates, wires.nets, wires.is_second
        free = {STATE: tuple(q for _, q in self._state), KEPT: wires.first, KEPT_BY_MUTANT: wires.second}
        self._inputs = self._ports | {name: nets for name, nets in free.items() if nets}
        rng = np.random.default_rng(0)
        drawn = rng.permutation(len(next(iter(operations.values()))))[:_PATTERNS]
        planes = {name: bit_planes(operations[name][drawn], len(nets)) for name, nets in self._ports.items()}
        for name, nets in free.items():
            planes[name] = rng.integers(0, 1 << 64, (len(nets), -(-len(drawn) // 64)), dtype=np.uint64)
        self._patterns = np.concatenate([planes[name] for name in self._inputs])
        self._graph = AndGraph()
        bits = [(f"{name}[{i}]", net) for name, nets in self._inputs.items() for i, net in enumerate(nets)]
        self._literals: dict[int, Literal] = {0: 0, 1: 1} | {net: self._graph.input(name) for name, net in bits}
        self._always_zero = self._never_set()
        self._literals |= dict.fromkeys(self._always_zero, 0)
        self._driven = np.array([net not in self._always_zero for nets in self._inputs.values() for net in nets])
        self._patterns[~self._driven] = 0
        self._right = self._evaluated(0, 0)
        self._ignored: frozenset[int] | None = None

    @property
    def _compared(self) -> list[int]:
        """Nets that have to agree: the outputs, and what registers take that are not known to decide nothing."""
        return self._outputs + [d for d, q in self._state if q not in (self._ignored or ())]

    def _never_set(self) -> set[int]:
        """Register bits that stay 0 while all of them are 0, whatever the inputs: by induction over clocks, 0 for
        ever."""
        literals, zero = self._literals, {q for _, q in self._state}
        while zero:
            self._literals = literals | dict.fromkeys(zero, 0)
            value = self._evaluated(0, 0)
            kept = {q for d, q in self._state if q in zero and value[d] == 0}
            if kept == zero:
                break
            zero = kept
        self._literals = literals
        return zero

    def _decide_nothing(self, timeout: float) -> frozenset[int]:
        """Register bits on which no output depends, and nothing that another register takes."""
        found = set()
        for d, q in self._state:
            others = self._outputs + [other for other, _ in self._state if other != d]
            if q not in self._always_zero and self._holds_for(q, others, timeout):
                found.add(q)
        return frozenset(found)

    def _holds_for(self, q: int, nets: list[int], timeout: float) -> bool:
        """Whether nets of the circuit itself are the same with a register bit 0 and 1; first by simulation."""
        patterns, place = self._patterns, [net for nets in self._inputs.values() for net in nets].index(q)
        values = []
        for word in (np.uint64(0), ~np.uint64(0)):
            self._patterns = patterns.copy()
            self._patterns[place] = word
            values.append(self._simulated(0, 0)[nets])
        self._patterns = patterns
        if (values[0] != values[1]).any():
            return False
        literals, both = self._literals, []
        for bit in (0, 1):
            self._literals = literals | {q: bit}
            both.append(self._evaluated(0, 0))
        self._literals = literals
        differs = 0
        for net in nets:
            differs = self._graph.either(differs, self._graph.differ(both[0][net], both[1][net]))
        return self._never(differs, timeout).state is State.PROVEN

    def equal(self, number: int, timeout: float) -> Verdict:
        """Whether the netlist with `number` at its input `select` computes what it computes with 0 there.

        Extra biases that the unit does not take are left out. A counterexample gives the unit's inputs and `STATE`, or
        those of a sequence, `a@0` and so on, where one tells the circuits apart from reset on.
        """
        verdict = self._equal(number, timeout)
        # What is kept without a meaning may make outputs differ, a bit that decides nothing never does.
        if verdict.state is State.REFUTED and self._without_kept():
            verdict = self._equal(number, timeout)
        if verdict.state is State.REFUTED and not self._reaches_outputs(number) and self._without_idle():
            verdict = self._equal(number, timeout)
        if verdict.state is State.PROVEN or not self._state:
            return verdict
        # States that no sequence reaches may tell circuits apart that no user can.
        netlist, operations = self._source
        reached = Sequences(self._unit, netlist, self._select_name, operations).equal(number, timeout)
        return verdict if reached.state is State.UNFINISHED else reached

    def _without_kept(self) -> bool:
        """Leave registers out that keep a value without a meaning, if there are some that are proven to."""
        if self._kept_known or not self._state:
            return False
        self._kept_known = True
        gates, state = opened(self._source[0], [])
        kept = keepers(gates, state, (net for nets in self._ports.values() for net in nets))
        self._set_up(kept)
        if kept and self._equal(0, _KEPT_SECONDS).state is not State.PROVEN:
            self._set_up([])
            return False
        return bool(kept)

    def _without_idle(self) -> bool:
        """Leave register bits out that decide nothing, if there are some that are proven to."""
        if self._ignored is not None:
            return False
        self._ignored = self._decide_nothing(_BIT_SECONDS)
        return bool(self._ignored)

    def _reaches_outputs(self, number: int) -> bool:
        """Whether some pattern tells the circuits apart by their outputs."""
        return bool(self._differing(number)[self._outputs].any())

    def _equal(self, number: int, timeout: float) -> Verdict:
        started = time.perf_counter()
        if not self._differing(number)[self._compared].any():
            verdict = self._agree(number, self._compared, min(_WHOLE_SECONDS, timeout))
            if verdict.state is State.UNFINISHED:
                verdict = self._by_abc(number, timeout)
            if verdict.state is not State.UNFINISHED:
                return verdict
        while (left := _BEHIND * timeout - time.perf_counter() + started) > 0:
            differs = self._differing(number)
            if found := np.flatnonzero(np.bitwise_or.reduce(differs[self._compared])).tolist():
                word = differs[self._compared, found[0]]
                return Verdict(State.REFUTED, time.perf_counter() - started, self._pattern(found[0], word))
            verdict = self._agree(number, self._ends(differs), left)
            if verdict.state is State.PROVEN:
                return verdict
            if verdict.state is State.REFUTED:
                self._learn(verdict.counterexample)
        return self._behind_cut(number, started + timeout)

    def _behind_cut(self, number: int, until: float) -> Verdict:
        """Whether the compared nets agree whatever values the narrowest place before the difference has, where few nets
        lead through it: no more than a proof, as values may be refuted that never come."""
        started = time.perf_counter()
        differs = self._difference(number, self._compared)
        operands = self._graph.operands()
        for part in _CUT_AT:
            cut = narrowest(operands, differs // 2, part, _CUT_MOST)
            left = until - time.perf_counter()
            if cut and left > 0 and self._never(differs, left, cut & operands.keys()).state is State.PROVEN:
                return Verdict(State.PROVEN, time.perf_counter() - started)
        return Verdict(State.UNFINISHED, time.perf_counter() - started)

    def _differing(self, number: int) -> Planes:
        """For every net and pattern, whether `number` makes a difference."""
        differs: Planes = self._simulated(0, 0) ^ self._simulated(number, 1)
        return differs

    def _simulated(self, number: int, is_second: int) -> Planes:
        """The value of every net at every pattern, in the first or the second circuit."""
        planes: Planes = np.zeros((self._nets, self._patterns.shape[1]), dtype=np.uint64)
        planes[1] = ~np.uint64(0)
        planes[[net for nets in self._inputs.values() for net in nets]] = self._patterns
        planes[[net for i, net in enumerate(self._select) if number >> i & 1]] = ~np.uint64(0)
        planes[self._is_second] = ~np.uint64(0) * np.uint64(is_second)
        evaluate(np.array(self._gates, dtype=np.int64), planes)
        return planes

    def _pattern(self, word: int, found: NDArray[np.uint64]) -> dict[str, int]:
        """The inputs of the first pattern of a word at which one of the given nets differs."""
        differs = int(np.bitwise_or.reduce(found))
        place = (differs & -differs).bit_length() - 1
        bits = iter((self._patterns[:, word] >> np.uint64(place) & np.uint64(1)).tolist())
        return {name: sum(next(bits) << i for i in range(len(nets))) for name, nets in self._inputs.items()}

    def _learn(self, inputs: Mapping[str, int]) -> None:
        """Add a pattern, and as many beside it as fill a word: some bits of it flipped, biases left as they are."""
        bits = np.concatenate(
            [bit_planes(np.array([inputs[n]], object), len(nets)) for n, nets in self._inputs.items()]
        )
        flips = np.random.default_rng(self._patterns.shape[1]).integers(0, 1 << 64, (4, len(bits)), dtype=np.uint64)
        held = np.concatenate([np.full(len(nets), n.endswith("_bias")) for n, nets in self._inputs.items()])
        held |= ~self._driven
        flipped = np.bitwise_and.reduce(flips) & ~np.uint64(1)
        word = np.where(bits[:, 0] & np.uint64(1), ~np.uint64(0), np.uint64(0)) ^ np.where(held, np.uint64(0), flipped)
        self._patterns = np.concatenate([self._patterns, word[:, None]], axis=1)

    def _evaluated(self, number: int, is_second: Literal) -> dict[int, Literal]:
        """The literal of every net with `number` at the select input, of the first or the second circuit."""
        value = self._literals | {net: number >> i & 1 for i, net in enumerate(self._select)}
        value[self._is_second] = is_second
        for row in self._gates:
            value[row[4]] = self._graph.gate(row, value)
        return value

    def _ends(self, differs: Planes) -> list[int]:
        """Nets that agree on all patterns, behind one that does not."""
        unequal = np.bitwise_or.reduce(differs, axis=1) != 0
        return [row[4] for row in self._gates if not unequal[row[4]] and unequal[list(row[1:4])].any()]

    def _by_abc(self, number: int, timeout: float) -> Verdict:
        """Whether the compared nets agree, by ABC; extra biases that the unit does not take are beyond it."""
        if any(port.name.endswith("_bias") for port in self._unit.inputs):
            return Verdict(State.UNFINISHED, 0.0)
        whole, parts, inner = (share * timeout for share in _ABC_PARTS)
        verdict = abc.never(self._graph, self._difference(number, self._compared), whole)
        if verdict.state is State.UNFINISHED:
            verdict = self._in_two_parts(number, parts)
        if verdict.state is State.UNFINISHED:
            wrong = self._evaluated(number, 1)
            verdict = abc.agree(self._graph, [(self._right[net], wrong[net]) for net in self._compared], inner)
        return replace(verdict, counterexample=self._whole(verdict.counterexample))

    def _whole(self, bits: Mapping[str, int]) -> dict[str, int]:
        """The inputs from the bits of a counterexample; those that it does not say are 0."""
        if not bits:
            return {}
        return {
            name: sum(bits.get(f"{name}[{i}]", 0) << i for i in range(len(nets))) for name, nets in self._inputs.items()
        }

    def _in_two_parts(self, number: int, timeout: float) -> Verdict:
        """Whether the compared nets agree where a difference goes far, and everywhere else."""
        started, graph = time.perf_counter(), self._graph
        nets = np.array([net for nets in self._inputs.values() for net in nets])
        while (left := timeout - time.perf_counter() + started) > 0:
            differs = self._differing(number)
            bits = self._of_far_differences(number, differs)
            if not bits or differs[self._compared].any():
                break
            inside, elsewhere = 1, np.zeros(differs.shape[1], dtype=np.uint64)
            for place, bit in bits.items():
                inside = graph.both(inside, self._literals[nets[place]] ^ 1 ^ bit)
                elsewhere |= self._patterns[place] ^ (~np.uint64(0) * np.uint64(bit))
            ends = self._difference(number, self._ends(differs & elsewhere))
            verdict = abc.never(graph, graph.both(ends, inside ^ 1), left)
            if verdict.state is State.PROVEN:
                return self._with_constants(number, {int(nets[place]): bit for place, bit in bits.items()}, left)
            if verdict.state is State.UNFINISHED:
                break
            self._learn(self._whole(verdict.counterexample))
        return Verdict(State.UNFINISHED, time.perf_counter() - started)

    def _of_far_differences(self, number: int, differs: Planes) -> dict[int, int]:
        """The bits of the inputs, by their places, that all patterns have in common whose difference goes far, and
        without which it does not."""
        depth = depths(self._gates, self._nets)
        far = furthest(differs, depth)
        if far is None:
            return {}
        patterns, common = self._patterns, in_common(self._patterns, far.patterns)
        self._patterns = far.flipped(patterns)
        stays = far.flips_that_stay(self._differing(number), depth)
        self._patterns = patterns
        return {place: bit for place, bit in common.items() if place not in stays}

    def _with_constants(self, number: int, constants: Mapping[int, int], timeout: float) -> Verdict:
        """Whether the compared nets agree where inputs are constants, by their nets."""
        literals, right = self._literals, self._right
        self._literals = {**literals, **constants}
        self._right = self._evaluated(0, 0)
        verdict = abc.never(self._graph, self._difference(number, self._compared), timeout)
        found = {self._graph.text(literals[net]): bit for net, bit in constants.items()}
        self._literals, self._right = literals, right
        return replace(verdict, counterexample={**verdict.counterexample, **found} if verdict.counterexample else {})

    def _changed(self, wrong: Mapping[int, Literal]) -> Literal:
        """Whether a gate gives another value although it takes the same ones, but for the select input's."""
        changed, right = 0, self._right
        for *_, a, b, s, y in self._gates:
            taken = [(right.get(net, 0), wrong.get(net, 0)) for net in (a, b, s)]
            of_select = any(pair in ((0, 1), (1, 0)) for pair in taken)
            if (right[y], wrong[y]) not in ((0, 1), (1, 0)) and (of_select or all(r == w for r, w in taken)):
                changed = self._graph.either(changed, self._graph.differ(right[y], wrong[y]))
        return changed

    def _agree(self, number: int, nets: list[int], timeout: float) -> Verdict:
        """Whether nets agree on all inputs."""
        return self._never(self._difference(number, nets), timeout)

    def _difference(self, number: int, nets: list[int]) -> Literal:
        """Whether some of the nets differ."""
        graph, wrong, differs = self._graph, self._evaluated(number, 1), 0
        for net in nets:
            differs = graph.either(differs, graph.differ(self._right[net], wrong[net]))
        # Nothing differs where the changed places themselves agree: said to the solver, it decides most cases at once.
        return graph.both(differs, self._changed(wrong))

    def _never(self, differs: Literal, timeout: float, free: Collection[int] = ()) -> Verdict:
        """Whether a literal is 0 for all inputs that the unit takes, and all values of the `free` nodes."""
        graph = self._graph
        if differs == 0:
            return Verdict(State.PROVEN, 0.0)
        ports = [f"input [{len(nets) - 1}:0] {name}" for name, nets in self._inputs.items()]
        ports += [f"input {graph.text(2 * node)}" for node in sorted(free)]
        lines = [f"module {TOP}({', '.join(ports)}, output ok);", *graph.cone(differs, free)]
        lines += [f"  assign ok = {_outside(self._unit.inputs)} || ~({graph.text(differs)});", "endmodule", ""]
        return run(_DECIDE, {"proof.v": "\n".join(lines)}, timeout)


def _outside(ports: tuple[Port, ...]) -> str:
    """The condition that an extra bias is none that the unit takes, in Verilog."""
    low, high = HFP8_BIASES.start, HFP8_BIASES.stop - 1
    biases = [port.name for port in ports if port.name.endswith("_bias")]
    return " || ".join(["1'b0", *(f"$signed({name}) < {low} || $signed({name}) > {high}" for name in biases)])
