"""SystemVerilog coverage of dot products, fused multiply-adds and accumulators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fp9.engines import Addend
from fp9.formats import floor_log2
from fp9.units import Dot, with_every_bias
from fp9_sim.coverage.computed_sum import Sum, sum_of
from fp9_sim.coverage.covergroups.casts import choice
from fp9_sim.coverage.covergroups.groups import CoverGroup
from fp9_sim.coverage.covergroups.numbers import NAN, ZERO
from fp9_sim.coverage.covergroups.part import Part
from fp9_sim.coverage.factors import sizes_of
from fp9_sim.coverage.model import CLASSES, FLAGS, LAST_PLACES, POSITIONS, SIGNS
from fp9_sim.coverage.sums import SumCoverage
from fp9_sim.coverage.values import Codes, lowest_place
from fp9_sim.coverage.window import Window

_GATED = ("none", "a", "b", "both", "zero times special")


@dataclass(frozen=True)
class Added:
    """SystemVerilog statements that compute the sum of all products and the addend."""

    part: Part
    group: CoverGroup
    covered: SumCoverage
    # Names of the two operand ports of each product.
    lanes: Sequence[tuple[str, str]]

    @property
    def sum(self) -> Sum:
        return self.covered.sum

    @property
    def declarations(self) -> list[str]:
        count, s = len(self.lanes), self.sum
        return [
            f"number_t a_number [{count}], b_number [{count}], addend, y;",
            f"wide_t product [{count}], summed, first, second, total;",
            f"int term [{count}], top [{1 + (s.engine.window.interleaved is not None)}], dropped, highest;",
            f"logic used [{count}], negative [{count}], numbers, any;",
            *(
                [f"number_t a_scale_number [{len(s.scales)}], b_scale_number [{len(s.scales)}];"]
                if s.scale is not None
                else []
            ),
        ]

    def operands(self) -> Iterator[str]:
        """Yield statements that decode all operands and add the products exactly."""
        s, numbers = self.sum, self.part.numbers
        bits = floor_log2(max(s.depth * s.products.largest, s.engine.addend_format.max_magnitude)) - self.covered.ulp
        numbers.need(bits + 6)
        ports = {port.name for port in self.part.unit.inputs}
        for lane, pair in enumerate(self.lanes):
            for side, port, formats in zip("ab", pair, (s.a, s.b), strict=True):
                select = f"{side}_format" if f"{side}_format" in ports else None
                offered = formats if select else formats[-1:] if len(formats) == 1 else formats[:1]
                read = numbers.chosen(offered, port, select, self.part.moved(offered, f"{side}_bias"))
                yield f"{side}_number[{lane}] = {read};"
        if s.scale is not None:
            read = numbers.read(s.scale)
            for block, names in enumerate(s.scales):
                for side, name in zip("ab", names, strict=True):
                    yield f"{side}_scale_number[{block}] = {read}({name}, 0);"
        yield "numbers = 1;"
        yield "summed = 0;"
        for lane in range(len(self.lanes)):
            yield from self._product(lane)

    def _product(self, lane: int) -> Iterator[str]:
        s = self.sum
        x, y = f"a_number[{lane}]", f"b_number[{lane}]"
        exponent = f"{x}.aligned + {y}.aligned"
        place_a, place_b = (
            min(lowest_place(fmt) for fmt in with_every_bias(formats, self._has_bias)) for formats in (s.a, s.b)
        )
        yield f"product[{lane}] = units({x}, {place_a}) * units({y}, {place_b});"
        missing = f"!is_number({x}) || !is_number({y})"
        if s.engine.nan.zero_bypass:
            bypassed = [f"{p}.kind == {ZERO} && {q}.kind == {NAN} && {q}.merged" for p, q in ((x, y), (y, x))]
            yield f"if ({' || '.join(bypassed)}) product[{lane}] = 0;"
            yield f"else if ({missing}) numbers = 0;"
        else:
            yield f"if ({missing}) numbers = 0;"
        if s.scale is not None:
            block = lane * len(s.scales) // len(self.lanes)
            p, q = f"a_scale_number[{block}]", f"b_scale_number[{block}]"
            ulp = lowest_place(s.scale)
            yield f"if (!is_number({p}) || !is_number({q})) numbers = 0;"
            yield f"product[{lane}] = product[{lane}] * (units({p}, {ulp}) * units({q}, {ulp}));"
            exponent += f" + {p}.aligned + {q}.aligned"
        yield f"term[{lane}] = {exponent};"
        yield f"summed = summed + product[{lane}];"

    @property
    def _has_bias(self) -> bool:
        return any(port.name in ("a_bias", "b_bias") for port in self.part.unit.inputs)

    def step(self) -> Iterator[str]:
        s, group = self.sum, self.group
        yield from group.set("c", "addend.kind", CLASSES)
        yield from self.formats()
        if s.scale is not None:
            yield from self._scales(0)
        yield "if (numbers && is_number(addend)) begin"
        yield from self.meeting(f"summed << {s.products.ulp - self.covered.ulp}", f"units(addend, {self.covered.ulp})")
        yield "end"

    def formats(self) -> Iterator[str]:
        s, group, ports = self.sum, self.group, {port.name for port in self.part.unit.inputs}
        for side, formats in (("a", s.a), ("b", s.b)):
            select = choice(f"{side}_format", formats) if f"{side}_format" in ports else "0"
            yield from group.set(f"format_{side}", select, tuple(fmt.name for fmt in formats))

    def _scales(self, block: int) -> Iterator[str]:
        fmt = self.sum.scale
        assert fmt is not None
        codes, vocabulary = Codes(fmt), sizes_of(fmt)
        one = -codes.ulp
        for side in "ab":
            x = f"{side}_scale_number[{block}]"
            value = f"units({x}, {codes.ulp})"
            place = {name: number for number, name in enumerate(vocabulary)}
            yield from self.group.set(
                f"scale_{side}",
                f"!is_number({x}) ? {place['nan']} : {x}.kind == {ZERO} ? {place.get('zero', place['nan'])} :"
                f" {value} == wide_t'(1) << {one} ? {place['1']} :"
                f" {value} < wide_t'(1) << {one} ? {place['below 1']} : {place['above 1']}",
                vocabulary,
            )

    def meeting(self, first: str, second: str) -> Iterator[str]:
        # The terms are in units of the coverage's ulp.
        group, meeting = self.group, self.covered.meeting
        fmt, limit = self.sum.result, meeting.limit
        self.part.numbers.need(limit.bit_length() + 2)
        yield f"first = {first};"
        yield f"second = {second};"
        yield "total = first + second;"
        yield "if (total != 0) begin"
        yield from group.set("sign", "int'(total < 0)", SIGNS)
        yield f"if (magnitude_of(total) <= {limit.bit_length() + 1}'h{limit:x}) begin"
        yield f"dropped = {self.part.numbers.dropped(fmt, self.covered.ulp, limit.bit_length())}(length_of(total));"
        yield from group.set("position", "position_of(magnitude_of(total), dropped)", POSITIONS)
        yield from group.set("last_place", "last_of(magnitude_of(total), dropped)", LAST_PLACES)
        yield "end"
        yield "end"
        yield "if (first != 0 && second != 0) begin"
        yield "highest = length_of(first) > length_of(second) ? length_of(first) : length_of(second);"
        yield from group.set(
            "difference", f"limited(length_of(second) - length_of(first), {-meeting.far}, {meeting.far + 1})"
        )
        yield from group.set("effective", "int'((first < 0) != (second < 0))", ("same signs", "opposed signs"))
        cancelled = f"limited(highest - length_of(total) + 1, 0, {meeting.longest + 1})"
        yield from group.set(
            "cancelled",
            f"total == 0 ? {meeting.longest + 2} : {cancelled}",
            (-1, *range(meeting.longest + 1), "all"),
        )
        yield "end"

    def outcome(self) -> Iterator[str]:
        yield f"y = {self.part.numbers.read(self.sum.result)}(result, 0);"
        yield from self.group.set("result", "y.kind", CLASSES)
        yield from self.group.set("flags", "flag_of(flags)", FLAGS)

    def each_lane(self) -> Iterator[str]:
        group = self.group
        yield from self.factors()
        for block in range(1, len(self.sum.scales)):
            yield group.clear
            yield from self._scales(block)
            yield group.hit
        if self.sum.engine.window.width is not None:
            yield "if (numbers && is_number(addend)) begin"
            yield from self._window()
            yield "end"

    def factors(self) -> Iterator[str]:
        for lane in range(len(self.lanes)):
            yield self.group.clear
            yield from self.group.set("a", f"a_number[{lane}].kind", CLASSES)
            yield from self.group.set("b", f"b_number[{lane}].kind", CLASSES)
            yield from self.group.set("c", "addend.kind", CLASSES)
            yield self.group.hit

    def _terms(self) -> Iterator[tuple[int, str, str, str]]:
        # Yields for each aligned term: its index, exponent, exact value, and a test for nonzero.
        group = self.sum.engine.step.group
        if group is None:
            for lane in range(len(self.lanes)):
                yield lane, f"term[{lane}]", f"product[{lane}]", f"product[{lane}] != 0"
            return
        for number, start in enumerate(range(0, len(self.lanes), group)):
            block = start * len(self.sum.scales) // len(self.lanes)
            lanes = range(start, min(start + group, len(self.lanes)))
            exponent = f"a_scale_number[{block}].aligned + b_scale_number[{block}].aligned" if self.sum.scales else "0"
            any_ = " || ".join(f"product[{lane}] != 0" for lane in lanes)
            yield number, exponent, " + ".join(f"product[{lane}]" for lane in lanes), any_

    def _window(self) -> Iterator[str]:
        window, group, shown = self.sum.engine.window, self.group, Window(self.sum.engine)
        terms = list(self._terms())
        halves = [terms] if window.interleaved is None else [terms[::2], terms[1::2]]
        inside = window.addend is Addend.INSIDE
        for number, exponent, value, any_ in terms:
            yield f"term[{number}] = {exponent};"
            yield f"negative[{number}] = {value} < 0;"
            yield f"used[{number}] = {any_};"
        for half, some in enumerate(halves):
            names = [f"used[{number}] ? term[{number}] : NONE" for number, *_ in some]
            zeros = [f"!used[{number}]" for number, *_ in some]
            if inside and window.interleaved is None:
                names.append(f"addend.kind != {ZERO} ? addend.aligned : NONE")
                zeros.append(f"addend.kind == {ZERO}")
            if window.zero_exponent is not None:
                names.append(f"{' || '.join(zeros)} ? {window.zero_exponent} : NONE")
            yield f"top[{half}] = NONE;"
            yield from (f"top[{half}] = larger(top[{half}], {name});" for name in names)
            for number, *_ in some:
                yield group.clear
                yield f"if (used[{number}] && top[{half}] != NONE) begin"
                yield from group.set("product_shift", f"smaller(top[{half}] - term[{number}], {shown.beyond})")
                yield from group.set("product_sign", f"int'(negative[{number}])", SIGNS)
                yield "end"
                yield group.hit
        yield f"highest = {'larger(top[0], top[1])' if len(halves) > 1 else 'top[0]'};"
        yield group.clear
        yield f"if (addend.kind != {ZERO} && highest != NONE) begin"
        if inside:
            yield "highest = larger(highest, addend.aligned);"
        yield from group.set("addend_shift", f"limited(highest - addend.aligned, {shown.lowest}, {shown.beyond})")
        yield from group.set("addend_sign", "int'(addend.negative)", SIGNS)
        yield "end"
        yield group.hit


def gating(part: Part, unit: Dot, group: CoverGroup) -> list[str]:
    if not unit.gate_zeros:
        return []
    before = part.kept("gated_before", "int", "-1")
    return [
        f"gated = 2 * int'(b_number[0].kind == {ZERO}) + int'(a_number[0].kind == {ZERO});",
        f"if (gated != 0 && (!is_number(a_number[0]) || !is_number(b_number[0]))) gated = {len(_GATED) - 1};",
        *group.set("gated", "gated", _GATED),
        f"if ({before} >= 0) begin",
        *group.set("gated_before", before, _GATED),
        "end",
        f"{before} = gated;",
    ]


def dot(part: Part, unit: Dot) -> str:
    sum_ = Added(part, part.groups[""], SumCoverage(sum_of(unit), unit.flags), pairs(unit))
    return part.function([*sum_.declarations, "int gated;", *port_sum(sum_, gating(part, unit, sum_.group))])


def pairs(unit: Dot) -> list[tuple[str, str]]:
    return list(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))


def port_sum(sum_: Added, gated: Sequence[str] = ()) -> Iterator[str]:
    yield from sum_.operands()
    yield f"addend = {sum_.part.numbers.read(sum_.sum.engine.addend_format)}(c, 0);"
    yield sum_.group.clear
    yield from sum_.step()
    yield from sum_.outcome()
    yield from gated
    yield sum_.group.hit
    yield from sum_.each_lane()
