"""Energy data of a cell library: functions, capacitances, energies and transition times.

Energies are in fJ and capacitances are in fF. Transition times are in the time unit of the library.

Source: Liberty User Guide 2017.06, volume 1, chapter 8 and volume 2 (`ff`, table templates). Liberty's `internal_power`
is an energy for each edge of a pin, in units of voltage squared times capacitance, without the energy of the load.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from fp9_rtl.synthesis.liberty import Group, numbers, read, truth_table
from fp9_rtl.synthesis.libraries import Library, femto_farad

WIRE_LOADS = 0.2
"""Wire capacitance for each input pin, as a multiple of the smallest inverter's input capacitance.

The factor comes from nangate45. For a fan-out of two, its default wire-load table gives 0.35 fF for each input pin. The
input capacitance of its smallest inverter is 1.7 fF, so the ratio is 0.205.
"""

MOST_INPUTS = 6

_LOADS = frozenset({"total_output_net_capacitance"})
_EDGES = ("fall", "rise")


@dataclass(frozen=True)
class Table:
    """A lookup table over an output load in fF and a transition time."""

    # Either axis may be absent. Values between or beyond the points are interpolated or extrapolated linearly.

    loads: tuple[float, ...]
    transitions: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]

    def at(self, load: float, transition: float) -> float:
        rows = [_between(self.transitions, row, transition) for row in self._rows_at(load)]
        return _between(self._ends(load), tuple(rows), load)

    def _ends(self, load: float) -> tuple[float, ...]:
        start = _start(self.loads, load)
        return self.loads[start : start + 2]

    def _rows_at(self, load: float) -> tuple[tuple[float, ...], ...]:
        start = _start(self.loads, load)
        return self.values[start : start + 2]


def _start(points: tuple[float, ...], at: float) -> int:
    return max(0, min(bisect_right(points, at) - 1, len(points) - 2))


def _between(points: tuple[float, ...], values: tuple[float, ...], at: float) -> float:
    if len(values) == 1:
        return values[0]
    start = _start(points, at)
    share = (at - points[start]) / (points[start + 1] - points[start])
    return values[start] + share * (values[start + 1] - values[start])


@dataclass(frozen=True)
class Arc:
    """Energies, transition times or delays of the falling edge and the rising edge of one pin."""

    pin: str
    supply: str  # the arc holds this supply's share of the energy
    related: tuple[str, ...]  # input pins whose edges cause an edge of `pin`
    when: str  # Boolean expression over pins; an empty expression is always true
    sense: str  # whether `pin` switches in the related pin's direction; for transition times
    edges: tuple[Table | None, Table | None]  # falling, rising


@dataclass(frozen=True, eq=False)
class Cell:
    """A combinational cell with one truth table for each output, or a one-bit register."""

    name: str
    inputs: tuple[str, ...]
    # Truth tables over `inputs`, of which the last changes fastest. A register's truth tables are indexed by the stored
    # bit.
    outputs: Mapping[str, tuple[bool, ...]]
    next_bit: tuple[bool, ...]  # truth table of the bit that a register stores at the rising edge of `clock`
    clock: str
    capacitance: Mapping[str, float]  # in fF, by pin
    energies: tuple[Arc, ...]
    transitions: tuple[Arc, ...]
    delays: tuple[Arc, ...] = ()


@dataclass(frozen=True)
class PowerLibrary:
    """The cells of a library whose energy can be measured, by name."""

    volts: float
    wire_ff: float  # wire capacitance of a net for each input pin connected to it
    cells: Mapping[str, Cell]
    refused: Mapping[str, str]  # why the energy of a cell cannot be measured, by cell

    def cell(self, name: str) -> Cell:
        if name in self.refused:
            raise ValueError(f"cell {name}: {self.refused[name]}; leave it out of the mapping (--leave-out {name})")
        return self.cells[name]


@lru_cache(maxsize=4)
def _power(files: tuple[bytes, ...], leave_out: tuple[str, ...]) -> PowerLibrary:
    cells: dict[str, Cell] = {}
    refused: dict[str, str] = {}
    volts = 0.0
    for content in files:
        group = read(content.decode("utf-8", errors="replace"))
        volts = volts or float(group.attributes.get("nom_voltage", 0))
        reader = _Reader(group)
        for cell in group.of("cell"):
            if "area" not in cell.attributes or cell.name in leave_out:
                continue
            try:
                cells[cell.name] = reader.cell(cell)
            except (ValueError, KeyError, IndexError) as error:
                refused[cell.name] = str(error) if isinstance(error, ValueError) else "its function is not understood"
    inverters = [c.capacitance[c.inputs[0]] for c in cells.values() if list(c.outputs.values()) == [(True, False)]]
    return PowerLibrary(volts, round(WIRE_LOADS * min(inverters), 4), cells, refused)


def power_library(library: Library) -> PowerLibrary:
    found = _power(tuple(path.read_bytes() for path in library.paths), library.leave_out)
    if not found.volts:
        raise ValueError(f"{library.name} states no nom_voltage; energy takes a Liberty file that does")
    return found


class _Reader:
    def __init__(self, library: Group) -> None:
        self.femto = femto_farad(library)
        templates = library.of("lu_table_template", "power_lut_template")
        self.templates = {template.name: template.attributes for template in templates}

    def cell(self, cell: Group) -> Cell:
        pins = {pin.name: pin for pin in cell.of("pin")}
        if any(cell.of("latch", "statetable", "ff_bank", "latch_bank", "bus", "bundle")):
            raise ValueError("latches and cells of several bits are not supported")
        inputs = tuple(name for name, pin in pins.items() if pin.attributes.get("direction") == "input")
        ffs = list(cell.of("ff"))
        clock = ffs[0].attributes["clocked_on"].strip() if ffs else ""
        if clock and clock not in inputs:
            raise ValueError(
                f"a register that is clocked on {clock}, not on the rising edge of a pin, is not supported"
            )
        inputs = tuple(name for name in inputs if name != clock)
        if len(inputs) > MOST_INPUTS:
            raise ValueError(f"{len(inputs)} inputs are more than the {MOST_INPUTS} that are supported")
        outputs = {name: pin.attributes["function"] for name, pin in pins.items() if "function" in pin.attributes}
        if ffs:
            bits = ffs[0].arguments
            tables = {name: _of_bit(function, bits) for name, function in outputs.items()}
            next_bit = _next_bit(ffs[0], inputs)
        else:
            tables = {name: truth_table(function, inputs) for name, function in outputs.items()}
            next_bit = ()
        return Cell(
            cell.name,
            inputs,
            tables,
            next_bit,
            clock,
            {name: self.femto * float(pin.attributes.get("capacitance", 0)) for name, pin in pins.items()},
            tuple(self._arcs(pins, "internal_power", "{}_power", self.femto)),
            tuple(self._arcs(pins, "timing", "{}_transition", 1.0)),
            tuple(self._arcs(pins, "timing", "cell_{}", 1.0)),
        )

    def _arcs(self, pins: Mapping[str, Group], kind: str, named: str, unit: float) -> Iterator[Arc]:
        for name, pin in pins.items():
            for group in pin.of(kind):
                tables = {inner.kind: inner for inner in group.groups}
                edges = [tables.get(named.format(edge), tables.get("power")) for edge in _EDGES]
                if any(edges):
                    related = tuple(group.attributes.get("related_pin", "").strip('" ').split())
                    supply = group.attributes.get("related_pg_pin", "")
                    sense = group.attributes.get("timing_sense", "non_unate")
                    fall, rise = (self._table(edge, unit) if edge else None for edge in edges)
                    yield Arc(name, supply, related, group.attributes.get("when", ""), sense, (fall, rise))

    def _table(self, group: Group, unit: float) -> Table:
        template = self.templates.get(group.name, {})
        values = numbers(group.attributes["values"])
        axes = [a for a in ("1", "2", "3") if f"variable_{a}" in template]
        variables = [template[f"variable_{a}"] for a in axes]
        points = [tuple(numbers(group.attributes.get(f"index_{a}", template.get(f"index_{a}", "")))) for a in axes]
        if len(values) != prod(map(len, points)) or len(axes) > 2:
            raise ValueError(f"a table of {len(values)} values does not fit its template {group.name or 'scalar'}")
        loads = [n for n, variable in enumerate(variables) if variable in _LOADS]
        by_place = dict(zip(product(*(range(len(p)) for p in points)), values, strict=True))
        row = points[loads[0]] if loads else (0.0,)
        others = [n for n in range(len(axes)) if n not in loads]
        column = points[others[0]] if others else (0.0,)

        def place(i: int, j: int) -> tuple[int, ...]:
            return tuple(i if n in loads else j for n in range(len(axes)))

        table = tuple(tuple(unit * by_place[place(i, j)] for j in range(len(column))) for i in range(len(row)))
        return Table(tuple(self.femto * load for load in row), column, table)


def _of_bit(function: str, bits: tuple[str, ...]) -> tuple[bool, ...]:
    both = truth_table(function, bits)
    return (both[0b01], both[0b10]) if len(bits) == 2 else both


def _next_bit(ff: Group, inputs: tuple[str, ...]) -> tuple[bool, ...]:
    """Return the truth table of a register's next bit, including clear and preset."""
    taken = truth_table(ff.attributes["next_state"], inputs)
    for forced, bit in (("clear", False), ("preset", True)):
        if forced in ff.attributes:
            held = truth_table(ff.attributes[forced], inputs)
            taken = tuple(bit if stop else value for stop, value in zip(held, taken, strict=True))
    return taken
