"""Run a network layer in hardware: write Verilog, simulate golden vectors, measure area."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import fp9_rtl
from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE, Unit
from fp9.vectors import sets as vectors
from fp9.vectors.sets import VectorSet
from fp9_ml.experiments.measured import table
from fp9_rtl.synthesis import run as synth
from fp9_rtl.synthesis.records import Synthesis, ratios
from fp9_sim import SIMULATORS, regress
from fp9_sim.demo.layer import Product
from fp9_sim.demo.network import LayerTensors
from fp9_sim.demo.operations import of_layer, of_unit
from fp9_sim.demo.report import waves
from fp9_sim.energy import Energy, measure
from fp9_sim.regression import regress_once

Record = dict[str, Any]

UNITS = tuple(CATALOGUE[name] for name in ("fma_fp32", "fma_dlfloat16", "mac_fp32", "mac_dlfloat16", "cast_fp32"))
# A unit with two formats, and the same unit with only the 1-5-2 format.
PAIRS = tuple(
    (CATALOGUE[both], CATALOGUE[one])
    for both, one in (("fma_fp32_ocp", "fma_fp32_e5m2"), ("fma_dlfloat16_hfp8", "fma_dlfloat16_hfp8_152"))
)
SPENDERS = tuple(CATALOGUE[name] for name in dict.fromkeys(row["unit"] for row in table()))
ENERGY_OPERATIONS = 2048
MAPPING = "area-optimised"
CORNER_OPERATIONS = 20_000
RANDOM_OPERATIONS = 2_000
BROKEN_UNIT = "fma_dlfloat16"
BROKEN_OPERATIONS = 100
# Verilator would have to compile the unit a second time for waveforms.
DRAWN_BY = "icarus"
WORKERS = 2


@dataclass
class Hardware:
    """Results of the demonstration's hardware tasks."""

    units: dict[str, Record] = field(default_factory=dict)
    # Area ratios of pairs of units.
    ratios: list[Record] = field(default_factory=list)
    # Area and energy of the units that training recipes use.
    recipes: list[Record] = field(default_factory=list)
    # Simulation outcomes of deliberately wrong vectors.
    broken: list[Record] = field(default_factory=list)
    # A reason for each skipped task.
    skipped: list[str] = field(default_factory=list)


def golden_vectors(unit: Unit, layer: LayerTensors, products: Iterable[Product], seed: int) -> tuple[VectorSet, int]:
    """Return golden vectors of a unit, and the number of vectors whose operands come from the network layer."""
    corner = drawn(vectors.generate(unit, suite="corner", seed=seed), CORNER_OPERATIONS, seed)
    random = vectors.generate(unit, suite="random", count=RANDOM_OPERATIONS, seed=seed)
    real = vectors.from_inputs(unit, of_layer(unit, layer, products, seed))
    return vectors.concatenate([corner, random, real]), len(real)


def drawn(full: VectorSet, count: int, seed: int) -> VectorSet:
    # The golden model recomputes the expected results.
    if len(full) <= count:
        return full
    chosen = np.sort(np.random.default_rng(seed).choice(len(full), count, replace=False))
    return vectors.from_inputs(full.unit, {name: column[chosen] for name, column in full.inputs.items()}, full.origin)


def broken(good: VectorSet, index: int) -> VectorSet:
    inputs = {name: column[-BROKEN_OPERATIONS:] for name, column in good.inputs.items()}
    few = vectors.from_inputs(good.unit, inputs)
    result = few.expected["result"].copy()
    # One expected result gets an inverted lowest bit.
    result[index] ^= 1
    return dataclasses.replace(few, expected={**few.expected, "result": result})


