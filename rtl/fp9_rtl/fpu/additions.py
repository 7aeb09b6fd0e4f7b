"""One aligner, adder and normaliser for all lanes of a multi-format FPU."""

# The steps do for a word of several lanes what `AlignMulti`, `AddMulti` and `NormaliseMulti` do for one lane.

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from fp9.units import MultiFpu
from fp9_rtl.casts.lanes import lane_name
from fp9_rtl.fpu.multi import fraction_bits
from fp9_rtl.fpu.products import PRODUCTS, SharedFactors
from fp9_rtl.fpu.sum import NORMALISED, AlignMulti, NormaliseMulti
from fp9_rtl.fpu.word import CARRY, SIGN, SelectLanes, SharedWord, any_bit
from fp9_rtl.parts.end_around import CarryTree
from fp9_rtl.parts.step import Step, forward


class _Lanes(Step):
    """A step that computes all lanes in one word. It passes the port `vector` on to the next step."""

    def __init__(self, unit: MultiFpu, word: SharedWord, i: data.StructLayout, o: dict[str, data.ShapeLike]) -> None:
        super().__init__(i, data.StructLayout({**o, "vector": i["vector"].shape}))
        self._word = word
        self._select = SelectLanes(unit, word, self.i.vector)


class AlignLanes(_Lanes):
    """Align product and addend of all lanes."""

    name = "align"

    def __init__(
        self, unit: MultiFpu, lanes: Sequence[MultiFpu], factors: SharedFactors, word: SharedWord, i: data.StructLayout
    ) -> None:
        self._factors = factors
        self._lanes = [AlignMulti(lane, i[lane_name(n)].shape, shared=True) for n, lane in enumerate(lanes)]
        o: dict[str, data.ShapeLike] = {"larger": word.bits, "smaller": word.bits}
        for number, step in enumerate(self._lanes):
            fields = {name: field.shape for name, field in step.o.shape() if name not in ("product_larger", "distance")}
            o[lane_name(number)] = data.StructLayout(fields)
        super().__init__(unit, word, i, o)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, word, select = self.i, self.o, self._word, self._select
        for number, step in enumerate(self._lanes):
            name = lane_name(number)
            m.submodules[name] = step
            m.d.comb += step.i.eq(i[name])
            forward(m, step.o, o[name], *o[name].shape().members)
        product, addend, product_larger, unshifted = (
            Signal(word.bits, name=name) for name in ("products", "addends", "product_larger", "unshifted")
        )
        m.d.comb += [
            product.eq(self._products()),
            addend.eq(select.pack([i[lane_name(lane)].c.significand for lane in word.lanes])),
            product_larger.eq(select.spread([step.o.product_larger for step in self._lanes])),
            o.larger.eq((product & product_larger) | (addend & ~product_larger)),
            # As in `AlignMulti`, the addend is one place further right.
            unshifted.eq((addend >> 1 & product_larger) | (product & ~product_larger)),
            o.smaller.eq(self._shifted(m, unshifted)),
        ]
        forward(m, i, o, "vector")
        return m

    def _products(self) -> Value:
        i, word = self.i, self._word
        if PRODUCTS not in i.shape().members:
            return self._select.pack([i[lane_name(lane)].product.significand for lane in word.lanes])
        # Most lanes find their product in place. All bits between the products are 0.
        low = word.bits - SIGN - CARRY - len(i.products)
        whole = Cat(Const(0, low), i.products)
        by_mode: list[Value] = []
        for width in self._factors.modes:
            elsewhere, moved = 0, Const(0)
            for lane, bits in self._factors.used(width).items():
                product = range(low + 2 * bits.start, low + 2 * bits.stop)
                wanted = word.end(lane) - SIGN - CARRY - len(product)
                if wanted != product.start:
                    elsewhere |= (1 << product.stop) - (1 << product.start)
                    moved = moved | Cat(Const(0, wanted), whole[product.start : product.stop])
            by_mode.append((whole & ~Const(elsewhere, len(whole))) | moved if elsewhere else whole)
        return self._select.by_mode(by_mode)

    def _shifted(self, m: Module, value: Value) -> Value:
        word, select = self._word, self._select
        distances = [self._limited(m, lane) for lane in word.lanes]
        lost: Value = Const(0, len(word.lanes))
        for stage in reversed(range(max(map(len, distances)))):
            step = 1 << stage
            taken = select.for_cells([bits[stage] if stage < len(bits) else Const(0, 1) for bits in distances])
            moved, lost_now = Signal(word.bits, name=f"shifted_by_{step}"), Signal.like(lost, name=f"lost_by_{step}")
            for bits, source in select.moved(value, range(word.bits), step):
                unmoved = value[bits.start : bits.stop]
                m.d.comb += moved[bits.start : bits.stop].eq(Mux(taken[word.cell(bits.start)], source, unmoved))
            for cell in word.lanes:
                dropped = select.any_at_end(cell, value, [bits[:step] for bits in word.ending(cell)])
                m.d.comb += lost_now[cell].eq(lost[cell] | (taken[cell] & dropped))
            value, lost = moved, lost_now
        sticky = ((cell, select.only_in(word.ends(cell), lost[cell])) for cell in reversed(word.lanes))
        return value | Cat(*(Cat(bit, Const(0, word.cells[cell] - 1)) for cell, bit in sticky))

    def _limited(self, m: Module, lane: int) -> Value:
        # The largest distance moves every bit of the lane beyond the lowest bit.
        distance, stages = self._lanes[lane].o.distance, self._word.longest(lane).bit_length()
        if len(distance) <= stages:
            return distance
        limited = Signal(stages, name=f"limited{lane}")
        m.d.comb += limited.eq(distance[:stages] | distance[stages:].any().replicate(stages))
        return limited


