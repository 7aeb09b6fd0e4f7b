"""Coverage model of dot products: operand classes, alignment, cancellation and rounding."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Columns, Dot
from fp9_sim.coverage.computed_sum import Sum, sum_of
from fp9_sim.coverage.factors import Operation, operations, sizes_of
from fp9_sim.coverage.gating import Gating
from fp9_sim.coverage.meeting import Meeting
from fp9_sim.coverage.model import FLAGS, Bin, Cross, Facts, Group, Model, classes_of, flags_of
from fp9_sim.coverage.values import Code, Codes, lowest_place
from fp9_sim.coverage.window import Window

_SCALES = ("scale_a", "scale_b")

# Key of bins that were already sampled.
Known = tuple[object, ...]


class SumCoverage:
    """Cover points of a dot product, and functions that return the bins hit by operations."""

    # If the addend can come from several sources, such as a port and a register, `sources` names the sources.

    def __init__(self, sum_: Sum, flags: bool = True, sources: tuple[str, ...] = ()) -> None:
        self.sum, self._flags, self._sources = sum_, flags, sources
        addend = lowest_place(sum_.engine.addend_format)
        self.ulp = min(addend, sum_.products.ulp)
        self._product_shift = sum_.products.ulp - self.ulp
        self.addends = Codes(sum_.engine.addend_format, self.ulp)
        self._results = Codes(sum_.result)
        self._window = Window(sum_.engine)
        self.meeting = Meeting(sum_.result, self.ulp, sum_.longest)

    @property
    def points(self) -> dict[str, tuple[Bin, ...]]:
        s = self.sum
        flags = tuple(name for name in FLAGS if s.raises(name))
        return {
            **({"addend": self._sources} if self._sources else {}),
            "a": classes_of(*s.a),
            "b": classes_of(*s.b),
            "c": classes_of(s.engine.addend_format),
            "format_a": tuple(fmt.name for fmt in s.a),
            "format_b": tuple(fmt.name for fmt in s.b),
            **({} if s.scale is None else dict.fromkeys(_SCALES, sizes_of(s.scale))),
            **self.meeting.points,
            **self._window.points,
            "result": s.results,
            **({"flags": flags} if self._flags else {}),
        }

    @property
    def crosses(self) -> tuple[Cross, ...]:
        outcome = Cross("outcome", ("result", "flags"), self.sum.impossible_outcome)
        return (
            Cross("classes", ("a", "b", "c")),
            Cross("formats", ("format_a", "format_b")),
            *(() if self.sum.scale is None else (Cross("scales", _SCALES),)),
            *self.meeting.crosses(("addend",) if self._sources else ()),
            *self._window.crosses,
            *((outcome,) if self._flags else ()),
        )

    def step(self, operation: Operation, addend: Code) -> dict[str, Bin]:
        facts: dict[str, Bin] = {"c": addend.name, "format_a": operation.format_a, "format_b": operation.format_b}
        facts |= dict(zip(_SCALES, operation.sizes[0], strict=False))
        if operation.summed is None or not addend.is_number:
            return facts
        return facts | self.meeting.facts(operation.summed << self._product_shift, addend.units)

    def outcome(self, result: int, flags: int | None) -> dict[str, Bin]:
        facts: dict[str, Bin] = {"result": self._results[result].name}
        return facts if flags is None else facts | {"flags": flags_of(flags)}

    def lanes(self, operation: Operation, addend: Code, known: set[Known]) -> Iterator[dict[str, Bin]]:
        for x, y in operation.lanes:
            if (classes := (x.name, y.name, addend.name)) not in known:
                known.add(classes)
                yield dict(zip(("a", "b", "c"), classes, strict=True))
        for sizes in operation.sizes[1:]:
            if sizes not in known:
                known.add(sizes)
                yield dict(zip(_SCALES, sizes, strict=True))
        for facts in self._window.facts(operation, addend):
            if (shift := tuple(facts.items())) not in known:
                known.add(shift)
                yield facts


def flag_column(outputs: Columns, count: int) -> list[int | None]:
    return outputs["flags"].tolist() if "flags" in outputs else [None] * count


def dot_model(unit: Dot) -> Model:
    covered, gating = SumCoverage(sum_of(unit), unit.flags), Gating(unit)
    group = Group("", covered.points | gating.points, (*covered.crosses, *gating.crosses))

    def facts(inputs: Columns, outputs: Columns) -> Iterator[Facts]:
        known: set[Known] = set()
        every = zip(
            operations(covered.sum, inputs, list(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))),
            inputs["c"].tolist(),
            outputs["result"].tolist(),
            flag_column(outputs, len(inputs["c"])),
            strict=True,
        )
        for operation, c, result, flags in every:
            addend = covered.addends[c]
            yield "", covered.step(operation, addend) | covered.outcome(result, flags) | gating.facts(operation)
            yield from (("", lane) for lane in covered.lanes(operation, addend, known))

    return Model((group,), facts)
