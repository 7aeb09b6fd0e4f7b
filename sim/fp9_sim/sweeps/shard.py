"""Run one shard of a sweep: compare the compiled unit and the C model with the golden model."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

from fp9.units import Unit
from fp9.vectors.sets import VectorSet, from_inputs
from fp9_sim.batch import CModel
from fp9_sim.batch.unit import Verilated, verilated
from fp9_sim.bench.scoreboard import Answers, mismatches
from fp9_sim.sweeps.plan import Plan

KEPT = 3


@dataclass(frozen=True)
class Task:
    plan: Plan
    verilog: str
    index: int


@dataclass(frozen=True)
class ShardResult:
    shard: int
    count: int
    mismatches: int
    # The index in the shard and the inputs of each failing operation.
    failing: tuple[tuple[int, dict[str, int]], ...]
    model_seconds: float
    verilog_seconds: float


def run_shard(task: Task) -> ShardResult:
    """For each operation of a shard, compare the results of the Verilog and of the C model with the golden results."""
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
        _check_c_model(vectors)
        wrong += total
        count += len(vectors)
    return ShardResult(task.index, count, wrong, tuple(failing), model_seconds, verilog_seconds)


def _check_c_model(vectors: VectorSet) -> None:
    unit = vectors.unit
    model = c_model(unit)
    if model is None:
        return
    found, total = mismatches(vectors, Answers(model(vectors.inputs), {}), 1)
    if total:
        raise ValueError(
            f"{unit.name}: the C model differs from the golden model in {total} of {len(vectors)} operations. Report "
            f"this fault of fp9. First difference: {found[0]}"
        )


@functools.lru_cache(maxsize=8)
def c_model(unit: Unit) -> CModel | None:
    try:
        return CModel(unit)
    except ValueError:
        return None


@functools.lru_cache(maxsize=8)
def _compiled(plan: Plan, verilog: str, streams: int | None) -> Verilated:
    return verilated(plan.unit, threads=1, verilog=verilog, streams=streams, operations=plan.operations)
