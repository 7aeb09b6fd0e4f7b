"""The tile in Amaranth's simulator: how many clocks a product takes; the Verilog's results are checked in tests/sim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from amaranth.sim import Simulator, SimulatorContext
from click.testing import CliRunner

from fp9.cli import main
from fp9.engines import ENGINES
from fp9.formats import format
from fp9.units import CATALOGUE
from fp9_rtl.gemm.tile import GemmComponent, GemmTile, gemm_verilog

OCP = (format("e4m3"), format("e5m2"))


@pytest.mark.every(3)
@pytest.mark.parametrize(("rows", "columns", "stages", "steps"), [(1, 1, 1, 1), (2, 3, 1, 4), (3, 2, 3, 5)])
def test_a_product_takes_its_period(rows: int, columns: int, stages: int, steps: int) -> None:
    tile = GemmTile("tile", rows, columns, OCP, OCP, ENGINES["dlfloat"], OCP[0], mac_stages=stages)
    component: Any = GemmComponent(tile)
    begun: list[int] = []
    ones = int.from_bytes(bytes([0x38] * max(rows, columns)), "little")  # 1.0 in e4m3
    results: list[int] = []

    async def bench(ctx: SimulatorContext) -> None:
        ctx.set(component.in_valid, 1)
        ctx.set(component.out_ready, 1)
        ctx.set(component.a, ones % (1 << 8 * rows))
        ctx.set(component.b, ones % (1 << 8 * columns))
        step = 0
        for clock in range(2 * tile.period(steps) + 1):
            ctx.set(component.in_last, step == steps - 1)
            if ctx.get(component.in_ready):
                begun.extend([clock] if step == 0 else [])
                step = (step + 1) % steps
            if ctx.get(component.out_valid):
                results.append(ctx.get(component.result))
            await ctx.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert begun == [0, tile.period(steps), 2 * tile.period(steps)]
    sum_of_ones = {1: 0x38, 4: 0x48, 5: 0x4A}[steps]
    assert results == [int.from_bytes(bytes([sum_of_ones] * columns), "little")] * (2 * rows)


@pytest.mark.slow
def test_the_same_tile_gives_the_same_text_with_its_parameters() -> None:
    tile = GemmTile("tile", 1, 2, OCP, OCP, ENGINES["fma_fp16"], OCP[1])
    text = gemm_verilog(tile)
    assert text == gemm_verilog(tile)
    assert "//   columns: 2\n" in text and "module tile(" in text


@pytest.mark.slow
def test_the_command_writes_the_tile_of_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "tile.v"
    asked = ["gemm", "--rows", "1", "--columns", "2", "--unit", "mac4_e8m13_ocp", "--cast", "e5m2", "-o", str(path)]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert path.read_text() == gemm_verilog(GemmTile.of(CATALOGUE["mac4_e8m13_ocp"], 1, 2, "e5m2"))


def test_a_unit_with_bias_ports_is_refused() -> None:
    done = CliRunner().invoke(main, ["gemm", "--unit", "fma_dlfloat16_bias"])
    assert done.exit_code == 2
    assert "give a unit without them" in done.output
