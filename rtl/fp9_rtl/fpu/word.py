"""The word in which the lanes of a multi-format FPU align, add and normalise their terms together."""

# The word has one cell for each lane. In a vector operation, a lane uses its own cell and all cells down to that of the
# next active lane:
#
#     scalar        |lane 0                             |
#     two halves    |lane 0           |lane 2           |
#     four quarters |lane 0  |lane 1  |lane 2  |lane 3  |
#
# A lane's highest bit is the sign of its sum, the next bit is the carry, and the lowest bit is sticky.

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby

from amaranth.hdl import Cat, Const, Value

from fp9.units import FpuGroup, MultiFpu
from fp9_rtl.fpu.choices import by_vector
from fp9_rtl.fpu.operand import Scale

SIGN = CARRY = 1


class SharedWord:
    """Bits of the shared word that each lane uses in each mode.

    Mode 0 is a scalar operation. Each other mode is a lane width, as in the port `vector`.
    """

    def __init__(self, unit: MultiFpu, lanes: Sequence[MultiFpu]) -> None:
        self._unit = unit
        widths = (unit.word, *unit.lane_widths)
        self.modes = range(len(widths))
        self.lanes = range(len(lanes))
        self.active = [[lane for lane in self.lanes if unit.lane_places[lane][0] % width == 0] for width in widths]
        narrow = [unit, *(unit.lane_units[width] for width in unit.lane_widths)]
        self.cells, self._own = [0] * len(lanes), [0] * len(lanes)
        for lane in reversed(self.lanes):
            scale = Scale.of(lanes[lane])
            for mode in self.modes_of(lane):
                bits = SIGN + CARRY + scale.sum_bits(narrow[mode].formats, narrow[mode].integers)
                self.cells[lane] = max(self.cells[lane], bits - sum(self.cells[lane + 1 : self._next(lane, mode)]))
                self._own[lane] = max(self._own[lane], bits)

    @property
    def fit(self) -> bool:
        """Return whether the lanes share a word.

        Each lane must add one product and one addend. In a word that is much wider than the first lane, shifters take
        more area than the lanes' own shifters.
        """
        # With the limit of a quarter, every FPU of docs/comparable takes the smaller of the two forms.
        first, *others = self._own
        alone = self._unit.dot_products or FpuGroup.DIVSQRT in self._unit.groups
        return not alone and 4 * (self.bits - first) <= sum(others)

    @cached_property
    def bits(self) -> int:
        return sum(self.cells)

    def modes_of(self, lane: int) -> list[int]:
        return [mode for mode in self.modes if lane in self.active[mode]]

    def end(self, cell: int) -> int:
        return sum(self.cells[cell:])

    def cell(self, bit: int) -> int:
        return next(lane for lane in reversed(self.lanes) if bit < self.end(lane))

    def owner(self, cell: int, mode: int) -> int:
        """Return the lane that uses a cell."""
        return max(lane for lane in self.active[mode] if lane <= cell)

    def last_cell(self, lane: int, mode: int) -> int:
        return self._next(lane, mode) - 1

    def segment(self, lane: int, mode: int) -> range:
        """Return the bits of an active lane, without its sign."""
        return range(self.end(self._next(lane, mode)), self.end(lane) - SIGN)

    def segments(self, lane: int) -> list[range]:
        """Return the bits of a lane for each mode in which it is active, without its sign."""
        return [self.segment(lane, mode) for mode in self.modes_of(lane)]

    def longest(self, lane: int) -> int:
        return max(map(len, self.segments(lane)))

    def ends(self, cell: int) -> list[int]:
        """Return the modes in which a cell is the last cell of a lane."""
        return [mode for mode in self.modes if cell == self.last_cell(self.owner(cell, mode), mode)]

    def ending(self, cell: int) -> list[range]:
        """Return the bits of the lane that ends with a cell, for each mode in which it is the last cell of a lane."""
        return [self.segment(self.owner(cell, mode), mode) for mode in self.ends(cell)]

    def runs(self, bits: Iterable[int], step: int) -> Iterator[tuple[range, list[bool]]]:
        """Divide bits into ranges within one cell whose sources, `step` bits further left, are in one cell.

        Return each range, and for each mode whether bits and sources belong to the same lane.
        """

        def kind(item: tuple[int, int]) -> tuple[int, int, int]:
            rank, bit = item
            source = bit + step
            return bit - rank, self.cell(bit), self.cell(source) if 0 <= source < self.bits else -1

        for (_, cell, source), run in groupby(enumerate(sorted(bits)), kind):
            found = [bit for _, bit in run]
            same = [source >= 0 and self.owner(cell, mode) == self.owner(source, mode) for mode in self.modes]
            yield range(found[0], found[-1] + 1), same

    def _next(self, lane: int, mode: int) -> int:
        return min((other for other in self.active[mode] if other > lane), default=len(self.lanes))


