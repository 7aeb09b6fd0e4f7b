"""Measure the energy that a unit's operations dissipate in cells, in nets and by leakage."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.units import Cast, Dot, Fpu, Quantiser, Unit
from fp9.units.hooks import Hook
from fp9_rtl.synthesis.libraries import Library, find_library
from fp9_rtl.synthesis.mapping import delay_tool
from fp9_rtl.synthesis.netlist import netlist
from fp9_rtl.synthesis.power import power_library
from fp9_rtl.tools.cache import cache_folder, load, store
from fp9_rtl.tools.yosys import yosys_version
from fp9_sim.energy.switching import Dynamic, dynamic, side_by_side
from fp9_sim.netlists.cells import CellNetlist
from fp9_sim.netlists.toggles import submodule
from fp9_sim.provenance import source_digest

NOTE = (
    "every net's settled values at an operation a clock, glitches out of 2,048 operations timed by the cells' mean "
    "delays; no clock tree, wires by fan-out, leakage over the unit's worst path: for comparing units side by side"
)
"""Conditions of the energy measurement, shown in every report."""

# Factor from nW times ns to fJ.
_ATTO = 1e-3


@dataclass(frozen=True)
class Energy:
    """Mean energy of one operation of a unit in fJ, split into internal, net, input, clock, glitch and leakage energy.

    The energy to charge nets is `nets_fj` for cell outputs, `inputs_fj` for unit inputs, and `clock_fj` for the clock
    net. `glitches_fj` is the energy of signal changes that are reversed within the same clock cycle. `products` is the
    number of products, casts or quantised values in an operation. `toggles` is the mean number of signal changes from
    one clock cycle to the next. `glitches` is the mean number of signal changes that are reversed within one clock
    cycle. `by_step` maps each submodule to the energy of the submodule, and is empty for a flat netlist.
    """

    unit: str
    library: str
    mapping: str
    data: str
    operations: int
    products: int
    period_ns: float
    toggles: float
    glitches: float
    internal_fj: float
    nets_fj: float
    inputs_fj: float
    clock_fj: float
    glitches_fj: float
    leakage_fj: float
    by_step: Mapping[str, float]

    @property
    def total_fj(self) -> float:
        """Return the total energy of one operation in fJ."""
        return self.internal_fj + self.nets_fj + self.inputs_fj + self.clock_fj + self.glitches_fj + self.leakage_fj

    @property
    def product_fj(self) -> float:
        """Return the energy of one operation in fJ, divided by the number of products, casts or quantised values."""
        return self.total_fj / self.products

    def to_dict(self) -> dict[str, Any]:
        """Return the energies as a dictionary of JSON values, with a note about the measurement conditions."""
        totals = {"total_fj": self.total_fj, "product_fj": self.product_fj}
        return {"note": NOTE, **asdict(self), "by_step": dict(self.by_step), **totals}


def measure(
    unit: Unit,
    operations: Mapping[str, NDArray[Any]],
    data: str,
    *,
    library: str | Library = "osu018",
    mapping: str = "delay-balanced",
    by_step: bool = False,
    cache: Path | None = None,
) -> Energy:
    """Measure the mean energy of the given operations on a unit.

    `operations` maps each input port to an array (n,) in execution order. `data` is a name for the set of operations,
    such as "random", and is stored in the result. Results are cached in the folder `cache`, or in the default cache
    folder if `cache` is None. Raises ValueError if fp9 cannot generate Verilog for the unit, for an unknown library or
    mapping, for a library without energy data, and for an empty list of operations. Raises MissingTool if the library
    or Yosys is not installed.
    """
    cells = find_library(library)
    columns = {port.name: np.asarray(operations[port.name]) for port in unit.inputs if port.name in operations}
    request = {
        "energy": [repr(unit), data, mapping, by_step, cells.sha256, yosys_version(), delay_tool(), source_digest()],
        "operations": {name: _digest(column) for name, column in columns.items()},
    }
    folder = cache or cache_folder()
    kept = load(folder, request)
    if kept is None:
        kept = asdict(_measured(unit, operations, data, cells, mapping, by_step, cache))
        store(folder, request, kept)
    return Energy(**kept)


def _digest(column: NDArray[Any]) -> str:
    return hashlib.sha256(column.astype(np.uint64).tobytes()).hexdigest()


def _measured(
    unit: Unit,
    operations: Mapping[str, NDArray[Any]],
    data: str,
    cells: Library,
    mapping: str,
    by_step: bool,
    cache: Path | None,
) -> Energy:
    power = power_library(cells)
    mapped = netlist(unit, cells, mapping=mapping, by_submodule=by_step, cache=cache)
    sequences, first = side_by_side(unit, operations)

    def of(module: Mapping[str, Any]) -> Dynamic:
        return dynamic(CellNetlist.from_json(module, power.cell), sequences, first, cells, power)

    found = of(mapped.module)
    steps = _by_step(of(mapped.by_submodule)) if mapped.by_submodule else {}
    leakage = sum(cells.leakage_nw[cell["type"]] for cell in mapped.module["cells"].values())
    clocks, streams = next(iter(sequences.values())).shape
    return Energy(
        unit.name,
        cells.name,
        mapping,
        data,
        (clocks - first) * streams,
        products_of(unit),
        mapped.delay_ns,
        found.toggles,
        found.glitch_toggles,
        sum(found.internal.values()),
        sum(found.nets.values()),
        found.inputs,
        found.clock,
        sum(found.glitches.values()),
        leakage * mapped.delay_ns * _ATTO,
        steps,
    )


# Number of products in an operation, or number of values in a cast or quantiser.
products_of: Hook[[], int] = Hook(
    "energy of a product",
    {
        Quantiser: lambda unit: unit.width,
        Dot: lambda unit: unit.products,
        Fpu: lambda unit: unit.engine.step.products,
        Cast: lambda unit: unit.lanes,
    },
    otherwise=lambda unit: 1,
)


def _by_step(found: Dynamic) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for name in sorted(found.internal):
        sums[submodule(name)] += found.internal[name] + found.nets[name] + found.glitches[name]  # type: ignore[assignment]
    return dict(sums)
