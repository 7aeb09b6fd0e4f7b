"""Standard-cell libraries: where a Liberty file lies, and which area each cell takes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from fp9.system.missing import MissingTool

LIBRARIES = ("osu018", "osu035")
"""Libraries with the cells the estimates are stated in; each comes in the apt package `qflow-tech-NAME`."""

TECH_FOLDER = Path("/usr/share/qflow/tech")
"""Where those packages put their files: NAME/NAME_stdcells.lib."""

NAND2 = "NAND2X1"
"""The cell that a NAND2 equivalent is."""

_CELL = re.compile(r"\bcell\s*\(\s*\"?(\w+)\"?\s*\)\s*\{")
_AREA = re.compile(r"\barea\s*:\s*([0-9.eE+-]+)\s*;")
_STATE = re.compile(r"\b(?:ff|latch)\s*\(")


@dataclass(frozen=True)
class Library:
    """One Liberty file: `areas` in um2 by cell, `sequential` the cells that hold a bit, `sha256` of the file."""

    name: str
    path: Path
    sha256: str
    areas: dict[str, float]
    sequential: frozenset[str]

    @property
    def nand2_um2(self) -> float:
        """Area of the two-input NAND, the unit of NAND2 equivalents, in um2."""
        return self.areas[NAND2]


def library(name: str) -> Library:
    """Read a library by name.

    Raises ValueError for an unknown name, MissingTool when its apt package is not installed.
    """
    if name not in LIBRARIES:
        raise ValueError(f"unknown library {name!r}; choose one of {', '.join(LIBRARIES)}")
    path = TECH_FOLDER / name / f"{name}_stdcells.lib"
    if not path.is_file():
        raise MissingTool(f"the Liberty file {path} is missing; install it with: apt install qflow-tech-{name}")
    content = path.read_bytes()
    areas, sequential = _cells(content.decode("utf-8", errors="replace"))
    if NAND2 not in areas:
        raise ValueError(f"{path} has no cell {NAND2}, in which areas are stated; reinstall qflow-tech-{name}")
    return Library(name, path, hashlib.sha256(content).hexdigest(), areas, sequential)


def _cells(liberty: str) -> tuple[dict[str, float], frozenset[str]]:
    """Area of every cell, and the cells with an `ff` or `latch` group."""
    heads = list(_CELL.finditer(liberty))
    ends = [head.start() for head in heads[1:]] + [len(liberty)]
    areas, sequential = {}, set()
    for head, end in zip(heads, ends, strict=True):
        body = liberty[head.end() : end]
        area = _AREA.search(body)
        if area is None:
            continue  # a cell without an area is never placed: pads, fillers
        areas[head[1]] = float(area[1])
        if _STATE.search(body):
            sequential.add(head[1])
    return areas, frozenset(sequential)
