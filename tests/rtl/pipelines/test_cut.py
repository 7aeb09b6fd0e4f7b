"""Registers between the stages of a unit: where they stand, by the delays of the unit's own gates."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from fp9.units import CATALOGUE, MAX_STAGES
from fp9_rtl.components import unit_steps
from fp9_rtl.pipelines.cells import Cell
from fp9_rtl.pipelines.gates import Gate, Gates
from fp9_rtl.pipelines.netlist import Netlist, Operation, netlist
from fp9_rtl.pipelines.retime import longest_path, place

KINDS = ("cast_fp32_ocp_rne", "fma_dlfloat16_hfp8", "dot2_dlfloat16_hfp8", "fpu_dlfloat16_hfp8")
"""A unit of every kind whose datapath is long enough to be cut."""


def drawn(seed: int, size: int) -> tuple[Netlist, list[tuple[list[int], int]]]:
    """A circuit of single gates, one bit each, and of every gate what it reads (-1: the input) and its delay."""
    rng = random.Random(seed)
    gates = [(sorted(rng.sample(range(-1, i), min(i + 1, rng.randint(1, 2)))), rng.randint(1, 9)) for i in range(size)]
    operations = tuple(
        Operation(
            (Cell("$and", {}, {"A": tuple(bit + 2 for bit in reads), "Y": (i + 2,)}),),
            tuple(bit + 2 for bit in reads),
            (i + 2,),
            (Gate(100 + i, tuple(bit + 2 for bit in reads), delay),),
        )
        for i, (reads, delay) in enumerate(gates)
    )
    bits = range(1, size + 2)
    mapped = Gates(
        {100 + i: operation.gates[0] for i, operation in enumerate(operations)},
        {bit: bit for bit in bits},
        {i + 2: 100 + i for i in range(size)},
        dict.fromkeys(bits, 0),
    )
    return Netlist(operations, (1,), (size + 1,), {}, mapped), gates


def cuts(gates: list[tuple[list[int], int]], stages: int) -> Iterator[tuple[int, ...]]:
    """Every way to give stages to gates so that none comes before one that it reads."""
    for placed in itertools.product(range(1, stages + 1), repeat=len(gates)):
        if all(placed[i] >= placed[r] for i, (reads, _) in enumerate(gates) for r in reads if r >= 0):
            yield placed


def longest(gates: list[tuple[list[int], int]], placed: tuple[int, ...]) -> int:
    """The longest way through gates of one stage."""
    ends: list[int] = []
    for i, (reads, delay) in enumerate(gates):
        ends.append(delay + max([ends[r] for r in reads if r >= 0 and placed[r] == placed[i]], default=0))
    return max(ends)


@pytest.mark.parametrize("seed", range(30))
def test_no_cut_of_a_circuit_has_a_shorter_longest_path(seed: int) -> None:
    """Against all cuts of small circuits, one by one."""
    circuit, gates = drawn(seed, 6)
    for stages in (1, 2, 3):
        placed = place(circuit, stages)
        assert tuple(placed) in set(cuts(gates, stages))
        shortest = min(longest(gates, other) for other in cuts(gates, stages))
        assert longest(gates, tuple(placed)) == longest_path(circuit, placed) == shortest


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_every_further_stage_of_a_unit_shortens_its_clock(name: str) -> None:
    """None is longer than its share of the whole by more than the slowest operation, which no register divides."""
    steps = unit_steps(CATALOGUE[name])
    circuit = netlist(steps)
    whole = longest_path(circuit, place(circuit, 1))
    slowest = longest_path(circuit, range(1, len(circuit.operations) + 1))
    paths = [longest_path(circuit, place(circuit, stages)) for stages in range(1, MAX_STAGES + 1)]
    assert paths == sorted(paths, reverse=True) and len(set(paths)) > 4
    for stages, path in enumerate(paths, start=1):
        assert whole / stages <= path <= whole / stages + slowest