class Line:
    """Hardware tasks of the demonstration: Verilog, golden vectors, simulation and synthesis."""

    def __init__(self, out: Path, seed: int, done: Callable[[str], None]) -> None:
        self.out = out
        self.seed = seed
        self.done = done
        self.result = Hardware()
        self.vectors: dict[str, VectorSet] = {}
        self.synthesis: dict[str, Synthesis] = {}
        self.energy: dict[str, Energy] = {}

    def prepare(self, layer: LayerTensors, products: list[Product]) -> None:
        self._layer = layer
        for unit in UNITS:
            path = self.out / "rtl" / f"{unit.name}.v"
            fp9_rtl.write_verilog(unit, path)
            self.done(f"Verilog of {unit.name}")
            made, real = golden_vectors(unit, layer, products, self.seed)
            file = vectors.export(made, self.out / "vectors")
            self.vectors[unit.name] = made
            self.result.units[unit.name] = {
                "unit": unit.name,
                "verilog": str(path),
                "lines": path.read_text().count("\n"),
                "vectors": str(file),
                "operations": len(made),
                "of_layer": real,
                "simulation": {},
                "synthesis": None,
            }
            self.done(f"{len(made)} golden vectors of {unit.name}, {real} of them the layer's")

    def measure(self) -> Hardware:
        # A task is skipped if one of its tools is not installed.
        with ThreadPoolExecutor(WORKERS) as pool:
            tasks = self._submit(pool)
            for future in as_completed(tasks):
                self._collect(future, tasks[future])
        self.result.recipes = [
            {**row, "synthesis": self.synthesis[row["unit"]].to_dict(), "energy": self.energy[row["unit"]].to_dict()}
            for row in table()
            if row["unit"] in self.synthesis and row["unit"] in self.energy
        ]
        self.result.ratios = [dataclasses.asdict(ratio) for pair in PAIRS for ratio in self._ratios(*pair)]
        return self.result

    def _submit(self, pool: ThreadPoolExecutor) -> dict[Future[str], str]:
        def submit(step: Callable[..., str], *arguments: Any) -> Future[str]:
            return pool.submit(copy_context().run, step, *arguments)  # the worker thread must see the context variables

        tasks = {submit(self._synthesise, unit): f"area of {unit.name}" for unit in UNITS}
        for simulator in SIMULATORS:
            for unit in UNITS:
                tasks[submit(self._simulate, unit, simulator)] = f"{unit.name} on {simulator}"
        for unit in (unit for pair in PAIRS for unit in pair):
            tasks[submit(self._synthesise, unit)] = f"area of {unit.name}"
        for unit in SPENDERS:
            tasks[submit(self._spend, unit)] = f"energy of {unit.name}"
        return tasks

    def _collect(self, future: Future[str], what: str) -> None:
        try:
            self.done(future.result())
        except MissingTool as error:
            if str(error) not in self.result.skipped:
                self.result.skipped.append(str(error))
            self.done(f"Skipped {what}")

    def _simulate(self, unit: Unit, simulator: str) -> str:
        run = regress_once(unit, self.vectors[unit.name], simulator, seed=self.seed, build_dir=self.out / "sim")
        self.result.units[unit.name]["simulation"][simulator] = run
        if unit.name == BROKEN_UNIT:
            self._simulate_broken(unit, simulator)
        kept = ", from the cache" if run["kept"] else ""
        return f"{unit.name} on {simulator}: {run['checked']} checked, {run['mismatches']} mismatches{kept}"

    def _simulate_broken(self, unit: Unit, simulator: str) -> None:
        # The outcome is never cached.
        index = BROKEN_OPERATIONS // 2
        spoiled = broken(self.vectors[unit.name], index)
        dump = self.out / "waves" / f"{unit.name}_broken.vcd" if simulator == DRAWN_BY else None
        regression = regress(unit, spoiled, simulator, seed=self.seed, waves=dump, build_dir=self.out / "sim")
        caught = regression.total_mismatches == 1 and regression.mismatches[0].index == index
        self.result.broken.append(
            {
                "unit": unit.name,
                "simulator": simulator,
                "broken": index,
                "caught": caught,
                "report": [str(mismatch) for mismatch in regression.mismatches],
                "waves": {"file": str(dump), **waves.around(dump, unit, regression.mismatches[0])}
                if dump is not None and caught
                else None,
            }
        )

    def _synthesise(self, unit: Unit) -> str:
        measured = synth.synthesise_unit(unit)
        self.synthesis[unit.name] = measured
        if unit.name in self.result.units:
            self.result.units[unit.name]["synthesis"] = measured.to_dict()
        a = measured.estimate("area-optimised")
        return f"Area of {unit.name}: {a.area_um2:.0f} um2, {a.delay_ns:.1f} ns (A)"

    def _spend(self, unit: Unit) -> str:
        operations = of_unit(unit, self._layer, ENERGY_OPERATIONS, self.seed)
        found = self.energy[unit.name] = measure(unit, operations, "layer", mapping=MAPPING)
        return f"Energy of {unit.name}: {found.total_fj / 1000:.1f} pJ an operation of the layer ({MAPPING})"

    def _ratios(self, both: Unit, one: Unit) -> Iterable[synth.Ratio]:
        if both.name in self.synthesis and one.name in self.synthesis:
            return ratios(both, self.synthesis[both.name], one, self.synthesis[one.name])
        return ()


STEPS = 2 * len(UNITS) + len(SIMULATORS) * len(UNITS) + len(UNITS) + 2 * len(PAIRS) + len(SPENDERS)
