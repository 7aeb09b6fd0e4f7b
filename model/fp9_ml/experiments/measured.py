"""Table of each training recipe's increase in loss over FP32, from the records of claims.

Command: `python -m fp9_ml.experiments.measured records/recipes`.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole

TABLE = Path(__file__).with_name("measured.json")


@dataclass(frozen=True)
class Row:
    """Training recipe, with the unit that computes the recipe's products and the names of the measured values."""

    name: str
    recipe: str
    unit: str
    training: str
    conversion: str


ROWS = (
    Row("E4M3/E5M2, scaled", "te_delayed", "fma_fp32_ocp", "E4M3/E5M2, delayed scales", "e4m3, amax to the top"),
    Row("HiFloat8", "hif8", "fma_fp32", "HiFloat8", "hif8, Algorithm 1"),
    Row("HFP8", "hfp8", "fma_dlfloat16_hfp8", "HFP8, sums in 1-6-9", "hfp8_143"),
    Row(
        "1-5-2 alone",
        "hfp8(activations=hfp8_152,weights=hfp8_152)",
        "fma_dlfloat16_hfp8_152",
        "1-5-2 everywhere, sums in 1-6-9",
        "hfp8_152",
    ),
)


def measured(folder: Path) -> list[dict[str, Any]]:
    """Return two medians over the seeds for each recipe: the increase in loss over FP32, and the conversion error."""
    training, conversion = (_values(folder / f"{name}.json") for name in ("training", "ptq"))
    rows = []
    for row in ROWS:
        excess = [v[f"{row.training}: training"] - v["fp32: training"] for v in training]
        found = {"training": excess, "conversion": [v[row.conversion] for v in conversion]}
        medians = {name: float(f"{statistics.median(values):.3g}") for name, values in found.items()}
        rows.append({"name": row.name, "recipe": row.recipe, "unit": row.unit, **medians})
    return rows


def _values(path: Path) -> list[dict[str, float]]:
    return [run["values"] for run in json.loads(path.read_text())["runs"]]


def table() -> list[dict[str, Any]]:
    """Return recorded rows, with losses and divergences in nats per character."""
    rows: list[dict[str, Any]] = json.loads(TABLE.read_text())
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the table of recipe costs from the records of claims.")
    parser.add_argument("records", type=Path)
    write_whole(TABLE, json.dumps(measured(parser.parse_args().records), indent=1) + "\n")


if __name__ == "__main__":
    main()
