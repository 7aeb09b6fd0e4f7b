"""Energy study that compares formats, accumulators, gating and stages on a network layer.

Only units whose circuit has changed are measured again.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fp9.engines import engine
from fp9.formats import fixed_format, format
from fp9.formats.blocks import block_format
from fp9.units import CATALOGUE, Cast, Dot, Fma, Quantiser, Unit
from fp9.units.views import cast_of, sum_of
from fp9_rtl import circuit_digest
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, library
from fp9_rtl.synthesis.run import Progress
from fp9_sim import records
from fp9_sim.energy.data import Columns, operations
from fp9_sim.energy.run import NOTE, measure
from fp9_sim.provenance import provenance
from fp9_sim.records import EARLIER_CIRCUIT, NO_RECORD

LAYER, RANDOM = "layer", "random"

# Measures the units of the energy study.
COMMAND = "fp9 records update --hours 8 --claims form"


@dataclass(frozen=True)
class Row:
    """A unit of the energy study. The results page lists the unit under the name `label`, in the section `group`."""

    group: str
    label: str
    unit: Unit
    # A training recipe whose matrix products the unit can compute, or empty.
    recipe: str = ""


def _fma(operands: Sequence[str], step: str) -> Fma:
    formats, sums = tuple(map(format, operands)), engine(step)
    return Fma("_".join(["fma", *operands, "to", sums.output.name]), formats, formats, sums)


def _dot(name: str) -> Dot:
    found = sum_of(CATALOGUE[name])
    assert found is not None
    return found


def _staged(stages: int) -> Unit:
    name = f"fma_dlfloat16_hfp8_stages{stages}"
    return dataclasses.replace(_dot("fma_dlfloat16_hfp8"), name=name, stages=stages)


def _blocks(element: str, scale: str) -> Dot:
    formats = (format(element),)
    return Dot(f"dot4_{element}_{scale}", formats, formats, engine("mx(G=4)"), scale=format(scale))


def _quantiser(block: str) -> Quantiser:
    spec = block_format(block)
    return Quantiser(f"quantiser_{block}_x4", fixed_format("fp32"), spec, (spec.rule("floor"),), stages=1, lanes=4)


def _cast() -> Cast:
    found = cast_of(CATALOGUE["cast_fp32_ocp_rne"])
    assert found is not None
    return dataclasses.replace(found, name=f"{found.name}_x4", stages=1, lanes=4)


_UNGATED = dataclasses.replace(_dot("mac_dlfloat16_gated"), name="mac_dlfloat16_hfp8", gate_zeros=False)

FORMATS, DOTS, GATING, STAGES, BLOCKS, CASTS = (
    "Formats and results",
    "Several products",
    "Zero-operand gating, HFP8 -> 1-6-9",
    "Stages, HFP8 -> 1-6-9",
    "Blocks that share a scale, 4 products to FP32, one rounding",
    "Casts and quantisers, 4 numbers from FP32",
)

# The first row of a group is the baseline for the other rows of the group.
ROWS = (
    Row(FORMATS, "E4M3/E5M2 -> FP32", CATALOGUE["fma_fp32_ocp"], "E4M3/E5M2, delayed scales"),
    Row(FORMATS, "E4M3/E5M2 -> FP16", _fma(("e4m3", "e5m2"), "fma_fp16")),
    Row(FORMATS, "HiFloat8 -> FP32", _fma(("hif8",), "fma_fp32"), "HiFloat8"),
    Row(FORMATS, "HFP8 -> FP32", _fma(("hfp8_143", "hfp8_152"), "fma_fp32"), "HFP8"),
    Row(FORMATS, "HFP8 -> 1-6-9", CATALOGUE["fma_dlfloat16_hfp8"], "HFP8, sums in 1-6-9"),
    Row(FORMATS, "1-5-2 -> FP32", _fma(("hfp8_152",), "fma_fp32"), "1-5-2 everywhere"),
    Row(FORMATS, "1-5-2 -> 1-6-9", CATALOGUE["fma_dlfloat16_hfp8_152"], "1-5-2 everywhere, sums in 1-6-9"),
    Row(GATING, "mac, not gated", _UNGATED),
    Row(GATING, "mac, gated", CATALOGUE["mac_dlfloat16_gated"]),
    Row(STAGES, "fma, combinational", CATALOGUE["fma_dlfloat16_hfp8"]),
    Row(STAGES, "fma, 1 stage", _staged(1)),
    Row(STAGES, "fma, 3 stages", _staged(3)),
    Row(DOTS, "4 products, FP32, one rounding", CATALOGUE["dot4_fp32_ocp"]),
    Row(DOTS, "4 products, Hopper's window", CATALOGUE["dot4_e8m13_ocp"]),
    Row(BLOCKS, "E4M3/E5M2, without scales", CATALOGUE["dot4_fp32_ocp"]),
    Row(BLOCKS, "MXFP8, E4M3", _blocks("e4m3", "e8m0")),
    Row(BLOCKS, "MXFP4", _blocks("e2m1", "e8m0")),
    Row(BLOCKS, "NVFP4", _blocks("e2m1", "ue4m3")),
    Row(CASTS, "cast to E4M3 or E5M2", _cast()),
    Row(CASTS, "quantiser to MXFP8, E4M3", _quantiser("mxfp8_e4m3")),
    Row(CASTS, "quantiser to MXFP4", _quantiser("mxfp4")),
)


UNITS = {row.unit.name: row.unit for row in ROWS}


@dataclass(frozen=True)
class Part:
    """Measured energies of a unit, for each cell library and each kind of operands."""

    unit: str
    spec: tuple[str, ...]
    circuit_sha256: str
    # The digest of each cell library's file.
    libraries: dict[str, str]
    energies: tuple[dict[str, Any], ...]
    seconds: float
    provenance: dict[str, str]


def measured(unit: Unit, layer: Columns) -> Part:
    started = time.perf_counter()
    data = {LAYER: layer, RANDOM: operations(unit, RANDOM)}
    energies = tuple(
        _kept(measure(unit, columns, kind, library=name).to_dict())
        for name in SIDE_BY_SIDE
        for kind, columns in data.items()
    )
    seconds = round(time.perf_counter() - started, 1)
    spec = tuple(unit.describe())
    return Part(unit.name, spec, circuit_digest(unit), libraries(), energies, seconds, provenance())


NOTHING: Mapping[str, Any] = {"units": {}}


def lacks(unit: Unit, record: Mapping[str, Any], circuit: str) -> str | None:
    """Return None if a record has a valid energy for a unit, otherwise the reason why the record is not valid."""
    if unit.name not in record["units"]:
        return NO_RECORD
    known = record["units"][unit.name]
    return None if (known["circuit_sha256"], known["libraries"]) == (circuit, libraries()) else EARLIER_CIRCUIT


def run(
    layer_of: Callable[[Unit], Columns],
    known: Mapping[str, Any],
    training: Path | None = None,
    progress: Progress = lambda what, done, steps: None,
) -> dict[str, Any]:
    """Run the energy study and return its record.

    `known` is an earlier record of the study. Units whose energy in `known` is still valid are not measured again.
    `layer_of(unit)` returns one array of input values for each input port, taken from the demonstration's network
    layer. The increases in loss over float32 are read from the file `training`, which contains recorded training runs.
    Raises the same errors as the function `measure`.
    """
    units = dict(known["units"])
    for done, unit in enumerate(UNITS.values()):
        if lacks(unit, {"units": units}, circuit_digest(unit)):
            progress(unit.name, done, len(UNITS))
            units[unit.name] = asdict(measured(unit, layer_of(unit)))
    return _record(units, training)


def _record(units: Mapping[str, Any], training: Path | None) -> dict[str, Any]:
    return {
        "command": COMMAND,
        "note": NOTE,
        "losses": losses(json.loads(training.read_text())) if training else {},
        "units": {name: units[name] for name in UNITS if name in units},
    }


@functools.cache
def libraries() -> dict[str, str]:
    return {name: library(name).sha256 for name in SIDE_BY_SIDE}


def rows_of(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"group": row.group, "label": row.label, "recipe": row.recipe, **energy}
        for row in ROWS
        for energy in record["units"][row.unit.name]["energies"]
    ]


def read(folder: Path, training: Path | None = None) -> dict[str, Any]:
    """Return the record of the energy study, read from the folder of all records.

    The increases in loss over float32 are read from the file `training`, which contains recorded training runs. Raises
    ValueError if a file is not a valid record.
    """
    known = ((name, records.read(folder, records.ENERGY, name)) for name in UNITS)
    return _record({name: fields for name, fields in known if fields}, training)


def losses(training: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return each training recipe's held-out loss minus that of float32, with one value for each random seed."""
    values = [run["values"] for run in training["runs"]]
    recipes = [row.recipe for row in ROWS if row.recipe]
    return {r: [round(v[f"{r}: held out"] - v["fp32: held out"], 6) for v in values] for r in recipes}


def _kept(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in record.items() if name not in ("note", "by_step")}
    return {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in kept.items()}
