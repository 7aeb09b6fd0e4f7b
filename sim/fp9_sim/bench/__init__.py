"""Test benches for units, in cocotb and in plain Python.

For a cocotb test of your own, `Bench` combines all parts of a test bench: `UnitHandle`, `Driver`, `Monitor`, `Stream`
and `pauses`. `Scoreboard` and `Golden` also work without a simulator. `run_tests` runs cocotb tests.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fp9.units.toml import load
    from fp9_sim.bench.golden import Golden, results_of
    from fp9_sim.bench.handle import UnitHandle
    from fp9_sim.bench.own import Bench
    from fp9_sim.bench.pins import Violation
    from fp9_sim.bench.runner import MAKEFILE, RunFailed, run_tests
    from fp9_sim.bench.scoreboard import Scoreboard
    from fp9_sim.bench.streams import Driver, Monitor, Stream, pauses

__all__ = [
    "MAKEFILE",
    "Bench",
    "Driver",
    "Golden",
    "Monitor",
    "RunFailed",
    "Scoreboard",
    "Stream",
    "UnitHandle",
    "Violation",
    "exchange",
    "gemm",
    "load",
    "pauses",
    "results_of",
    "run_tests",
    "scoreboard",
]

_HOMES = {
    "MAKEFILE": "fp9_sim.bench.runner",
    "Bench": "fp9_sim.bench.own",
    "Driver": "fp9_sim.bench.streams",
    "Golden": "fp9_sim.bench.golden",
    "Monitor": "fp9_sim.bench.streams",
    "Scoreboard": "fp9_sim.bench.scoreboard",
    "Stream": "fp9_sim.bench.streams",
    "RunFailed": "fp9_sim.bench.runner",
    "UnitHandle": "fp9_sim.bench.handle",
    "Violation": "fp9_sim.bench.pins",
    "load": "fp9.units.toml",
    "pauses": "fp9_sim.bench.streams",
    "results_of": "fp9_sim.bench.golden",
    "run_tests": "fp9_sim.bench.runner",
}


def __getattr__(name: str) -> object:
    # Imported on first use, because only the simulator drivers need cocotb.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no name {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(_HOMES[name]), name)
