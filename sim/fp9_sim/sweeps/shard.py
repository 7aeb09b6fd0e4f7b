"""One shard: the compiled unit and the golden model on the same inputs, in any worker."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

from fp9.vectors.sets import from_inputs
from fp9_sim.batch.unit import Verilated, verilated
from fp9_sim.benches.scoreboard import Answers, mismatches
from fp9_sim.sweeps.plan import Plan

KEPT = 3
"""Failing operations stored for a shard."""


@dataclass(frozen=True)
class Task:
    """A shard of a plan for a Verilog text: the complete input of a worker."""

    plan: Plan
    verilog: str
    index: int


@dataclass(frozen=True)
class ShardResult:
    """The outcome of a shard: operations, mismatches, first failing operations, and seconds of model and circuit.

    `failing` holds for each failing operation its index in the shard and its inputs.
    """

    shard: int
    count: int
    mismatches: int
    failing: tuple[tuple[int, dict[str, int]], ...]
    model_seconds: float
    verilog_seconds: float


def run_shard(task: Task) -> ShardResult:
    """Compare a shard's results with the golden model. Raises what `verilated` raises."""
    dut = _compiled(task.plan, task.verilog, task.plan.streams(task.index))
    count = wrong = 0
    model_seconds = verilog_seconds = 0.0
    failing: list[tuple[int, dict[str, int]]] = []
    for columns in task.plan.blocks(task.index):
        started = time.perf_counter()
        vectors = from_inputs(task.plan.unit, columns)
        between = time.perf_counter()
        answers = Answers(dut(**vectors.inputs), {})
        model_seconds += between - started
        verilog_seconds += time.perf_counter() - between
        found, total = mismatches(vectors, answers, KEPT - len(failing))
        for index in (mismatch.index for mismatch in found):
            failing.append((count + index, {name: int(column[index]) for name, column in vectors.inputs.items()}))
        wrong += total
        count += len(vectors)
    return ShardResult(task.index, count, wrong, tuple(failing), model_seconds, verilog_seconds)


@functools.lru_cache(maxsize=8)
def _compiled(plan: Plan, verilog: str, streams: int | None) -> Verilated:
    return verilated(plan.unit, threads=1, verilog=verilog, streams=streams, operations=plan.operations)
