"""Cache the outcomes of passed regressions."""

from __future__ import annotations

import contextlib
import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fp9_rtl
from fp9.system import cache
from fp9.units import Unit
from fp9.vectors import sets as vectors
from fp9.vectors.sets import VectorSet
from fp9_rtl.tools.cache import key, load, store
from fp9_sim.provenance import source_digest
from fp9_sim.regression.run import regress
from fp9_sim.simulators import find as tools
from fp9_sim.simulators.build import DEFAULT_FOLDER


def regress_once(
    unit: Unit,
    made: VectorSet,
    simulator: str,
    *,
    seed: int = 0,
    build_dir: Path | str = DEFAULT_FOLDER,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Simulate a unit's Verilog with golden vectors, or return the cached outcome of an earlier identical simulation.

    The returned dictionary has the keys `checked`, `mismatches`, `violations`, `seconds` and `kept`. The value of
    `kept` is the cache key of a cached outcome, or an empty string after a new simulation. Failed simulations are never
    cached. Raises the same errors as the function `regress`.
    """
    request = _request(unit, made, simulator, seed)
    place = folder or cache.folder("regressions")
    found = load(place, request)
    if found is not None:
        return {**found, "kept": key(request)}
    run = regress(unit, made, simulator, seed=seed, build_dir=build_dir)
    found = {
        "checked": run.checked,
        "mismatches": run.total_mismatches,
        "violations": list(run.violations),
        "seconds": run.seconds,
    }
    if run.passed:
        with contextlib.suppress(OSError):
            store(place, request, found)
    return {**found, "kept": ""}


def _request(unit: Unit, made: VectorSet, simulator: str, seed: int) -> dict[str, Any]:
    found = tools.find(simulator)
    return {
        "unit": repr(unit),
        "verilog": hashlib.sha256(fp9_rtl.verilog(unit).encode()).hexdigest(),
        "vectors": vectors.digest(made),
        "simulator": [found.name, found.version, version("cocotb")],
        "source": source_digest(),
        "seed": seed,
    }
