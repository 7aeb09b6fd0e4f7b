"""One multiplier that computes the products of all lanes of a multi-format FPU."""

# In a vector operation, each lane's factors occupy their own bits of the multiplier's factors a and b. For a bit of b,
# the multiplier adds only those bits of a that belong to the same lane:
#
#     lane 0   aaaa.......  x  bbbb.......  ->  pppppppp..............
#     lane 1   .......aaaa  x  .......bbbb  ->  ..............pppppppp

from __future__ import annotations

import itertools
from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data

from fp9.units import FpuGroup, MultiFpu
from fp9_rtl.casts.lanes import lane_name
from fp9_rtl.fpu.choices import by_vector
from fp9_rtl.fpu.operand import Scale
from fp9_rtl.fpu.sum import EXACT_PRODUCT, MultiplyMulti
from fp9_rtl.parts.step import Step, forward

# Output field with the products of all lanes.
PRODUCTS = "products"


class SharedFactors:
    """Bits of the first lane's factors that hold the factors of the other lanes in vector operations.

    `modes` lists the lane width in bits for each value of the port `vector`. The first width is that of the word.
    """

    def __init__(self, unit: MultiFpu, lanes: Sequence[MultiFpu]) -> None:
        self._unit = unit
        self._scales = [Scale.of(lane) for lane in lanes]
        self.modes = (unit.word, *unit.lane_widths)
        self.bits = self._scales[0].precision
        self._lowest = {0: 0}
        for number in reversed(range(1, len(lanes))):
            free = (low for low in range(self.bits) if self._is_free(number, low))
            self._lowest.update((number, low) for low in itertools.islice(free, 1))

    @property
    def fit(self) -> bool:
        """Return whether the first lane has a multiplier that is wide enough for all lanes of each width."""
        return FpuGroup.ADDMUL in self._unit.groups and len(self._lowest) == len(self._scales)

    def place(self, number: int) -> range:
        low = self._lowest[number]
        return range(low, low + self._scales[number].precision)

    def used(self, mode: int) -> dict[int, range]:
        """Return the bits that each active lane uses in a mode."""
        ranges = {number: self._range(number, low, mode) for number, low in self._lowest.items()}
        return {number: bits for number, bits in ranges.items() if bits}

    def _range(self, number: int, low: int, mode: int) -> range:
        # A lane that is wider than the mode uses the highest bits of its factors.
        place, width = self._unit.lane_places[number]
        scale = self._scales[number]
        top = low + scale.precision
        if place % mode:
            return range(0)
        if width == mode:
            return range(low, top)
        narrow = self._unit.lane_units[mode]
        integer = scale.integer_bits - scale.precision if narrow.integers else 0
        return range(top - max(integer, *(fmt.precision for fmt in narrow.formats)), top)

    def _is_free(self, number: int, low: int) -> bool:
        if low + self._scales[number].precision > self.bits:
            return False
        own = {mode: set(self._range(number, low, mode)) for mode in self.modes}
        return all(own[mode].isdisjoint(bits) for mode in self.modes for bits in self.used(mode).values())

    def rows(self) -> list[tuple[range, list[int]]]:
        """Divide the bits of b into ranges. For each range and mode, return a mask of the bits of a that may be added.

        A factor is 0 in all bits that no lane uses.
        """
        used = [self.used(mode) for mode in self.modes]
        ranges: list[tuple[int, dict[int, int]]] = []
        for bit in range(self.bits):
            owners = {mode: lane for mode, lanes in enumerate(used) for lane, bits in lanes.items() if bit in bits}
            _, last = ranges[-1] if ranges else (0, {})
            if not ranges or any(last.get(mode, lane) != lane for mode, lane in owners.items()):
                ranges.append((bit, owners))
            else:
                last.update(owners)
        ends = [*(start for start, _ in ranges[1:]), self.bits]
        return [
            (range(start, end), [self._without_others(lanes, owners.get(mode)) for mode, lanes in enumerate(used)])
            for (start, owners), end in zip(ranges, ends, strict=True)
        ]

    def _without_others(self, lanes: dict[int, range], owner: int | None) -> int:
        others = (bit for lane, bits in lanes.items() if owner is not None and lane != owner for bit in bits)
        return (1 << self.bits) - 1 - sum(1 << bit for bit in others)

    def product_masks(self, number: int) -> list[int]:
        """Return a mask for each mode that keeps the bits of a lane's own product in this lane's product field."""
        place = self.place(number)
        dropped = [used.get(number, place).start - place.start for used in map(self.used, self.modes)]
        return [(1 << 2 * len(place)) - (1 << 2 * bits) for bits in dropped]


class MultiplyLanes(Step):
    """Form the products of all lanes with one multiplier."""

    name = "multiply"

    def __init__(self, unit: MultiFpu, lanes: Sequence[MultiFpu], factors: SharedFactors, i: data.StructLayout) -> None:
        self._unit, self._factors = unit, factors
        self._lanes = []
        for number, lane in enumerate(lanes):
            fields = i[lane_name(number)].shape.members
            exact = {EXACT_PRODUCT: 2 * len(factors.place(number))}
            self._lanes.append(MultiplyMulti(lane, data.StructLayout({**fields, **exact})))
        products = {lane_name(number): step.o.shape() for number, step in enumerate(self._lanes)}
        super().__init__(i, data.StructLayout({**i.members, **products, PRODUCTS: 2 * factors.bits}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, factors = self.i, self.o, self._factors
        a, b = (Signal(factors.bits, name=f"factors_{name}") for name in "ab")
        product = Signal(2 * factors.bits)
        m.d.comb += [a.eq(self._factor("a")), b.eq(self._factor("b"))]
        terms: list[Value] = []
        for rows, masks in factors.rows():
            partial = Signal(len(a) + len(rows), name=f"partial_{rows.stop - 1}_{rows.start}")
            m.d.comb += partial.eq((a & self._mask(masks, len(a))) * b[rows.start : rows.stop])
            terms.append(partial << rows.start)
        m.d.comb += [product.eq(sum(terms, start=Const(0))), self.o[PRODUCTS].eq(product)]
        for number, step in enumerate(self._lanes):
            name, place = lane_name(number), factors.place(number)
            m.submodules[name] = step
            forward(m, i[name], step.i, *i[name].shape().members)
            own = product[2 * place.start : 2 * place.stop]
            kept = self._mask(factors.product_masks(number), len(own))
            m.d.comb += [step.i[EXACT_PRODUCT].eq(own & kept), o[name].eq(step.o)]
        forward(m, i, o, "vector")
        return m

    def _factor(self, name: str) -> Value:
        factor = self.i[lane_name(0)][name].significand
        for number in range(1, len(self._lanes)):
            significand = self.i[lane_name(number)][name].significand
            active = [number in self._factors.used(mode) for mode in self._factors.modes]
            mask = self._mask([-1 if each else 0 for each in active], len(significand))
            factor = factor | Cat(Const(0, self._factors.place(number).start), significand & mask)
        return factor

    def _mask(self, masks: Sequence[int], bits: int) -> Value:
        constants = [Const(mask, bits) for mask in masks]
        return by_vector(self._unit, self.i.vector, constants[0], constants[1:])
