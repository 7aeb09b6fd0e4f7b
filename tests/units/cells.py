"""The matrix of kinds, presets and operands: every cell is built as Verilog and simulated, or refused in a sentence.

    python -m tests.units.cells records/accumulators/cells.json          # goes on where it was stopped
    python -m tests.units.cells records/accumulators/cells.json ampere   # of some presets

A cell has at most 4 products a step and 2 steps a chunk. Widths and structure depend on all other fields.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fp9_rtl
from fp9.engines import ENGINES, Engine
from fp9.formats import format
from fp9.golden import evaluate
from fp9.suites import random
from fp9.system.files import write_whole
from fp9.units import Dot, Fma, Mac, Unit
from fp9_rtl.components import check_offered

KINDS: dict[str, type[Dot]] = {"fma": Fma, "dot": Dot, "mac": Mac}
PAIRS = (
    ("e4m3", "e5m2"),
    ("hif8", "hif8"),
    ("hfp8_143", "hfp8_152"),
    ("e3m4ieee", "e3m4ieee"),
    ("e2m1", "e2m1"),
    ("int8", "int8"),
    ("fp16", "fp16"),
    ("bf16", "bf16"),
    ("dlfloat16", "e4m3"),
    ("tf32", "tf32"),
)
COUNT = 100
"""Operations of a cell's random suite."""

COMMAND = "python -m tests.units.cells records/accumulators/cells.json"

SENSELESS = {
    ("fma", "several"): "an `fma` has one product; a `dot` has several",
    ("dot", "one"): "a `dot` has several products; with one product it is an `fma`",
    (
        "stateless",
        "exact",
    ): "an exact sum has no end in a unit without state; `fma_fp32(G=n)` rounds n exact products once",
    ("nvfp4", "operands"): "NVFP4's groups are exact in 35 bits, which only products of FP4 numbers without NaN fit",
}
"""Why a circuit makes no sense, for each class of empty cells."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """A kind of unit, a preset, and the formats of a and b."""

    kind: str
    preset: str
    pair: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.kind} {self.preset} {' x '.join(self.pair)}"

    def unit(self) -> Unit:
        """Return the unit. Raises ValueError for a cell without hardware."""
        engine, stages = self._engine(), 0
        grouped = engine.step.group is not None
        if self.kind == "mac":
            stages = 4 if engine.step.exact else 2
        scales: dict[str, Any] = {"scale": format("ue4m3"), "block": engine.step.group} if grouped else {}
        a, b = ((format(name),) for name in self.pair)
        made = KINDS[self.kind]("matrix_cell", a, b, engine, stages=stages, **scales)
        check_offered(made)
        return made

    def _engine(self) -> Engine:
        """Return the preset with few products, so that a cell takes a second."""
        preset = ENGINES[self.preset]
        products = preset.step.group or min(preset.step.products, 4)
        chunk = preset.chunk.length and products * min(preset.steps_of_chunk, 2)
        return preset.changed(products=products, chunk=chunk)


def cells() -> Iterator[Cell]:
    """Yield every cell, preset by preset."""
    for preset, kind, pair in itertools.product(ENGINES, KINDS, PAIRS):
        yield Cell(kind, preset, pair)


def why_empty(cell: Cell) -> str | None:
    """Return why the circuit of a cell makes no sense, or None if it has one. Raises ValueError for another refusal."""
    engine = ENGINES[cell.preset]
    several = engine.chunk.length or engine.step.products
    if engine.step.exact and cell.kind != "mac":
        return SENSELESS["stateless", "exact"]
    if cell.kind == "fma" and several > 1:
        return SENSELESS["fma", "several"]
    if cell.kind == "dot" and several == 1:
        return SENSELESS["dot", "one"]
    if engine.step.group is not None and set(cell.pair) != {"e2m1"}:
        return SENSELESS["nvfp4", "operands"]
    return None


def mismatches(cell: Cell) -> int:
    """Return how many operations of the random suite the cell's Verilog answers otherwise than the golden model."""
    unit = cell.unit()
    inputs = random(unit, COUNT, np.random.default_rng(zlib.crc32(str(cell).encode())))
    expected = evaluate(unit, inputs)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "unit.v").write_text(fp9_rtl.verilog(unit))
        (root / "bench.v").write_text(_bench(unit))
        for name, columns, ports in (("in", inputs, unit.inputs), ("out", expected, unit.outputs)):
            widths = [port.width for port in ports]
            rows = zip(*(columns[port.name].tolist() for port in ports), strict=True)
            lines = ["".join(f"{v & (1 << w) - 1:0{w}b}" for v, w in zip(row, widths, strict=True)) for row in rows]
            (root / f"{name}.mem").write_text("\n".join(lines) + "\n")
        made = ["iverilog", "-g2005", "-o", "bench", "bench.v", "unit.v"]
        subprocess.run(made, cwd=root, check=True, capture_output=True)
        done = subprocess.run(["vvp", "-n", "bench"], cwd=root, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1])


