"""Sweeps: every input once, kept over kills, on processes and on a Dask cluster, failures shrunk, records added up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.sim.support.standins import combinational

import fp9_rtl
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, Mac, MacOp
from fp9.vectors import sets as vectors
from fp9_sim import check, verilated
from fp9_sim.sweeps import Plan, executors, parse_range, shrink, sweep, swept
from fp9_sim.sweeps import checkpoint as checkpoints
from fp9_sim.sweeps import shard as shards
from fp9_sim.sweeps.plan import STREAMS
from fp9_sim.sweeps.shard import Task, run_shard
from fp9_sim.sweeps.shrink import failing

UNIT = CATALOGUE["decoder_hif8"]
PLAN = Plan(UNIT, shard=16)
HEALTHY = combinational(UNIT)


# --- what is covered ------------------------------------------------------------------------------------------------


def test_an_enumeration_meets_every_input_once() -> None:
    unit = CATALOGUE["decoder_hfp8"]
    plan = Plan(unit, shard=1000)
    met = np.concatenate(
        [
            np.stack([block[port.name].astype(int) for port in unit.inputs], axis=1)
            for shard in range(plan.shards)
            for block in plan.blocks(shard)
        ]
    )
    assert len(met) == plan.space == 256 * 2 * 17
    assert len(np.unique(met, axis=0)) == plan.space


def test_the_float32_operand_runs_fastest_and_every_choice_gets_its_stretch() -> None:
    plan = Plan(CATALOGUE["cast_fp32"])
    assert plan.exhaustive
    assert plan.space == 3 * 3 * 2 << 32
    first, last = (next(plan.blocks(shard)) for shard in (0, plan.shards - 1))
    assert list(first["x"][:3]) == [0, 1, 2]
    assert (int(last["target"][0]), int(last["rounding"][0]), int(last["overflow"][0])) == (2, 2, 1)
    assert int(last["x"][0]) == (1 << 32) - plan.shard_size


@pytest.mark.parametrize("name", ["fma_dlfloat16", "cast_fp32", "decoder_all", "cast_fp16_hif8"])
def test_spaces_of_a_wide_operand_are_exhaustive(name: str) -> None:
    assert Plan(CATALOGUE[name]).exhaustive


@pytest.mark.parametrize("name", ["fma_fp32", "mac_dlfloat16", "mac_fp32"])
def test_larger_spaces_and_state_are_stratified(name: str) -> None:
    plan = Plan(CATALOGUE[name], count=1000, shard=400)
    assert plan.kind == "stratified"
    assert plan.shards == 4
    (first,) = plan.blocks(1)
    (again,) = plan.blocks(1)
    np.testing.assert_array_equal(first["c"], again["c"])
    assert len(first["c"]) == 400


def test_a_stratified_sweep_begins_with_the_corner_suite() -> None:
    mac = CATALOGUE["mac_dlfloat16"]
    (block,) = Plan(mac).blocks(0)
    for name, column in inputs_of(mac, "corner", None, 0).items():
        np.testing.assert_array_equal(block[name], column)


def test_the_first_shard_runs_in_the_unit_as_it_stands_and_the_others_in_streams_where_they_are_many() -> None:
    mac = CATALOGUE["mac_dlfloat16"]
    assert [Plan(mac).streams(index) for index in (0, 1)] == [None, STREAMS]
    assert Plan(mac, count=1000).streams(1) is None
    assert Plan(CATALOGUE["cast_fp32"]).streams(1) is None


@pytest.mark.parametrize("text", ["", "3", "2:2", "-1:4", "0:17", "a:b"])
def test_wrong_shards_are_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"give FIRST:STOP within 0:16"):
        parse_range(text, 16)


# --- records and resuming -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_sweep_adds_a_line_to_the_record_and_leaves_no_checkpoint(tmp_path: Path) -> None:
    for chosen in (range(0, 5), range(5, 16)):
        found = sweep(PLAN, chosen, folder=tmp_path, workers=1)
        assert found.passed
        assert found.simplest == ()
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")] == ["sweep/decoder_hif8.json"]
    runs = json.loads(found.path.read_text())["result"]["runs"]
    assert [run["count"] for run in runs] == [80, 176]
    assert runs[0]["spec"] == UNIT.describe()
    assert {"revision", "date", "command", "verilator", "verilog_sha256"} <= runs[0].keys()


def test_a_checkpoint_cut_at_any_byte_loses_no_shard_and_counts_none_twice(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    results = [run_shard(Task(PLAN, HEALTHY, index)) for index in range(3)]
    with checkpoints.opened(path) as kept:
        for result in (*results, results[0]):
            kept.add(result)
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        with checkpoints.opened(path) as kept:
            assert len(kept.done) == max(0, sum(end <= cut for end in ends) - 1)
            for result in results:
                kept.add(result)
            assert list(kept.done.values()) == results
        lines = path.read_text().splitlines()
        assert len(lines) == 4
        assert all(json.loads(line) for line in lines)


def test_a_checkpoint_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    running = pytest.raises(ValueError, match="the same sweep is running")
    with checkpoints.opened(path), running, checkpoints.opened(path):
        pass


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    verilog = tmp_path / "unit.v"
    verilog.write_text(HEALTHY)
    program.write_text(
        "import os, signal, sys\n"
        "from fp9.units import CATALOGUE\n"
        "from fp9_sim.sweeps import Plan, sweep\n"
        "def stop(what, done, total):\n"
        "    if done == 7: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if __name__ == '__main__':\n"
        "    plan = Plan(CATALOGUE['decoder_hif8'], shard=16)\n"
        "    sweep(plan, verilog=open(sys.argv[1]).read(), folder=sys.argv[2], workers=1, progress=stop)\n"
    )
    folder = tmp_path / "records"
    killed = subprocess.run([sys.executable, program, verilog, folder], check=False)
    assert killed.returncode == -signal.SIGKILL
    (journal,) = (folder / "sweep").iterdir()
    assert len(journal.read_text().splitlines()) == 1 + 7
    resumed: list[int] = []
    found = sweep(
        PLAN, verilog=HEALTHY, folder=folder, workers=1, progress=lambda what, done, total: resumed.append(done)
    )
    assert resumed == list(range(8, 17))
    assert found.record["count"] == 256


@pytest.mark.slow
@pytest.mark.parametrize("ignored", [True, False])
def test_workers_heed_an_interrupt_where_their_parent_does(ignored: bool) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
    try:
        with executors.processes(1) as pool:
            ended = pool.submit(signal.raise_signal, signal.SIGINT).exception()
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ended is None) == ignored


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed() -> None:
    """At their work, which nobody waits for any more."""
    program = (
        "import os, signal, time\n"
        "from fp9_sim.sweeps import executors\n"
        "if __name__ == '__main__':\n"
        "    with executors.processes(1) as pool:\n"
        "        pool.submit(os.getpid).result()\n"
        "        pool.submit(time.sleep, 600)\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    # The worker has the same standard output: there is no end of it, and no return, before the worker has ended.
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert killed.returncode == -signal.SIGTERM


@pytest.mark.slow
def test_a_killed_dask_worker_loses_nothing(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    plan = Plan(UNIT, shard=4)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, worker_dashboard_address=None
    ) as cluster:
        victim = cluster.workers[0].pid

        def kill(what: str, done: int, total: int) -> None:
            if done == 5:
                os.kill(victim, signal.SIGKILL)

        found = sweep(plan, verilog=HEALTHY, folder=tmp_path, scheduler=cluster.scheduler_address, progress=kill)
    assert found.record["count"] == 256
    assert found.passed


def test_a_scheduler_that_does_not_answer_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr("fp9_sim.sweeps.executors.CONNECT_SECONDS", 0.5)
    with pytest.raises(ValueError, match="no Dask scheduler answers at tcp:"):
        sweep(PLAN, verilog=HEALTHY, folder=tmp_path, scheduler="tcp://127.0.0.1:9")


# --- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_failure_is_counted_shrunk_and_can_be_run_again(tmp_path: Path) -> None:
    wrong = combinational(UNIT, significand="significand_of[code * 4 +: 4] ^ {3'd0, &code[6:5] & code[1]}")
    found = sweep(PLAN, verilog=wrong, folder=tmp_path, workers=1)
    dut = verilated(UNIT, verilog=wrong)
    _, expected = check(UNIT, {"code": np.arange(256, dtype=np.uint8)}, dut=dut)
    assert found.record["mismatches"] == expected > 0
    assert found.simplest == ({"code": 0b1100010},)
    assert failing(dut, found.simplest)


def test_a_sequence_shrinks_to_what_the_failure_needs() -> None:
    mac = CATALOGUE["mac_dlfloat16"]
    assert isinstance(mac, Mac)
    operations = vectors.generate(mac, "random", 200, 3).inputs
    rows = [{name: int(column[i]) for name, column in operations.items()} for i in range(200)]

    class Faulty:
        """The model, which forgets that HOLD keeps a negative accumulator."""

        unit = mac

        def __call__(self, **inputs: np.ndarray) -> dict[str, np.ndarray]:
            results = evaluate(mac, inputs)
            wrong = (inputs["op"] == MacOp.HOLD) & (results["result"] >> 15 == 1)
            return {**results, "result": results["result"] ^ wrong.astype(results["result"].dtype)}

    faulty = Faulty()
    last = next(i for i in range(200) if failing(faulty, rows[: i + 1]))  # type: ignore[arg-type]
    simplest = shrink(faulty, rows[: last + 1])  # type: ignore[arg-type]
    assert failing(faulty, simplest)  # type: ignore[arg-type]
    assert len(simplest) == 2
    assert simplest[-1] == {**dict.fromkeys(simplest[-1], 0), "op": MacOp.HOLD}


# --- what the runs of a record add up to ------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_runs_of_todays_circuit_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fp9_rtl.verilog", lambda unit: HEALTHY)
    form = fp9_rtl.circuit_digest(UNIT)
    for chosen in (range(0, 4), range(2, 8)):
        sweep(PLAN, chosen, folder=tmp_path, workers=1)
    half = swept(UNIT, tmp_path, {form})
    assert (half.enumerated, half.share, half.mismatches, half.earlier) == (128, 0.5, 0, False)
    sweep(PLAN, range(8, 16), folder=tmp_path, workers=1)
    assert swept(UNIT, tmp_path, {form}).share == 1
    other = swept(UNIT, tmp_path, {"0" * 64})
    assert (other.runs, other.share, other.earlier) == ((), 0, True)


# --- the C model ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["decoder_hif8", "mac_dlfloat16_chunked", "quantiser_nvfp4", "cast_fp32_x4"])
def test_the_c_model_gives_the_golden_results_of_arrays(name: str) -> None:
    made = vectors.generate(CATALOGUE[name], "smoke")
    model = shards.c_model(made.unit)
    assert model is not None
    _, wrong = shards.mismatches(made, shards.Answers(model(made.inputs), {}), 1)
    assert wrong == 0


def test_a_sweep_ends_at_a_difference_of_the_c_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        results = {port.name: column.copy() for port, column in zip(UNIT.outputs, golden(inputs), strict=True)}
        results["sign"][3] ^= 1
        return results

    def golden(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        made = vectors.from_inputs(UNIT, inputs)
        return [made.expected[port.name] for port in UNIT.outputs]

    monkeypatch.setattr(shards, "c_model", lambda unit: wrong)
    with pytest.raises(ValueError, match="the C model differs from the golden model in 1 of 16 operations"):
        run_shard(Task(PLAN, HEALTHY, 0))
