"""Equivalence checking of a mutant and the original circuit, by several methods.

The following methods run in turn, until one method proves or refutes the equivalence:

1. A SAT solver decides most mutants within a short time.
2. ABC tries one SAT proof for all input values, then two SAT proofs for complementary input values, and then merges
   equal nodes.
3. Simulation finds gates at which a difference between the circuits ends: an input differs, but the output is equal. A
   SAT solver proves that the gate outputs found by simulation are equal for all inputs.
4. The proof is repeated on a smaller circuit, in which the nodes of a minimum cut become free inputs.
5. The module `cases` splits the proof into cases, each with fixed values of some nodes.

Two circuits are equivalent if, for all inputs and all states, their outputs and next states are equal. The module
`pair` prepares this proof. If the proof for all states fails, the module `sequential` compares only reachable states.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.units import Unit
from fp9_sim.netlists.gates import GateNetlist, Planes
from fp9_sim.netlists.graphs.cuts import narrowest, narrowest_near
from fp9_sim.netlists.graphs.reach import depths, furthest, in_common
from fp9_sim.netlists.graphs.registers import keepers, opened
from fp9_sim.netlists.solvers import abc, cases
from fp9_sim.netlists.solvers.pair import Pair
from fp9_sim.netlists.solvers.sequential import Sequences
from fp9_sim.netlists.solvers.solver import State, Verdict

_WHOLE_SECONDS = 5.0

_BEHIND = 0.6

_WITHOUT_CASES = 300.0
"""Time limit in seconds for all methods except cases. Longer proofs usually do not finish within an hour."""

_ABC_PARTS = (0.1, 0.4, 0.5)
"""Fractions of ABC's time for SAT, SAT in two parts, and merging of internal nodes."""

_CUT_AT = (0.5, 0.35)

_CUT_MOST = 120

_BIT_SECONDS, _KEPT_SECONDS = 60.0, 600.0
"""Time limits in seconds for proofs about unobservable register bits and about don't-care registers."""


