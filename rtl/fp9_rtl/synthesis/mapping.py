"""Map a flattened netlist to standard cells with two fixed sets of ABC scripts."""

# With Yosys' default script, repeated areas of one unit vary more than the areas of its variants differ. The scripts
# of this module rank variants correctly, and repeated areas agree within 1 to 2 per cent. The area-optimised mapping
# runs four scripts and takes the smallest netlist. The delay-balanced mapping runs one script.

from __future__ import annotations

import json
import random
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fp9_rtl.synthesis.libraries import Library
from fp9_rtl.synthesis.sta import sta_version, worst_path_ns
from fp9_rtl.tools.yosys import YosysError, run_yosys

MAPPINGS: dict[str, tuple[str, ...]] = {
    "area-optimised": (
        "strash; ifraig; scorr; dc2; dc2; dc2; strash; dch -f; amap -m; topo",
        "strash; ifraig; scorr; dc2; dc2; strash; dch -f; if -g -K 6; strash; dc2; dch -f; amap -m; topo",
        "strash; ifraig; scorr; dc2; strash; dch -f; if -K 6 -a; mfs2 -a -e -d -L 20; strash; dc2; dc2; dch -f; "
        "amap -m; topo",
        "strash; ifraig; scorr; dc2; dch -f; amap",
    ),
    "delay-balanced": ("strash; ifraig; scorr; dc2; strash; dch -f; map -B 0.9; topo; buffer -c; upsize; dnsize",),
}

MAPPED = tuple(MAPPINGS)

PREPARE = """\
read_verilog -sv design.v
synth -flatten -top {top}
dfflibmap {cells}
opt_clean -purge
write_rtlil prepared.il
"""
"""Yosys script from Verilog to a flat netlist of gates and library flip-flops. Every mapping reads this netlist."""

MAP = """\
read_rtlil ../prepared.il
abc {cells} -script map.abc
opt_clean -purge
tee -q -o statistics.json stat -json
write_verilog -noattr -noexpr -simple-lhs mapped.v
"""

_CELL = re.compile(r"^(?:  attribute [^\n]*\n)*  cell .*?\n  end\n", re.MULTILINE | re.DOTALL)

_MEASURE = "topo; read_constr boundary.constr; stime -d"
"""ABC commands that write ABC's delay to stats.txt. They run after the mapping and change no gate."""

_NO_GATES = frozenset({"$scopeinfo"})
"""Cells of a Yosys netlist that record source scopes and contain no logic."""


@dataclass(frozen=True)
class Mapped:
    """A netlist of library cells, in the file mapped.v of `folder`."""

    script: str
    cells: dict[str, int]
    delay_ns: float  # of the worst path
    seconds: float
    folder: Path  # deleted with its parent folder, which holds the netlist before mapping


def delay_tool() -> str:
    version = sta_version()
    return f"OpenSTA {version}" if version else "ABC"


def copy_liberty(library: Library, folder: Path) -> None:
    for path, name in zip(library.paths, _file_names(library), strict=True):
        shutil.copyfile(path, folder / name)


def cell_options(library: Library, where: str = "") -> str:
    files = [f"-liberty {where}{name}" for name in _file_names(library)]
    return " ".join([*files, *(f"-dont_use {cell}" for cell in library.leave_out)])


def _file_names(library: Library) -> list[str]:
    return ["library.lib", *(f"library_{number}.lib" for number in range(1, len(library.paths)))]


def prepare_script(top: str, library: Library, share: bool = True) -> str:
    # If `share` is true, Yosys uses one operator for several operations that are never active at the same time.
    # Finding such operators takes hours for a circuit with many wide shifters.
    script = PREPARE.format(top=top, cells=cell_options(library))
    return script if share else script.replace("synth ", "synth -noshare ", 1)


def prepare(verilog: str, top: str, library: Library, folder: Path, share: bool = True) -> None:
    """Write the flat netlist of module `top` to prepared.il, and copy the Liberty files."""
    (folder / "design.v").write_text(verilog)
    copy_liberty(library, folder)
    try:
        run_yosys(prepare_script(top, library, share), folder)
    except YosysError as error:
        raise ValueError(f"cannot synthesise {top}: Yosys says: {error}") from None


def shuffle(prepared: Path, seed: int) -> None:
    """Shuffle the cells of a prepared netlist, because ABC's result depends on their order."""
    file = prepared / "prepared.il"
    text = file.read_text()
    cells = _CELL.findall(text)
    random.Random(seed).shuffle(cells)
    others = iter(cells)
    file.write_text(_CELL.sub(lambda _: next(others), text))


def map_prepared(prepared: Path, script: str, top: str, library: Library, clock: str) -> Mapped:
    """Map the prepared netlist with one ABC script, in a new subfolder."""
    started = time.perf_counter()
    folder = Path(tempfile.mkdtemp(dir=prepared))
    (folder / "map.abc").write_text(f"{script}; {_MEASURE}\n")
    (folder / "boundary.constr").write_text(f"set_driving_cell {library.driver}\nset_load {library.load_ff}\n")
    try:
        run_yosys(MAP.format(cells=cell_options(library, "../")), folder)
    except YosysError as error:
        raise ValueError(f"cannot map {top}: Yosys says: {error}") from None
    cells = _count_cells(folder / "statistics.json", top, library)
    delay = _delay_ns(folder, top, cells, library, clock)
    return Mapped(script, cells, delay, time.perf_counter() - started, folder)


def _count_cells(statistics: Path, top: str, library: Library) -> dict[str, int]:
    design = json.loads(statistics.read_text())["design"]
    cells: dict[str, int] = {
        name: count for name, count in design["num_cells_by_type"].items() if name not in _NO_GATES
    }
    unknown = sorted(set(cells) - set(library.areas))
    if unknown:
        raise ValueError(f"cannot map {top}: {library.name} has no cell for {', '.join(unknown)}; rewrite that part")
    return dict(sorted(cells.items()))


def _delay_ns(folder: Path, top: str, cells: dict[str, int], library: Library, clock: str) -> float:
    """Return the worst path's delay in ns, from OpenSTA if installed, otherwise from ABC."""
    if sta_version():
        clocked = clock if library.sequential & set(cells) else None
        return worst_path_ns(folder / "mapped.v", top, library, clocked)
    # ABC's delay covers only the gates between registers.
    stats = folder / "stats.txt"  # absent when there was no gate to map
    return int(stats.read_text().split()[-1]) / 1000 if stats.exists() else 0.0
