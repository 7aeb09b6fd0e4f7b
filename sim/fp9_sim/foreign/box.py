"""Other people's Verilog as a unit to be fitted: its sums, whatever engine its mapping names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.fit import Box, Interface
from fp9.units import Dot, Mac
from fp9_sim.batch import verilated
from fp9_sim.foreign.mapping import Foreign, load
from fp9_sim.foreign.wrapper import wrapped


def box(path: Path) -> Box:
    """The unit of a mapping, compiled by Verilator, asked with the first formats of a and of b.

    Raises ValueError for a mapping that is none, or whose unit is no `dot` or `fma`; MissingTool and SimulatorError as
    `check_rtl` does.
    """
    foreign = load(path)
    spec = foreign.spec
    if not isinstance(spec, Dot) or isinstance(spec, Mac):
        raise ValueError(
            f"{path}: a unit of kind {spec.kind} given; give one of kind dot or fma, whose sums are fitted"
        )
    if foreign.latency is None:
        raise ValueError(f"{path}: no latency given; give it: no expected result finds it")
    interface = Interface(spec.a[0], spec.b[0], spec.engine.output, spec.engine.products, foreign.any_nan)
    return Box(foreign.top, interface, _ask(foreign, foreign.latency, spec))


def _ask(foreign: Foreign, latency: int, spec: Dot) -> Any:
    unit = verilated(spec, verilog=wrapped(foreign, latency))

    def ask(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        columns = {port.name: np.zeros(len(c), dtype=np.uint8) for port in spec.inputs}
        columns |= dict(zip(spec.lane_names("a"), a.T, strict=True))
        columns |= dict(zip(spec.lane_names("b"), b.T, strict=True))
        return unit(**{**columns, "c": c})["result"]

    return ask
