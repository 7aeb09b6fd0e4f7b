"""Coverage model of accumulators that sum in chunks and add each chunk's sum to a total."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fp9.golden import evaluate
from fp9.units import Columns, Mac, MacOp, ProductRange
from fp9_sim.coverage.accumulators.sequence import Sequence
from fp9_sim.coverage.computed_sum import Sum, sum_of
from fp9_sim.coverage.factors import operations
from fp9_sim.coverage.gating import Gating
from fp9_sim.coverage.meeting import Meeting
from fp9_sim.coverage.model import FLAGS, Bin, Cross, Facts, Group, Model, classes_of, flags_of
from fp9_sim.coverage.ranges import reached_classes
from fp9_sim.coverage.sums import Known, SumCoverage, flag_column
from fp9_sim.coverage.values import Codes

_SUMS = (MacOp.ACCUMULATE, MacOp.LOAD)

_ENDS = ("full", "fold")


def chunk_model(unit: Mac) -> Model:
    sequence, gating = Sequence(unit), Gating(unit, ("operation",))
    steps = {"steps": tuple(range(unit.chunk_steps))}
    own = Group(
        "",
        sequence.points | steps | gating.points,
        (*sequence.crosses, Cross("chunk_end", ("operation", "steps")), *gating.crosses),
    )
    return Model((own, _chunk_group(unit), _total_group(unit)), lambda inputs, outputs: _facts(unit, inputs, outputs))


# --- within a chunk -------------------------------------------------------------------------------------------------


def _within(unit: Mac) -> Mac:
    return replace(unit, engine=unit.engine.within_chunk)


def _chunk_classes(unit: Mac) -> tuple[str, ...]:
    products = sum_of(unit).products
    return reached_classes(unit.engine.result.format, _chunk_range(unit, products), (*unit.a, *unit.b))


def _chunk_range(unit: Mac, products: ProductRange) -> ProductRange:
    assert unit.engine.chunk.length is not None
    return replace(products, largest=unit.engine.chunk.length * products.largest)


def _chunk_group(unit: Mac) -> Group:
    # The results and flags of a chunk are not covered, because no output port shows the sum of the open chunk.
    covered = SumCoverage(sum_of(_within(unit)), flags=False)
    points = {name: bins for name, bins in covered.points.items() if name != "result"}
    return Group("chunk", points | {"c": _chunk_classes(unit)}, covered.crosses)


@dataclass(frozen=True)
class Chunks:
    """State of an accumulator's unfinished chunk, at each operation of a sequence."""

    # Number of accumulation steps in the chunk before the operation.
    steps: list[int]
    # Codes of the chunk's sum before and after the operation.
    before: list[int]
    after: list[int]
    # "full" if the operation is a chunk's last step, "fold" if the operation FOLD ends the chunk, or None otherwise.
    ends: list[str | None]


def follow(unit: Mac, ops: list[MacOp], inputs: Columns) -> Chunks:
    steps, ends, count = [], [], 0
    for op in ops:
        steps.append(count)
        end = "fold" if op is MacOp.FOLD and count else None
        if op in _SUMS:
            count = (0 if op is MacOp.LOAD else count) + 1
            end = "full" if count == unit.chunk_steps else None
        if end or op is MacOp.CLEAR:
            count = 0
        ends.append(end)
    first = np.array([op is MacOp.LOAD or not before for op, before in zip(ops, steps, strict=True)])
    adds = np.array([op in _SUMS for op in ops])
    after = _sums(unit, np.where(adds, np.where(first, MacOp.LOAD, MacOp.ACCUMULATE), MacOp.HOLD), inputs)
    before = [held if count else 0 for held, count in zip([0, *after[:-1]], steps, strict=True)]
    return Chunks(steps, before, after, ends)


def _sums(unit: Mac, op: NDArray[np.int64], inputs: Columns) -> list[int]:
    # The first step of a chunk replaces the sum of the previous chunk.
    c = np.zeros(len(op), dtype=unit.engine.result.format.dtype)
    sums: list[int] = evaluate(_within(unit), {**inputs, "op": op.astype(np.uint8), "c": c})["result"].tolist()
    return sums


# --- the total ------------------------------------------------------------------------------------------------------


def _join(unit: Mac) -> Sum:
    products = sum_of(unit).products
    assert unit.engine.chunk.length is not None
    return Sum(unit.engine.joining, unit.a, unit.b, products, unit.engine.chunk.length)


def _total_group(unit: Mac) -> Group:
    # Flags are covered only for the operation FOLD, because the flags of other operations include steps within the
    # chunk.
    join = _join(unit)
    meeting = _meeting(unit)
    points = {
        "end": _ENDS,
        "chunk": _chunk_classes(unit),
        "total": classes_of(unit.engine.addend_format),
        **meeting.points,
        "result": join.results,
        **({"flags": tuple(name for name in FLAGS if join.raises(name))} if unit.flags else {}),
    }
    crosses = (
        Cross("classes", ("chunk", "total")),
        Cross("ends", ("end", "effective")),
        *meeting.crosses(),
        *((Cross("outcome", ("result", "flags"), join.impossible_outcome),) if unit.flags else ()),
    )
    return Group("total", points, crosses)


def _place(unit: Mac) -> int:
    return min(Codes(fmt).ulp for fmt in (unit.engine.result.format, unit.engine.addend_format))


def _meeting(unit: Mac) -> Meeting:
    return Meeting(_join(unit).result, _place(unit), _join(unit).longest)


def _facts(unit: Mac, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    covered = SumCoverage(sum_of(_within(unit)), flags=False)
    sequence, gating, meeting = Sequence(unit), Gating(unit), _meeting(unit)
    totals, chunks = (Codes(fmt, _place(unit)) for fmt in (unit.engine.addend_format, unit.engine.result.format))
    sums, results = Codes(unit.engine.result.format, covered.ulp), Codes(unit.engine.output)
    total, known = 0, set[Known]()
    ops = list(sequence.read(inputs))
    followed = follow(unit, [op for op, _ in ops], inputs)
    lanes = list(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))
    golden, codes = evaluate(unit, inputs)["result"].tolist(), outputs["result"].tolist()
    flags, c = flag_column(outputs, len(codes)), inputs["c"].tolist()
    for i, operation in enumerate(operations(covered.sum, inputs, lanes)):
        op, facts = ops[i]
        yield "", {**facts, "steps": followed.steps[i], **gating.facts(operation)}
        if op in _SUMS:
            addend = sums[followed.before[i] if op is MacOp.ACCUMULATE else 0]
            yield "chunk", covered.step(operation, addend)
            yield from (("chunk", lane) for lane in covered.lanes(operation, addend, known))
        if end := followed.ends[i]:
            chunk, before = chunks[followed.after[i]], totals[c[i] if op is MacOp.LOAD else total]
            joins: dict[str, Bin] = {"end": end, "chunk": chunk.name, "total": before.name}
            if chunk.is_number and before.is_number:
                joins |= meeting.facts(chunk.units, before.units)
            joins |= {"result": results[codes[i]].name}
            raised = flags[i]
            yield "total", joins | ({"flags": flags_of(raised)} if op is MacOp.FOLD and raised is not None else {})
        total = golden[i]
