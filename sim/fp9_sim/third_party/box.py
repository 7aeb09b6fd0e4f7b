"""Run third-party Verilog as a black box, to identify the rounding and the accumulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import encode
from fp9.engines import MacOp
from fp9.units import Dot
from fp9.units.views import sum_of
from fp9_compare.identify import Box, Interface
from fp9_sim.batch import FEW, verilated
from fp9_sim.third_party.mapping import Design, load
from fp9_sim.third_party.wrapper import wrapped


def box(path: Path) -> Box:
    """Compile the DUT of a mapping file with Verilator, as a black box that computes sums."""
    design = load(path)
    spec = sum_of(design.spec)
    if spec is None:
        raise ValueError(
            f"{path}: a unit of kind {design.spec.kind} given; give one of kind dot, fma or mac, which compute sums"
        )
    if spec.has_state and (spec.engine.step.exact or spec.engine.chunk.length):
        raise ValueError(
            f"{path}: engine {spec.engine.name} given; give a mac whose result is the rounded sum of every operation"
        )
    numbers = {port.name for port in spec.inputs if port.formats}
    if lacking := [*(name for name in design.held if name in numbers), *({"result"} & {*design.without})]:
        raise ValueError(f"{path}: the design has no {lacking[0]}; give a unit with all operands and the result")
    if design.latency is None:
        raise ValueError(f"{path}: no latency given; set `latency`: without expected results it cannot be measured")
    # Operands use the first format of their port, unless the table [held] selects another format.
    a, b = (getattr(spec, name)[design.held.get(f"{name}_format", 0)] for name in ("a", "b"))
    interface = Interface(a, b, spec.engine.output, spec.products, design.any_nan)
    return Box(design.top, interface, _ask(design, design.latency, spec))


def _ask(design: Design, latency: int, spec: Dot) -> Any:
    # Identifying an accumulator takes a few thousand sums.
    unit = verilated(spec, verilog=wrapped(design, latency), operations=FEW)
    # A multiply-accumulate unit receives only LOAD operations, so that no sum depends on an earlier operation. All
    # scale operands are 1.
    apart = {"op": int(MacOp.LOAD)} if spec.has_state else {}
    if spec.scale is not None:
        names = (*spec.scale_names("a"), *spec.scale_names("b"))
        apart |= dict.fromkeys(names, int(encode([1.0], spec.scale)[0]))

    def ask(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        columns = {port.name: np.full(len(c), apart.get(port.name, 0), dtype=np.uint8) for port in spec.inputs}
        columns |= dict(zip(spec.lane_names("a"), a.T, strict=True))
        columns |= dict(zip(spec.lane_names("b"), b.T, strict=True))
        return unit(**{**columns, "c": c})["result"]

    return ask
