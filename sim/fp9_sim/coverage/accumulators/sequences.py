"""Coverage models of accumulators: consecutive operations, and the addition of products."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.golden import evaluate
from fp9.units import Columns, Mac, MacOp
from fp9_sim.coverage.accumulators.chunks import chunk_model
from fp9_sim.coverage.accumulators.kulisch import kulisch_model
from fp9_sim.coverage.accumulators.sequence import Sequence
from fp9_sim.coverage.computed_sum import sum_of
from fp9_sim.coverage.factors import operations
from fp9_sim.coverage.gating import Gating
from fp9_sim.coverage.model import Cross, Facts, Group, Model
from fp9_sim.coverage.sums import Known, SumCoverage, flag_column
from fp9_sim.coverage.values import Codes

SOURCES = {MacOp.ACCUMULATE: "accumulator", MacOp.LOAD: "c"}


def mac_model(unit: Mac) -> Model:
    if unit.engine.step.exact:
        return kulisch_model(unit)
    return chunk_model(unit) if unit.chunk_steps else _plain_model(unit)


def _plain_model(unit: Mac) -> Model:
    covered = SumCoverage(sum_of(unit), unit.flags, tuple(SOURCES.values()))
    sequence, gating = Sequence(unit), Gating(unit, ("operation",))
    points = {**sequence.points, "held": covered.sum.results}
    crosses = (*sequence.crosses, Cross("state", ("operation", "held")))
    group = Group("", points | covered.points | gating.points, (*crosses, *covered.crosses, *gating.crosses))
    return Model((group,), lambda inputs, outputs: _facts(unit, covered, inputs, outputs))


def _facts(unit: Mac, covered: SumCoverage, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    sequence, gating = Sequence(unit), Gating(unit, ("operation",))
    held = Codes(unit.engine.output, covered.ulp)
    before = held[0]
    known: set[Known] = set()
    every = zip(
        sequence.read(inputs),
        operations(covered.sum, inputs, list(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))),
        inputs["c"].tolist(),
        evaluate(unit, inputs)["result"].tolist(),
        outputs["result"].tolist(),
        flag_column(outputs, len(inputs["c"])),
        strict=True,
    )
    for (op, facts), operation, c, after, result, flags in every:
        facts |= {"held": before.name, **gating.facts(operation)}
        if op in SOURCES:
            addend = before if op is MacOp.ACCUMULATE else covered.addends[c]
            facts |= {"addend": SOURCES[op], **covered.step(operation, addend), **covered.outcome(result, flags)}
            yield from (("", lane) for lane in covered.lanes(operation, addend, known))
        yield "", facts
        before = held[after]