def _bench(unit: Unit) -> str:
    """Return a bench that prints the number of wrong results."""
    wide_in, wide_out = (sum(port.width for port in ports) for ports in (unit.inputs, unit.outputs))
    ports = [*_slices(unit.inputs, "now"), *_slices(unit.outputs, "got")]
    if unit.stages:
        ports += [".clk(clk)", ".rst(rst)", ".in_valid(sent < N)", ".in_ready(taken)", ".out_valid(given)"]
        ports += [".out_ready(1'b1)"]
    loop = _CLOCKED if unit.stages else _STATELESS
    return f"""module bench;
  localparam N = {COUNT};
  reg [{wide_in - 1}:0] stimulus [0:N - 1];
  reg [{wide_out - 1}:0] expected [0:N - 1];
  reg [{wide_in - 1}:0] now;
  wire [{wide_out - 1}:0] got;
  reg clk = 0, rst = 1, accepted;
  wire taken, given;
  integer sent = 0, seen = 0, wrong = 0;
  {unit.name} dut ({", ".join(ports)});
  initial begin
    $readmemb("in.mem", stimulus);
    $readmemb("out.mem", expected);
    now = stimulus[0];
{loop}    $display("%0d", wrong + (N - seen));
    $finish;
  end
endmodule
"""


def _slices(ports: Any, name: str) -> Iterator[str]:
    """Connect each port to its bits of a row. The first port has the highest bits."""
    place = sum(port.width for port in ports)
    for port in ports:
        place -= port.width
        yield f".{port.name}({name}[{place + port.width - 1}:{place}])"


_STATELESS = """    for (seen = 0; seen < N; seen = seen + 1) begin
      now = stimulus[seen];
      #1 if (got !== expected[seen]) wrong = wrong + 1;
    end
"""
_CLOCKED = """    repeat (4) #1 clk = ~clk;
    rst = 0;
    repeat (4 * N) if (seen < N) begin
      now = stimulus[sent < N ? sent : 0];
      #1 accepted = taken && sent < N;
      if (given) begin
        if (got !== expected[seen]) wrong = wrong + 1;
        seen = seen + 1;
      end
      clk = 1;
      #1 if (accepted) sent = sent + 1;
      clk = 0;
    end
"""


def row(kind: str, preset: str) -> list[int | str]:
    """Return for each pair the number of operations that agree, or why the circuit makes no sense.

    Raises ValueError for a cell whose circuit differs from the golden model.
    """
    found: list[int | str] = []
    for cell in (Cell(kind, preset, pair) for pair in PAIRS):
        reason = why_empty(cell)
        if reason is None and (wrong := mismatches(cell)):
            raise ValueError(f"{cell}: {wrong} of {COUNT} operations differ from the golden model")
        found.append(COUNT if reason is None else reason)
    return found


def main(path: Path, presets: list[str]) -> None:
    """Simulate the rows that a record does not have yet. Write the record after each row."""
    empty = {"command": COMMAND, "pairs": [" x ".join(pair) for pair in PAIRS], "rows": {}}
    record: dict[str, Any] = json.loads(path.read_text()) if path.exists() else empty
    for preset, kind in itertools.product(presets or ENGINES, KINDS):
        if preset not in record["rows"].get(kind, {}):
            record["rows"].setdefault(kind, {})[preset] = row(kind, preset)
            write_whole(path, json.dumps(record, indent=1) + "\n")
            print(kind, preset, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