class AddLanes(_Lanes):
    """Add product and addend of all lanes. Each lane's sum is a magnitude and a sign."""

    # As in `signed_sum`, each lane adds in one's complement with end-around carry.

    name = "add"

    def __init__(self, unit: MultiFpu, word: SharedWord, i: data.StructLayout) -> None:
        o = {name: field.shape for name, field in i if name not in ("larger", "smaller")}
        super().__init__(unit, word, i, {"sum": word.bits, **o})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o, word, select = self.i, self.o, self._word, self._select
        lanes = [(i[lane_name(lane)], o[lane_name(lane)]) for lane in word.lanes]
        second, generate, propagate, total = (
            Signal(word.bits, name=name) for name in ("second", "generate", "propagate", "total")
        )
        m.d.comb += [
            second.eq(i.smaller ^ select.spread([lane.subtract for lane, _ in lanes])),
            generate.eq(i.larger & second),
            propagate.eq(i.larger ^ second),
            total.eq(propagate ^ self._carries(m, generate, propagate)),
        ]
        negative = [total[word.end(lane) - 1] for lane in word.lanes]
        m.d.comb += o.sum.eq(total ^ select.spread(negative))
        for lane, (source, sink) in enumerate(lanes):
            m.d.comb += sink.sign.eq(source.sign ^ (negative[lane] & ~source.inf))
            forward(m, source, sink, *(name for name in sink.shape().members if name != "sign"))
        forward(m, i, o, "vector")
        return m

    def _carries(self, m: Module, generate: Value, propagate: Value) -> Value:
        word = self._word
        cells = [CarryTree(m, generate, propagate, word.end(cell + 1), word.end(cell)) for cell in word.lanes]
        carries: list[dict[int, Value]] = []
        for mode in word.modes:
            carries.append({})
            for lane in word.active[mode]:
                own = range(word.last_cell(lane, mode), lane - 1, -1)
                pairs = [Cat(*(getattr(cells[cell], name) for cell in own)) for name in ("generate", "propagate")]
                tree = CarryTree(m, pairs[0], pairs[1], 0, len(own))
                carries[mode].update(zip(own, tree.carries(m, tree.generate), strict=True))
        into = [self._select.by_mode([carries[mode][cell] for mode in word.modes]) for cell in word.lanes]
        return Cat(*(bit for cell in reversed(word.lanes) for bit in cells[cell].carries(m, into[cell])))


