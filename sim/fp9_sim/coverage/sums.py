"""Coverage of sums of products: classes of all operands, exponent differences, cancellations, rounding, results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fp9.engines import Addend, Engine, Truncation
from fp9.formats import FixedFormat, Format, floor_log2, pow2
from fp9.units import Columns, Dot, ProductRange, product_range
from fp9_sim.coverage.factors import Operation, operations
from fp9_sim.coverage.gating import Gating
from fp9_sim.coverage.meeting import Meeting
from fp9_sim.coverage.model import (
    FAR,
    FLAGS,
    Bin,
    Cross,
    Facts,
    Group,
    Model,
    classes_of,
    flags_of,
    impossible_rounding,
)
from fp9_sim.coverage.values import Code, Codes, lowest_place
from fp9_sim.coverage.window import Window

Known = tuple[object, ...]
"""What identifies facts that were given before."""


@dataclass(frozen=True)
class Sum:
    """Products of operands of some formats and an addend, summed by a step of an engine; `depth` products at most."""

    engine: Engine
    a: tuple[Format, ...]
    b: tuple[Format, ...]
    products: ProductRange
    depth: int

    @property
    def result(self) -> FixedFormat:
        """The format that the sum is rounded to."""
        assert isinstance(self.engine.output, FixedFormat)
        return self.engine.output

    @property
    def longest(self) -> int:
        """The longest cancellation that is told apart: a product just above a power of two and the addend below it, or
        a product that differs from the addend by its own last place."""
        factors = [max(fmt.precision for fmt in formats) for formats in (self.a, self.b)]
        return max(self.engine.addend_format.precision, sum(factors) - 1)

    @property
    def lowest_cut(self) -> int | None:
        """The lowest place at which a window cuts terms; None where none does."""
        if self.engine.window is None:
            return None
        lowest = self.products.ulp
        if self.engine.addend is Addend.INSIDE:
            zero = -FAR if self.engine.zero_exponent is None else self.engine.zero_exponent
            lowest = max(self.result.min_normal_exponent, zero)
        return min(lowest, self.products.ulp) - self.engine.window

    @property
    def exact_when_small(self) -> bool:
        """Whether the smallest results come from nothing but themselves: no term has a bit below their last place, and
        no window cuts one off. Without subnormal numbers the smallest is odd, which no sum is that was cut."""
        if self.products.ulp < lowest_place(self.result):
            return False
        if self.lowest_cut is None or not self.result.subnormals:
            return lowest_place(self.engine.addend_format) >= lowest_place(self.result)
        with_products = self.products.ulp - (self.engine.window or 0) > self.result.min_normal_exponent
        return with_products and self.lowest_cut <= lowest_place(self.engine.addend_format)

    def raises(self, flags: str) -> bool:
        """Whether an operation can raise a flag: infinities are invalid where an operand can be one, sums of small
        parts underflow, and sums overflow where products reach the last place of the largest result, or rounding or
        truncation leads away from zero."""
        if flags == "invalid":
            return any(fmt.has_inf for fmt in (*self.a, *self.b))
        if flags == "overflow":
            place = self.result.quantum(floor_log2(self.result.max_magnitude))
            nearest = self.engine.output_rounding.is_nearest
            needed = pow2(place - 1) if nearest else pow2(place)
            floors = self.engine.window is not None and self.engine.truncation is Truncation.FLOOR
            away = floors or not self.engine.output_rounding.grows_from_half
            return away or self.depth * self.products.largest >= needed
        return flags != "underflow" or not (self.result.subnormals and self.exact_when_small)

    def impossible_outcome(self, outcome: str, flags: str) -> str | None:
        """Why a class of results cannot come with some flags."""
        cut_to_zero = self.engine.window is not None and (outcome, flags) == ("zero", "inexact")
        reasons = {
            "no operation of the unit raises it": not self.raises(flags),
            "only NaN is invalid": flags == "invalid" and outcome != "nan",
            "overflow gives infinity, or NaN where there is none": flags == "overflow"
            and outcome != ("infinity" if self.result.has_inf else "nan"),
            "sums as small as this are exact": outcome in ("subnormal", "smallest normal")
            and flags in ("inexact", "underflow")
            and self.exact_when_small,
            "a window cuts off what is smaller than the smallest number": (outcome, flags) == ("zero", "underflow")
            and self.lowest_cut is not None
            and self.result.subnormals
            and self.lowest_cut >= lowest_place(self.result),
        }
        own = next((reason for reason, holds in reasons.items() if holds), None)
        roundings = (self.engine.output_rounding,)
        return own or (None if cut_to_zero else impossible_rounding(self.result, roundings, outcome, flags))


def sum_of(unit: Dot) -> Sum:
    """The sum that a unit's step is."""
    products = product_range(unit.a, unit.b, unit.bias_port)
    return Sum(unit.engine, unit.a, unit.b, products, unit.engine.products)


class SumCoverage:
    """Points of a sum and what operations are at them; `sources` names where an addend can come from, if not only from
    one place."""

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
        """Bins of every point."""
        s = self.sum
        flags = tuple(name for name in FLAGS if s.raises(name))
        return {
            **({"addend": self._sources} if self._sources else {}),
            "a": classes_of(*s.a),
            "b": classes_of(*s.b),
            "c": classes_of(s.engine.addend_format),
            "format_a": tuple(fmt.name for fmt in s.a),
            "format_b": tuple(fmt.name for fmt in s.b),
            **self.meeting.points,
            **self._window.points,
            "result": classes_of(s.result),
            **({"flags": flags} if self._flags else {}),
        }

    @property
    def crosses(self) -> tuple[Cross, ...]:
        """Crosses of the points."""
        outcome = Cross("outcome", ("result", "flags"), self.sum.impossible_outcome)
        return (
            Cross("classes", ("a", "b", "c")),
            Cross("formats", ("format_a", "format_b")),
            *self.meeting.crosses(("addend",) if self._sources else ()),
            *self._window.crosses,
            *((outcome,) if self._flags else ()),
        )

    def step(self, operation: Operation, addend: Code) -> dict[str, Bin]:
        """How products and addend meet, and the formats that are read."""
        facts: dict[str, Bin] = {"c": addend.name, "format_a": operation.format_a, "format_b": operation.format_b}
        if operation.summed is None or not addend.is_number:
            return facts
        return facts | self.meeting.facts(operation.summed << self._product_shift, addend.units)

    def outcome(self, result: int, flags: int | None) -> dict[str, Bin]:
        """The class of a result, and its flags where there are any."""
        facts: dict[str, Bin] = {"result": self._results[result].name}
        return facts if flags is None else facts | {"flags": flags_of(flags)}

    def lanes(self, operation: Operation, addend: Code, known: set[Known]) -> Iterator[dict[str, Bin]]:
        """The classes of each lane, and where terms stand in a window, where they are not yet known."""
        for x, y in operation.lanes:
            if (classes := (x.name, y.name, addend.name)) not in known:
                known.add(classes)
                yield dict(zip(("a", "b", "c"), classes, strict=True))
        for facts in self._window.facts(operation, addend):
            if (shift := tuple(facts.items())) not in known:
                known.add(shift)
                yield facts


def flag_column(outputs: Columns, count: int) -> list[int | None]:
    """The flags of operations; None where a unit has none."""
    return outputs["flags"].tolist() if "flags" in outputs else [None] * count


def dot_model(unit: Dot) -> Model:
    """The points of a unit's sums; with several products, operand classes are those of each lane in turn."""
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
