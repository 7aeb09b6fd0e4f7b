"""Tiles in Verilator against `fp9.matmul` and `fp9.cast`: several products one after the other, with pauses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.programs import built
from tests.support.rosters import thinned

import fp9
from fp9.engines import ENGINES
from fp9.formats import format
from fp9.units import CATALOGUE
from fp9_rtl.gemm.tile import GemmTile, gemm_verilog
from fp9_sim.regression import gemm as gemm_check
from fp9_sim.regression.gemm import check_tile
from fp9_sim.simulators.find import VERILATOR_ARGUMENTS

OCP = (format("e4m3"), format("e5m2"))

BENCH = """\
#include <cstdio>
#include <cstdlib>
#include "Vtile.h"
int main() {
    Vtile top;
    unsigned a, b, last, formats, pause, seed = 1;
    const auto clock = [&] { top.clk = 1; top.eval(); top.clk = 0; top.eval(); };
    const auto draw = [&] { return (seed = seed * 1664525u + 1013904223u) >> 30; };
    top.clk = 0; top.rst = 1; top.in_valid = 0; top.out_ready = 0; top.eval(); clock(); top.rst = 0;
    bool more = std::scanf("%x %x %x %x %x", &a, &b, &last, &formats, &pause) == 5;
    for (unsigned idle = 0; idle < 2000; ++idle) {
        top.in_valid = more && pause == 0;
        if (pause) --pause;
        top.a = a; top.b = b; top.in_last = last; top.a_format = formats & 1; top.b_format = formats >> 1;
        top.out_ready = draw() != 0;
        top.eval();
        if (top.out_valid && top.out_ready) { std::printf("%x %x\\n", (unsigned)top.result, top.out_last); idle = 0; }
        const bool taken = top.in_valid && top.in_ready;
        clock();
        if (taken) { more = std::scanf("%x %x %x %x %x", &a, &b, &last, &formats, &pause) == 5; idle = 0; }
    }
}
"""


def compiled(tile: GemmTile, folder: Path) -> Path:
    """The tile and its bench as a program."""
    (folder / "tile.v").write_text(gemm_verilog(tile))
    (folder / "bench.cpp").write_text(BENCH)
    named = ["--prefix", "Vtile", "--top-module", tile.name]
    return built(folder, *VERILATOR_ARGUMENTS, *named, "tile.v", "bench.cpp") / "Vtile"


def packed(codes: NDArray[np.uint8]) -> int:
    """Codes side by side, the first at bit 0."""
    return int.from_bytes(bytes(codes.tolist()), "little")


@pytest.mark.slow
@pytest.mark.parametrize(
    "tile",
    thinned(
        [
            GemmTile("tile2", 2, 2, OCP, OCP, ENGINES["fma_fp32"], OCP[0], mac_stages=2),
            GemmTile("tile4", 4, 4, OCP, OCP, ENGINES["fma_fp16"], OCP[1]),
        ],
        2,
    ),
    ids=lambda tile: tile.name,
)
def test_a_tile_gives_the_cast_matrix_product(tile: GemmTile, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    lines, expected = [], []
    for depth in (1, 2, 3, 17, 40, 5):
        fa, fb = rng.integers(0, 2, 2).tolist()
        a = rng.integers(0, 0x7C, (tile.rows, depth)).astype(np.uint8) ^ rng.choice([0, 0x80], (tile.rows, depth))
        b = rng.integers(0, 0x7C, (depth, tile.columns)).astype(np.uint8) ^ rng.choice([0, 0x80], (depth, tile.columns))
        for k in range(depth):
            pause = int(rng.integers(0, 3)) * int(rng.integers(0, 2))
            lines.append(f"{packed(a[:, k]):x} {packed(b[k]):x} {k == depth - 1:x} {fa | fb << 1:x} {pause:x}")
        sums = fp9.matmul(a.astype(np.uint8), b.astype(np.uint8), tile.a[fa], tile.b[fb], engine=tile.engine)
        codes = fp9.cast(sums, tile.engine.result.format, tile.target, tile.rounding, tile.overflow)
        expected += [f"{packed(codes[row]):x} {row == tile.rows - 1:x}" for row in range(tile.rows)]
    done = subprocess.run(
        [compiled(tile, tmp_path)], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:-1] == expected


def test_a_tile_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="give 1 to 64 rows and columns"):
        GemmTile("tile", 0, 4, OCP, OCP, ENGINES["fma_fp16"], OCP[1])


@pytest.mark.slow
def test_elements_of_several_products_take_as_many_columns_a_step(build_dir: Path) -> None:
    tile = GemmTile.of(CATALOGUE["mac4_e8m13_ocp"], 2, 1, "e5m2")
    found = check_tile(tile, products=4, simulator="icarus", build_dir=build_dir)
    assert found.passed, found.mismatches
    assert found.rows == 4 * tile.rows


@pytest.mark.slow
def test_a_wrong_row_is_told(build_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tile = GemmTile.of(CATALOGUE["mac4_e8m13_ocp"], 2, 1, "e5m2")
    true = gemm_check.expected
    monkeypatch.setattr(gemm_check, "expected", lambda tile, product: true(tile, product) ^ 1)
    found = check_tile(tile, products=2, simulator="icarus", build_dir=build_dir)
    assert not found.passed
    assert found.mismatches[0].startswith("product 0, row 0: expected 0x")


def test_a_tile_of_casts_is_refused() -> None:
    with pytest.raises(ValueError, match="give a mac, dot or fma"):
        GemmTile.of(CATALOGUE["cast_fp32"], 2, 2, "e5m2")
