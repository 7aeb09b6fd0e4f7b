"""Iterative division and square root: golden results with stalls and resets, and the clock cycles of each operation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.sim import Simulator, SimulatorContext
from click.testing import CliRunner

import fp9_rtl
from fp9.cli import main
from fp9.formats import format
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import Division, FpuGroup, MultiFpu, Reset
from fp9.vectors import generate
from fp9_sim import regress
from fp9_sim.batch import check
from fp9_sim.netlists.solvers.solver import State
from fp9_sim.proofs.claims import claims_of

MODES = (Rounding.RNE, Rounding.RDN)


def _unit(name: str, formats: Sequence[str], *groups: FpuGroup, **fields: Any) -> MultiFpu:
    given: dict[str, Any] = {"stages": 2, "roundings": MODES, "overflow": (Overflow.INF,)} | fields
    chosen = (*groups, FpuGroup.DIVSQRT)
    return MultiFpu(name, tuple(map(format, formats)), chosen, division=Division.ITERATIVE, **given)


NARROW = _unit("narrow", ("e4m3", "hif8"), FpuGroup.NONCOMP, flush=True, mixed=False)
WIDE = _unit("wide", ("e5m2", "fp16"), FpuGroup.ADDMUL, stages=3, tag=3, reset=Reset.ASYNC_LOW, reset_data=True)
LANES = _unit("lanes", ("e3m4", "e5m2", "bf16"), FpuGroup.ADDMUL, FpuGroup.INTCONV, FpuGroup.DOT, lanes=2)
PAUSED = _unit("paused", ("hfp8_143", "dlfloat16"), nan_boxing=True, enable=True, flush=True)
UNITS = (NARROW, WIDE, LANES, PAUSED)

each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@each_unit
def test_golden_results_come_through_stalls_resets_and_flushes(unit: MultiFpu, simulator: str, tmp_path: Path) -> None:
    smoke = generate(unit, "smoke")
    result = regress(unit, smoke, simulator, build_dir=tmp_path)
    assert result.passed and result.checked == len(smoke), result


@pytest.mark.every(4)
@each_unit
def test_the_corner_suite_gives_the_golden_results(unit: MultiFpu) -> None:
    first, count = check(unit, generate(unit, "corner").inputs, limit=3)
    assert not count, first


def clocks(unit: MultiFpu, operations: Sequence[dict[str, int]]) -> list[tuple[int, int]]:
    """Pairs of clock cycles of each operation without stalls: when it enters the unit and when its result leaves."""
    component: Any = fp9_rtl.build(unit)
    entered: list[int] = []
    left: list[int] = []

    async def bench(ctx: SimulatorContext) -> None:
        clock = 0
        ctx.set(component.out_ready, 1)
        while len(left) < len(operations):
            offers = len(entered) < len(operations)
            ctx.set(component.in_valid, offers)
            for name, code in operations[len(entered)].items() if offers else ():
                ctx.set(getattr(component, name), code)
            if ctx.get(component.out_valid):
                left.append(clock)
            if offers and ctx.get(component.in_ready):
                entered.append(clock)
            await ctx.tick()
            clock += 1

    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return list(zip(entered, left, strict=True))


FORMATS = (
    ("e4m3", "e5m2", "fp16"),
    ("hif8", "bf16"),
    ("e2m1", "e3m4", "dlfloat16"),
    ("1.1.6,b=1,specials=none", "1.1.14,b=1,specials=merged"),
)


@pytest.mark.parametrize("formats", FORMATS, ids=lambda formats: formats[0])
def test_a_division_takes_at_most_4_clocks_to_8_bits_and_10_to_16_bits(formats: Sequence[str]) -> None:
    # A result is at the outputs one clock cycle after the quotient has entered the rest of the datapath.
    unit = _unit("unit", formats)
    slow = [
        {"op": unit.operations.index(op), "result_format": target, "a": 0x31, "b": 0x2B}
        for target in range(len(formats))
        for op in unit.operations
    ]
    taken = [left - entered - 1 for entered, left in clocks(unit, slow)]
    limits = [4 if unit.formats[each["result_format"]].bits <= 8 else 10 for each in slow]
    assert all(1 < number <= limit for number, limit in zip(taken, limits, strict=True)), taken
    assert max(taken) == unit.extra_clocks + 1


@pytest.mark.slow
@pytest.mark.parametrize("unit", [WIDE, LANES], ids=lambda unit: unit.name)
def test_other_operations_enter_in_every_clock_cycle(unit: MultiFpu) -> None:
    unit = dataclasses.replace(unit, reset=Reset.SYNC)
    divide, other = (next(n for n, op in enumerate(unit.operations) if op.value == name) for name in ("div", "add"))
    ops = [other, other, divide, other, other]
    entered, left = zip(*clocks(unit, [{"op": op, "result_format": 0} for op in ops]), strict=True)
    extra = unit.division_clocks(unit.formats[0])
    assert entered == (0, 1, 2, 3 + extra, 4 + extra)
    assert [end - start for start, end in zip(entered, left, strict=True)] == [
        unit.latency + extra * (op == divide) for op in ops
    ]


@pytest.mark.every(2)
@each_unit
def test_the_handshake_is_proven_and_no_values(unit: MultiFpu) -> None:
    (claim,) = claims_of(unit)
    (case,) = claim.cases
    assert claim.name == "handshake"
    assert claim.decide(fp9_rtl.verilog(unit), case, case.specification, 120).state is State.PROVEN


WRONG = {
    "an operation outlives a flush": ("else if (flush)\n      valid <= 1'b0;", ""),
    "a division does not restart the counter": ("else if (i_ready)\n      count <= 2'd0;", ""),
    "a division takes an operation": (
        "assign i_ready = ~valid | (~iterates & o_ready)",
        "assign i_ready = ~valid | o_ready",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", WRONG)
def test_the_bench_notices_that(fault: str, tmp_path: Path) -> None:
    right = fp9_rtl.verilog(NARROW)
    wrong = right.replace(*WRONG[fault])
    assert wrong != right
    assert not regress(NARROW, generate(NARROW, "smoke"), "icarus", build_dir=tmp_path, verilog=wrong).passed


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["mutate"], "wide: division=iterative given, which computes in registers, so the unit is no combinational"),
        (["trace"], "wide: division=iterative computes one result in several clock cycles, and a trace shows one of"),
        (["energy"], "wide: division=iterative given, and energy is measured with one operation per clock cycle; set"),
    ],
)
def test_commands_that_need_one_clock_cycle_per_operation_refuse(
    command: list[str], sentence: str, tmp_path: Path
) -> None:
    from fp9.units.toml import dumps  # slow to load

    (tmp_path / "wide.toml").write_text(dumps(WIDE))
    done = CliRunner().invoke(main, [*command, str(tmp_path / "wide.toml")])
    assert done.exit_code and sentence in " ".join(done.output.split())
