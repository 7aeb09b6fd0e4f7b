"""Run a sweep and add its result to the unit's record."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.units import Unit
from fp9_sim.batch.unit import Verilated, verilated
from fp9_sim.provenance import model_digest, provenance
from fp9_sim.records import SWEEP, home
from fp9_sim.simulators.find import verilator
from fp9_sim.sweeps import checkpoint, executors, sweep_record
from fp9_sim.sweeps.plan import Plan
from fp9_sim.sweeps.shard import ShardResult, Task, c_model, run_shard
from fp9_sim.sweeps.shrink import Operation, shrink

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep. `record` contains the fields of the sweep run that was added to the record file `path`.

    `simplest` is a short sequence of operations that fails in its last operation when simulated from reset. `simplest`
    is empty if no operation fails. `rate` is in operations per second.
    """

    unit: Unit
    record: dict[str, Any]
    path: Path
    simplest: tuple[Operation, ...]
    rate: float

    @property
    def passed(self) -> bool:
        return not self.record["mismatches"]


def sweep(
    plan: Plan,
    chosen: range | None = None,
    *,
    verilog: str | None = None,
    folder: Path | str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run the chosen shards of a sweep (by default all shards), and add the result to the unit's record.

    `folder` is the folder of all records, by default the result of `home()`. A repeated call with the same arguments
    continues a sweep that was killed. `verilog` replaces the generated Verilog. The shards run in `workers` local
    processes, by default one for each core, or on the workers of the Dask scheduler at the address `scheduler`.

    Raises ValueError if the same sweep is already running, if the scheduler does not answer, if a worker was killed, or
    if the C model differs from the golden model. Raises MissingTool if a tool is missing, and SimulatorError if
    Verilator rejects the design. Raises OSError if the folder cannot be written.
    """
    text = fp9_rtl.verilog(plan.unit) if verilog is None else verilog
    shards = range(plan.shards) if chosen is None else chosen
    dut = verilated(plan.unit, threads=1, verilog=text, operations=plan.operations)
    folder = home() if folder is None else Path(folder)
    started = time.perf_counter()
    with checkpoint.opened(folder / SWEEP / f".{plan.unit.name}-{_key(plan, shards, text)}.jsonl") as kept:
        before = sum(result.count for result in kept.done.values())
        left = [Task(plan, text, index) for index in shards if index not in kept.done]
        found = executors.run(run_shard, left, workers or len(os.sched_getaffinity(0)), scheduler)
        _run(kept, found, plan, len(shards), progress)
        results = [kept.done[index] for index in shards]
        seconds = time.perf_counter() - started
        record = _record(kept.run, plan, shards, text, results, seconds)
        record["circuit_sha256"] = fp9_rtl.circuit_digest(plan.unit) if verilog is None else None
        path = sweep_record.add(folder, plan.unit.name, record)
        kept.remove()
    return Sweep(plan.unit, record, path, _simplest(plan, dut, results), (record["count"] - before) / seconds)


def _run(
    kept: checkpoint.Checkpoint, results: Iterable[ShardResult], plan: Plan, total: int, progress: Progress | None
) -> None:
    started, count = time.perf_counter(), 0
    for result in results:
        kept.add(result)
        count += result.count
        if progress:
            rate = count / (time.perf_counter() - started) / 1e6
            failed = sum(done.mismatches for done in kept.done.values())
            said = f"{plan.unit.name}: {rate:.1f} million operations/s" + (f", {failed} mismatches" if failed else "")
            progress(said, len(kept.done), total)


def _key(plan: Plan, shards: range, verilog: str) -> str:
    # The digest covers everything that the results of finished shards depend on.
    parts = [*plan.unit.describe(), plan.kind, plan.shards, plan.shard_size, shards.start, shards.stop]
    return hashlib.sha256(json.dumps([*parts, verilog, model_digest()]).encode()).hexdigest()[:16]


def _record(
    run: str, plan: Plan, shards: range, verilog: str, results: list[ShardResult], seconds: float
) -> dict[str, Any]:
    count = sum(result.count for result in results)
    spent = {
        "model": sum(result.model_seconds for result in results),
        "verilog": sum(result.verilog_seconds for result in results),
    }
    return {
        "run": run,
        "spec": plan.unit.describe(),
        "kind": plan.kind,
        "space": plan.space,
        "shard_size": plan.shard_size,
        "shards": plan.shards,
        "first": shards.start,
        "stop": shards.stop,
        "streams": plan.streams(shards[-1]) or 1,
        "count": count,
        "mismatches": sum(result.mismatches for result in results),
        "c_model": c_model(plan.unit) is not None,
        "failing": [inputs for result in results for _, inputs in result.failing][:10],
        "verilog_sha256": hashlib.sha256(verilog.encode()).hexdigest(),
        "model_sha256": model_digest(),
        "seconds": round(seconds, 1),
        "million_per_second": {side: round(count / max(s, 1e-9) / 1e6, 1) for side, s in spent.items()},
        "verilator": verilator().version,
        **provenance(),
    }


def _simplest(plan: Plan, dut: Verilated, results: list[ShardResult]) -> tuple[Operation, ...]:
    failed = next((result for result in results if result.failing), None)
    if failed is None:
        return ()
    place, operation = failed.failing[0]
    if plan.exhaustive:
        return tuple(shrink(dut, [operation]))
    (columns,) = plan.blocks(failed.shard)
    rows = [{name: int(column[i]) for name, column in columns.items()} for i in range(place + 1)]
    return tuple(shrink(dut, rows))
