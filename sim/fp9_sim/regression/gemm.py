"""Simulate tiles for matrix products in cocotb, on Icarus or Verilator."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9_rtl.gemm.tile import GemmTile, gemm_verilog, ports
from fp9_sim.bench.exchange import FOLDER_VARIABLE, ORDER, OUTCOME
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import DEFAULT_FOLDER, build_design
from fp9_sim.simulators.child import bench_settings, run_job
from fp9_sim.simulators.find import SimulatorError

BENCH = "fp9_sim.bench.gemm"

MOST_STEPS = 24


@dataclass(frozen=True)
class TileCheck:
    tile: str
    simulator: str
    version: str
    products: int
    steps: int
    rows: int
    mismatches: tuple[str, ...]
    clocks: int

    @property
    def passed(self) -> bool:
        return not self.mismatches

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "mismatches": list(self.mismatches), "passed": self.passed}


@dataclass(frozen=True)
class Product:
    """A matrix product for a tile, with codes `a` of shape (rows, K) and codes `b` of shape (K, columns).

    `a_format` and `b_format` are indices of formats that the tile supports.
    """

    a: NDArray[np.uint8]
    b: NDArray[np.uint8]
    a_format: int
    b_format: int


def random_products(tile: GemmTile, count: int, seed: int) -> list[Product]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        depth = tile.products * (1 if number == 0 else int(rng.integers(1, MOST_STEPS + 1)))
        formats = [int(rng.integers(len(offered))) for offered in (tile.a, tile.b)]
        # Many random codes are NaN or infinite. Every second matrix product uses only codes of small numbers, so that
        # the sums stay finite.
        codes = [
            rng.integers(0, 256 if number % 2 else 0x50, shape).astype(np.uint8) | rng.choice([0, 0x80], shape)
            for shape in ((tile.rows, depth), (depth, tile.columns))
        ]
        made.append(Product(*(code.astype(np.uint8) for code in codes), *formats))
    return made


def expected(tile: GemmTile, product: Product) -> NDArray[np.uint8]:
    """Return the golden result of a matrix product after the final cast, as codes of shape (rows, columns)."""
    fa, fb = tile.a[product.a_format], tile.b[product.b_format]
    sums = fp9.matmul(product.a, product.b, fa, fb, engine=tile.engine)
    return np.asarray(
        fp9.cast(sums, tile.engine.result.format, tile.target, tile.rounding, tile.overflow), dtype=np.uint8
    )


def check_tile(
    tile: GemmTile,
    products: int = 8,
    seed: int = 0,
    simulator: str = "verilator",
    build_dir: Path | str = DEFAULT_FOLDER,
) -> TileCheck:
    """Simulate random matrix products on a tile, and compare every row of the results with the golden model.

    Raises MissingTool if the simulator is not installed, and SimulatorError if the simulator rejects the tile or gives
    no result.
    """
    if products < 1:
        raise ValueError(f"{products} products given; a run that checks nothing would prove nothing")
    made = random_products(tile, products, seed)
    steps = [step for product in made for step in _steps(tile, product)]
    rows = [_packed(row) for product in made for row in expected(tile, product)]
    found = tools.find(simulator)
    built = build_design(tile.name, ports(tile), gemm_verilog(tile), found, Path(build_dir))
    folder = Path(tempfile.mkdtemp(dir=built.folder.parent, prefix=f"run-{tile.name}-{found.name}-"))
    order = {"steps": steps, "rows": len(rows), "patience": 2 * tile.period(MOST_STEPS) + 100, "seed": seed}
    (folder / ORDER).write_text(json.dumps(order))
    settings = bench_settings(BENCH, tile.name, built.folder, folder)
    run_job("test", settings, found, folder, {FOLDER_VARIABLE: str(folder)})
    try:
        outcome = json.loads((folder / OUTCOME).read_text())
    except FileNotFoundError:
        raise SimulatorError(f"{found.name} gave no result for {tile.name}; the log is {folder / 'run.log'}") from None
    shutil.rmtree(folder)
    said = _compare(tile, rows, outcome["rows"])
    return TileCheck(
        tile.name, found.name, found.version, products, len(steps), len(outcome["rows"]), said, outcome["clocks"]
    )


def _packed(codes: NDArray[np.uint8]) -> int:
    return int.from_bytes(codes.tobytes(), "little")


def _steps(tile: GemmTile, product: Product) -> list[dict[str, int]]:
    depth, lanes = product.a.shape[1], tile.products
    formats = {"a_format": product.a_format, "b_format": product.b_format}
    offered = {"a_format": len(tile.a) > 1, "b_format": len(tile.b) > 1}
    return [
        {
            "a": _packed(product.a[:, k : k + lanes]),
            "b": _packed(np.ascontiguousarray(product.b[k : k + lanes].T)),
            "in_last": int(k + lanes == depth),
            **{name: value for name, value in formats.items() if offered[name]},
        }
        for k in range(0, depth, lanes)
    ]


def _compare(tile: GemmTile, rows: list[int], seen: list[list[int]], kept: int = 5) -> tuple[str, ...]:
    said = []
    for number, (row, (result, last)) in enumerate(zip(rows, seen, strict=False)):
        product, place = divmod(number, tile.rows)
        digits = 2 * tile.columns
        if result != row:
            said.append(f"product {product}, row {place}: expected 0x{row:0{digits}x}, got 0x{result:0{digits}x}")
        if last != (place == tile.rows - 1):
            said.append(f"product {product}, row {place}: out_last is {last}")
    if len(seen) != len(rows):
        said.append(f"{len(rows)} rows expected, {len(seen)} given")
    return tuple(said[:kept])