class Comparison:
    """Equivalence checks of mutants in one netlist. At the input `select`, value 0 chooses the original circuit."""

    def __init__(self, unit: Unit, netlist: GateNetlist, select: str, operations: Mapping[str, NDArray[Any]]) -> None:
        self._pair = Pair(unit, netlist, select, operations)
        self._kept_known = False

    def equal(self, number: int, timeout: float) -> Verdict:
        """Decide whether mutant `number` is equivalent to the original circuit.

        The proof takes up to `timeout` seconds, and a proof by case split takes up to `timeout` further seconds. The
        proof excludes bias values that the unit does not accept. A counterexample that starts from reset maps each
        input of each operation to a value; `a@0` is input `a` of operation 0.
        """
        pair = self._pair
        verdict = self._equal(number, timeout)
        # Don't-care values in registers can make outputs differ. A bit that affects nothing cannot.
        if verdict.state is State.REFUTED and self._without_kept():
            verdict = self._equal(number, timeout)
        if verdict.state is State.REFUTED and not self._reaches_outputs(number) and self._without_idle():
            verdict = self._equal(number, timeout)
        if verdict.state is State.PROVEN or not pair.state:
            return verdict
        # The circuits may differ only in unreachable states, so compare them from reset.
        netlist, operations = pair.source
        reached = Sequences(pair.unit, netlist, pair.select, operations).equal(number, timeout)
        return verdict if reached.state is State.UNFINISHED else reached

    def _without_kept(self) -> bool:
        pair = self._pair
        if self._kept_known or not pair.state:
            return False
        self._kept_known = True
        gates, state = opened(pair.source[0], [])
        kept = keepers(gates, state, (net for nets in pair.ports.values() for net in nets))
        pair.set_up(kept)
        if kept and self._equal(0, _KEPT_SECONDS).state is not State.PROVEN:
            pair.set_up([])
            return False
        return bool(kept)

    def _without_idle(self) -> bool:
        pair = self._pair
        if pair.ignored is not None:
            return False
        pair.ignored = self._decide_nothing(_BIT_SECONDS)
        return bool(pair.ignored)

    def _decide_nothing(self, timeout: float) -> frozenset[int]:
        """Return the register bits that have no effect on an output or on another register."""
        pair = self._pair
        found = set()
        for d, q in pair.state:
            others = pair.outputs + [other for other, _ in pair.state if other != d]
            if q not in pair.always_zero and self._holds_for(q, others, timeout):
                found.add(q)
        return frozenset(found)

    def _holds_for(self, q: int, nets: list[int], timeout: float) -> bool:
        pair = self._pair
        patterns, place = pair.patterns, [net for nets in pair.inputs.values() for net in nets].index(q)
        values = []
        for word in (np.uint64(0), ~np.uint64(0)):
            pair.patterns = patterns.copy()
            pair.patterns[place] = word
            values.append(pair.simulated(0, 0)[nets])
        pair.patterns = patterns
        if (values[0] != values[1]).any():
            return False
        literals, both = pair.literals, []
        for bit in (0, 1):
            pair.literals = literals | {q: bit}
            both.append(pair.evaluated(0, 0))
        pair.literals = literals
        differs = 0
        for net in nets:
            differs = pair.graph.either(differs, pair.graph.differ(both[0][net], both[1][net]))
        return pair.never(differs, timeout).state is State.PROVEN

    def _reaches_outputs(self, number: int) -> bool:
        pair = self._pair
        return bool(pair.differing(number)[pair.outputs].any())

    def _equal(self, number: int, timeout: float) -> Verdict:
        pair = self._pair
        started, most = time.perf_counter(), min(timeout, _WITHOUT_CASES)
        if not pair.differing(number)[pair.compared].any():
            verdict = self._agree(number, pair.compared, min(_WHOLE_SECONDS, timeout))
            if verdict.state is State.UNFINISHED:
                verdict = self._by_abc(number, most)
            if verdict.state is not State.UNFINISHED:
                return verdict
        while (left := _BEHIND * most - time.perf_counter() + started) > 0:
            differs = pair.differing(number)
            if found := np.flatnonzero(np.bitwise_or.reduce(differs[pair.compared])).tolist():
                word = differs[pair.compared, found[0]]
                return Verdict(State.REFUTED, time.perf_counter() - started, pair.pattern(found[0], word))
            verdict = self._agree(number, pair.ends(differs), left)
            if verdict.state is State.PROVEN:
                return verdict
            if verdict.state is State.REFUTED:
                pair.learn(verdict.counterexample)
        verdict = self._behind_cut(number, started + most)
        return verdict if verdict.state is State.PROVEN else self._case_by_case(number, timeout)

    def _behind_cut(self, number: int, until: float) -> Verdict:
        """Try to prove that the circuits are equal for arbitrary values at the nodes of a minimum cut."""
        pair = self._pair
        started = time.perf_counter()
        differs = pair.difference(number, pair.compared)
        operands = pair.graph.operands()
        for part in _CUT_AT:
            cut = narrowest(operands, differs // 2, part, _CUT_MOST)
            left = until - time.perf_counter()
            if cut and left > 0 and pair.never(differs, left, cut & operands.keys()).state is State.PROVEN:
                return Verdict(State.PROVEN, time.perf_counter() - started)
        # A counterexample proves nothing, because the circuit may be unable to produce the values at the cut.
        return Verdict(State.UNFINISHED, time.perf_counter() - started)

    def _case_by_case(self, number: int, timeout: float) -> Verdict:
        pair = self._pair
        if pair.takes_biases:
            return Verdict(State.UNFINISHED, 0.0)
        graph, differs, wrong = pair.graph, pair.difference(number, pair.compared), pair.evaluated(number, 1)
        operands = graph.operands()
        own, of_mutant = (
            set().union(*(graph.reached(value[net]) for net in pair.compared)) for value in (pair.right, wrong)
        )
        apart = graph.reached(differs) - (own & of_mutant)
        common = {operand for node in apart for operand in operands.get(node, ()) if operand not in apart}
        # Bits of one circuit determine most bits of the other. Most cases that fix bits of both would be contradictory.
        verdict = cases.never(graph, differs, narrowest_near(operands, common - {0}), timeout, own - of_mutant)
        return replace(verdict, counterexample=pair.whole(verdict.counterexample))

    def _by_abc(self, number: int, timeout: float) -> Verdict:
        pair = self._pair
        if pair.takes_biases:
            return Verdict(State.UNFINISHED, 0.0)
        whole, parts, inner = (share * timeout for share in _ABC_PARTS)
        verdict = abc.never(pair.graph, pair.difference(number, pair.compared), whole)
        if verdict.state is State.UNFINISHED:
            verdict = self._in_two_parts(number, parts)
        if verdict.state is State.UNFINISHED:
            wrong = pair.evaluated(number, 1)
            verdict = abc.agree(pair.graph, [(pair.right[net], wrong[net]) for net in pair.compared], inner)
        return replace(verdict, counterexample=pair.whole(verdict.counterexample))

    def _in_two_parts(self, number: int, timeout: float) -> Verdict:
        pair = self._pair
        started, graph = time.perf_counter(), pair.graph
        nets = np.array([net for nets in pair.inputs.values() for net in nets])
        while (left := timeout - time.perf_counter() + started) > 0:
            differs = pair.differing(number)
            bits = self._of_far_differences(number, differs)
            if not bits or differs[pair.compared].any():
                break
            inside, elsewhere = 1, np.zeros(differs.shape[1], dtype=np.uint64)
            for place, bit in bits.items():
                inside = graph.both(inside, pair.literals[nets[place]] ^ 1 ^ bit)
                elsewhere |= pair.patterns[place] ^ (~np.uint64(0) * np.uint64(bit))
            ends = pair.difference(number, pair.ends(differs & elsewhere))
            verdict = abc.never(graph, graph.both(ends, inside ^ 1), left)
            if verdict.state is State.PROVEN:
                return self._with_constants(number, {int(nets[place]): bit for place, bit in bits.items()}, left)
            if verdict.state is State.UNFINISHED:
                break
            pair.learn(pair.whole(verdict.counterexample))
        return Verdict(State.UNFINISHED, time.perf_counter() - started)

    def _of_far_differences(self, number: int, differs: Planes) -> dict[int, int]:
        pair = self._pair
        depth = depths(pair.gates, pair.nets)
        far = furthest(differs, depth)
        if far is None:
            return {}
        patterns, common = pair.patterns, in_common(pair.patterns, far.patterns)
        pair.patterns = far.flipped(patterns)
        stays = far.flips_that_stay(pair.differing(number), depth)
        pair.patterns = patterns
        return {place: bit for place, bit in common.items() if place not in stays}

    def _with_constants(self, number: int, constants: Mapping[int, int], timeout: float) -> Verdict:
        pair = self._pair
        literals, right = pair.literals, pair.right
        pair.literals = {**literals, **constants}
        pair.right = pair.evaluated(0, 0)
        verdict = abc.never(pair.graph, pair.difference(number, pair.compared), timeout)
        found = {pair.graph.text(literals[net]): bit for net, bit in constants.items()}
        pair.literals, pair.right = literals, right
        return replace(verdict, counterexample={**verdict.counterexample, **found} if verdict.counterexample else {})

    def _agree(self, number: int, nets: list[int], timeout: float) -> Verdict:
        pair = self._pair
        return pair.never(pair.difference(number, nets), timeout)
