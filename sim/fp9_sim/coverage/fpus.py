"""Coverage model of FPUs: each operation is covered as in a single-purpose unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.formats.rounding import Overflow
from fp9.units import Cast, Columns, Dot, Fpu, FpuOp, Upcast, product_range
from fp9_sim.coverage.casts import cast_model
from fp9_sim.coverage.codes import upcast_model
from fp9_sim.coverage.computed_sum import Sum
from fp9_sim.coverage.factors import operations
from fp9_sim.coverage.model import Facts, Group, Model, joined
from fp9_sim.coverage.sums import Known, SumCoverage, dot_model, flag_column


def fpu_model(unit: Fpu) -> Model:
    parts = {op: _part(unit, op) for op in unit.operations}
    names = tuple(op.name.lower() for op in unit.operations)
    groups = [Group("", {"operation": names})]
    for op, part in parts.items():
        groups += [group.within(op.name.lower()) for group in part.groups]

    def facts(inputs: Columns, outputs: Columns) -> Iterator[Facts]:
        chosen = np.minimum(inputs["op"], len(unit.operations) - 1)
        for op, part in parts.items():
            here = chosen == unit.operations.index(op)
            if here.any():
                yield "", {"operation": op.name.lower()}
            own, results = ({n: c[here] for n, c in columns.items()} for columns in (inputs, outputs))
            for group, met in part.facts(_ports(unit, op, own), results):
                yield joined(op.name.lower(), group), met

    return Model(tuple(groups), facts)


def _part(unit: Fpu, op: FpuOp) -> Model:
    if op is FpuOp.FMA:
        return _wide_model(unit)
    return _MODELS[op](part_unit(unit, op))


def part_unit(unit: Fpu, op: FpuOp) -> Any:
    """Return the single-purpose unit of an operation."""
    wide = unit.engine.result.format
    match op:
        case FpuOp.FMMA:
            return Dot(unit.name, unit.a, unit.b, unit.engine, unit.flags)
        case FpuOp.UPCAST:
            return Upcast(unit.name, unit.a, wide)
        case FpuOp.DOWNCAST:
            roundings = tuple(dict.fromkeys(fmt.default_rounding for fmt in unit.a))
            return Cast(unit.name, wide, unit.a, roundings, (Overflow.SATURATE,))
    raise ValueError(f"{op.name} given; give an operation with a unit of its own")


_MODELS: dict[FpuOp, Callable[[Any], Model]] = {
    FpuOp.FMMA: dot_model,
    FpuOp.UPCAST: upcast_model,
    FpuOp.DOWNCAST: cast_model,
}


def _wide_model(unit: Fpu) -> Model:
    covered = wide_sum(unit)

    def facts(inputs: Columns, outputs: Columns) -> Iterator[Facts]:
        known: set[Known] = set()
        results, flags = outputs["result"].tolist(), flag_column(outputs, len(inputs["c"]))
        read = operations(covered.sum, inputs, [("a", "b")])
        for operation, c, result, raised in zip(read, inputs["c"].tolist(), results, flags, strict=True):
            addend = covered.addends[c]
            yield "", covered.step(operation, addend) | covered.outcome(result, raised)
            yield from (("", lane) for lane in covered.lanes(operation, addend, known))

    return Model((Group("", covered.points, covered.crosses),), facts)


def wide_sum(unit: Fpu) -> SumCoverage:
    wide = (unit.engine.result.format,)
    engine = unit.engine.changed(name="fma", products=1, window=None)
    return SumCoverage(Sum(engine, wide, wide, product_range(wide, wide), 1), unit.flags)


def _ports(unit: Fpu, op: FpuOp, inputs: Columns) -> Columns:
    select = inputs.get("a_format")
    match op:
        case FpuOp.FMMA:
            lanes = range(unit.engine.step.products)
            codes = {f"{name}{lane}": _byte(inputs[name] >> 8 * lane) for name in ("a", "b") for lane in lanes}
            return codes | {name: column for name, column in inputs.items() if name not in ("a", "b", "op")}
        case FpuOp.FMA:
            return {name: inputs[name] for name in ("a", "b", "c")}
        case FpuOp.UPCAST:
            return {"code": _byte(inputs["a"])} | ({} if select is None else {"code_format": select})
        case FpuOp.DOWNCAST:
            return {"x": inputs["c"]} | ({} if select is None else {"target": select})


def _byte(column: NDArray[np.integer]) -> NDArray[np.uint8]:
    return (column & 0xFF).astype(np.uint8)