class NormaliseLanes(_Lanes):
    """Normalise the sums of all lanes."""

    name = "normalise"

    def __init__(self, unit: MultiFpu, lanes: Sequence[MultiFpu], word: SharedWord, i: data.StructLayout) -> None:
        self.lanes: list[NormaliseMulti] = []
        for number, lane in enumerate(lanes):
            fields = {name: field.shape for name, field in i[lane_name(number)].shape}
            width, longest = fraction_bits(lane), word.longest(number)
            shapes = (min(width, longest), 1, (longest - 1).bit_length())
            shared = dict(zip(NORMALISED, shapes, strict=True))
            self.lanes.append(NormaliseMulti(lane, width, data.StructLayout({**fields, **shared})))
        o = {lane_name(number): step.o.shape() for number, step in enumerate(self.lanes)}
        super().__init__(unit, word, i, o)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        shifted = self._shifted(m)
        for number, step in enumerate(self.lanes):
            name = lane_name(number)
            m.submodules[name] = step
            forward(m, i[name], step.i, *i[name].shape().members)
            m.d.comb += [step.i[field].eq(value) for field, value in zip(NORMALISED, shifted[number], strict=True)]
            m.d.comb += o[name].eq(step.o)
        forward(m, i, o, "vector")
        return m

    def _fractions(self, lane: int) -> list[range]:
        """Return the bits of a lane's normalised fraction for each mode in which the lane is active."""
        return [bits[-len(self.lanes[lane].i.normalised) :] for bits in self._word.segments(lane)]

    def _read(self, stage: int) -> set[int]:
        """Return the bits that are read after a stage."""
        word = self._word
        read = {bit for lane in word.lanes for bits in self._fractions(lane) for bit in bits}
        for step in (1 << later for later in range(stage)):
            read |= {bit - step for bits, same in word.runs(read, -step) if any(same) for bit in bits}
        return read

    def _shifted(self, m: Module) -> list[tuple[Value, Value, Value]]:
        """Return for each lane the highest bits of the normalised sum, the sticky bit, and the distance."""
        word, select = self._word, self._select
        stages = [len(step.i.shift) for step in self.lanes]
        distances: list[list[Value]] = [[] for _ in stages]
        value: Value = self.i.sum
        read, lost = set(range(word.bits)), Const(0, len(word.lanes))
        for stage in reversed(range(max(stages))):
            step, after = 1 << stage, self._read(stage)
            shifts = [self._empty(m, lane, step, value) for lane in word.lanes]
            taken = select.for_cells(shifts)
            moved = Signal(word.bits, name=f"normalised_by_{step}")
            for bits, source in select.moved(value, after, -step):
                unmoved = value[bits.start : bits.stop]
                m.d.comb += moved[bits.start : bits.stop].eq(Mux(taken[word.cell(bits.start)], source, unmoved))
            lost = self._lost(m, taken, step, value, (read, after), lost)
            for lane, own in enumerate(stages):
                distances[lane][:0] = shifts[lane : lane + 1] if stage < own else []
            value, read = moved, after
        found = [self._sticky(lane, value, read, lost) for lane in word.lanes]
        return [(self._fraction(lane, value), found[lane], Cat(*distances[lane])) for lane in word.lanes]

    def _empty(self, m: Module, lane: int, step: int, value: Value) -> Value:
        # In a mode with fewer bits, the lane shifts by `step` only if the sum is zero. A shift of zero has no effect.
        segments = self._word.segments(lane)
        tops = [~value[bits.stop - step : bits.stop].any() if step < len(bits) else Const(0, 1) for bits in segments]
        empty = Signal(name=f"normalise{lane}_by_{step}")
        m.d.comb += empty.eq(self._select.for_lane(lane, tops))
        return empty

    def _lost(
        self, m: Module, taken: Sequence[Value], step: int, value: Value, read: tuple[set[int], set[int]], before: Value
    ) -> Value:
        """Return for each cell whether a 1 of the lane that ends with the cell is in no bit that is read later."""
        word, (now, after) = self._word, read
        lost = Signal(len(word.lanes), name=f"lost_by_{step}")
        for cell in word.lanes:
            always, unmoved, moved = [], [], []
            for segment in word.ending(cell):
                own = now.intersection(segment)
                # A bit that would leave the lane by a shift is 0 if there is a shift.
                if_unmoved, if_moved = own - after, {bit for bit in own if bit + step not in after}
                always.append(if_unmoved & if_moved)
                unmoved.append(if_unmoved - if_moved)
                moved.append({bit for bit in if_moved - if_unmoved if bit + step in segment})
            found = [self._select.any_at_end(cell, value, bits) for bits in (always, unmoved, moved)]
            shift = taken[cell]
            m.d.comb += lost[cell].eq(before[cell] | found[0] | (found[1] & ~shift) | (found[2] & shift))
        return lost

    def _fraction(self, lane: int, value: Value) -> Value:
        longest = len(self.lanes[lane].i.normalised)
        by_mode = [Cat(Const(0, longest - len(bits)), value[bits.start : bits.stop]) for bits in self._fractions(lane)]
        return self._select.for_lane(lane, by_mode)

    def _sticky(self, lane: int, value: Value, read: set[int], lost: Value) -> Value:
        word, found = self._word, []
        for mode, fraction in zip(word.modes_of(lane), self._fractions(lane), strict=True):
            below = read.intersection(range(word.segment(lane, mode).start, fraction.start))
            found.append(lost[word.last_cell(lane, mode)] | any_bit(value, below))
        return self._select.for_lane(lane, found)
