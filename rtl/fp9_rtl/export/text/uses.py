"""Count how often a module reads each value, and decide whether the value is written inline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fp9_rtl.export.text.cases import Case, Update, case_of, update_of
from fp9_rtl.export.text.circuits.circuit import Bit, Bits, Cell, nets, readers_first
from fp9_rtl.export.text.hierarchy import Part
from fp9_rtl.export.text.signals import Signal, Sources

_NAMED_LEAVES, _UNNAMED_LEAVES = 5, 16
"""Maximum number of operands in an inline expression, with and without a name in the source."""


class Uses:
    """Cells of one module, with the number of reads of each cell's output.

    The number of reads helps to decide whether a cell's output is written inline or becomes a named signal.
    """

    def __init__(self, part: Part, sources: Sources, inner: Sequence[Signal]) -> None:
        self._part, self._sources, self._inner = part, sources, inner
        self.driver: dict[Bit, Cell] = {bit: cell for cell in part.cells for bit in nets(cell.output)}
        self._reading = Counter(bit for cell in part.cells for bits in cell.inputs.values() for bit in nets(bits))
        self._reading.update(bit for port in inner for bit in nets(port.bits))
        self.cases: dict[int, Case] = {
            id(cell): case for cell in part.cells if (case := case_of(cell, self.driver)) is not None
        }
        registers = (cell for cell in part.cells if cell.kind == "$dff")
        self.updates: dict[int, Update] = {id(c): update_of(c, self.driver, self._is_alone) for c in registers}

    def named(self, outputs: Iterable[Signal]) -> Iterator[Cell]:
        references = self._references(outputs)
        leaves: dict[int, int] = {}
        for cell in sorted(self._part.cells, key=lambda cell: cell.kind != "$dff"):
            if references[id(cell)] and not self._is_inline(cell, references[id(cell)], leaves):
                yield cell

    def _is_alone(self, cell: Cell) -> bool:
        stays = self._part.leaving.isdisjoint(nets(cell.output))
        return stays and all(self._reading[bit] == 1 for bit in nets(cell.output))

    def _references(self, outputs: Iterable[Signal]) -> Counter[int]:
        count: Counter[int] = Counter()
        for port in outputs:
            self._refer(port.bits, count)
        for port in self._inner:
            if port.kind == "input":
                self._refer(port.bits, count, 2)
        for cell in readers_first(self._part.cells):
            if cell.kind == "$dff" or count[id(cell)]:
                for bits in self._reads(cell):
                    self._refer(bits, count)
        return count

    def _reads(self, cell: Cell) -> Iterator[Bits]:
        case, update = self.cases.get(id(cell)), self.updates.get(id(cell))
        if update is not None:
            yield from (bits for arm in update.arms for bits in arm)
            yield from () if update.holds else (update.otherwise,)
        elif case is None:
            for port, bits in cell.inputs.items():
                if port != "CLK":
                    width = len(cell.output) if cell.kind == "$pmux" and port == "B" else len(bits)
                    width = 1 if cell.kind == "$pmux" and port == "S" else width
                    yield from (bits[i : i + width] for i in range(0, len(bits), width))
        else:
            yield from (case.subject, *(value for _, value in case.arms), case.otherwise)

    def _refer(self, bits: Bits, count: Counter[int], weight: int = 1) -> None:
        for cell, run in _runs(bits, self.driver):
            whole = run == cell.output or (len(cell.output) == 1 and {*run} == {*cell.output})
            count[id(cell)] += weight if whole else 2

    def _is_inline(self, cell: Cell, references: int, leaves: dict[int, int]) -> bool:
        below = 0
        for bits in self._reads(cell):
            behind = _runs(bits, self.driver)
            inner = [leaves[id(c)] for c, run in behind if id(c) in leaves and len(run) == len(c.output)]
            below += sum(inner) if inner else 1
        leaves[id(cell)] = below
        is_source = any(True for _ in self._sources.around(cell.output))
        if cell.kind == "$not" and len(cell.output) == 1 and not is_source and below == 1:
            inverts_name = not any(id(c) in leaves for c, _ in _runs(cell.inputs["A"], self.driver))
            if inverts_name:
                return True
        below += cell.kind == "$mux" and len(cell.output) > 1
        short = below <= (_NAMED_LEAVES if is_source else _UNNAMED_LEAVES)
        if references == 1 and short and cell.kind != "$dff" and id(cell) not in self.cases:
            return True
        del leaves[id(cell)]
        return False


def _runs(bits: Bits, driver: Mapping[Bit, Cell]) -> Iterator[tuple[Cell, Bits]]:
    """Yield runs of adjacent bits that one cell drives, each with the cell."""
    start = 0
    while start < len(bits):
        cell = driver.get(bits[start]) if isinstance(bits[start], int) else None
        end = start + 1
        if cell is not None:
            place = cell.output.index(bits[start])
            step = 0 if len(cell.output) == 1 else 1
            while end < len(bits) and bits[end : end + 1] == cell.output[place + step * (end - start) :][:1]:
                end += 1
            yield cell, bits[start:end]
        start = end