class SelectLanes:
    """Values of the shared word that depend on the port `vector`."""

    def __init__(self, unit: MultiFpu, word: SharedWord, vector: Value) -> None:
        self._unit, self._word, self._vector = unit, word, vector

    def by_mode(self, values: Sequence[Value]) -> Value:
        if all(value is values[0] for value in values):
            return values[0]
        return by_vector(self._unit, self._vector, values[0], values[1:])

    def for_modes(self, modes: Sequence[int], values: Sequence[Value]) -> Value:
        """Select one of the values for the given modes. The other modes give any of them."""
        found = dict(zip(modes, values, strict=True))
        return self.by_mode([found.get(mode, values[-1]) for mode in self._word.modes])

    def for_lane(self, lane: int, values: Sequence[Value]) -> Value:
        return self.for_modes(self._word.modes_of(lane), values)

    def for_cells(self, values: Sequence[Value]) -> list[Value]:
        """Return for each cell the value of the lane that uses it."""
        word = self._word
        return [self.by_mode([values[word.owner(cell, mode)] for mode in word.modes]) for cell in word.lanes]

    def spread(self, values: Sequence[Value]) -> Value:
        """Return a word in which each bit is the value of the lane that uses the bit."""
        cells = self.for_cells(values)
        return Cat(*(cells[cell].replicate(self._word.cells[cell]) for cell in reversed(self._word.lanes)))

    def only_in(self, modes: Collection[int], value: Value) -> Value:
        """Return the value, or 0 in all modes but the given ones."""
        if len(modes) == len(self._word.modes):
            return value
        allowed = self.by_mode([Const(mode in modes, 1) for mode in self._word.modes])
        return value & allowed.replicate(len(value))

    def pack(self, values: Sequence[Value]) -> Value:
        """Return a word with the value of each active lane below the lane's sign and carry."""
        word = self._word
        packed: Value = Const(0, word.bits)
        for lane, value in zip(word.lanes, values, strict=True):
            placed = Cat(Const(0, word.end(lane) - SIGN - CARRY - len(value)), value)
            packed = packed | self.only_in(word.modes_of(lane), placed)
        return packed

    def moved(self, value: Value, bits: Iterable[int], step: int) -> Iterator[tuple[range, Value]]:
        """Return ranges of bits, and the bits of `value` that are `step` bits further left in the same lane."""
        for run, same in self._word.runs(bits, step):
            modes = [mode for mode, is_same in enumerate(same) if is_same]
            yield run, self.only_in(modes, value[run.start + step : run.stop + step]) if modes else Const(0, len(run))

    def any_at_end(self, cell: int, value: Value, bits: Sequence[Iterable[int]]) -> Value:
        """Return whether a bit is 1, for own bits in each mode in which the cell is the last cell of a lane."""
        common = set.intersection(*map(set, bits))
        others = [any_bit(value, common.symmetric_difference(own)) for own in bits]
        return any_bit(value, common) | self.for_modes(self._word.ends(cell), others)


def any_bit(value: Value, bits: Iterable[int]) -> Value:
    return Cat(*(value[bit] for bit in sorted(bits))).any()
