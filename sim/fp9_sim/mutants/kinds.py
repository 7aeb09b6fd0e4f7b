"""The kinds of mutants: netlist mutants, held-out netlist mutants, and mutants of the mapped netlist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fp9.units import Unit
from fp9_rtl.tools.yosys import yosys_version
from fp9_sim.mutants import draw, mapped
from fp9_sim.mutants.draw import MutantSet
from fp9_sim.records import MUTATION


@dataclass(frozen=True)
class Kind:
    """A kind of mutants.

    `claim` names the kind of record that holds the mutation scores. The function `draw` yields one set of random
    mutants for each seed. `tools` returns the tool versions; a seed reproduces the same mutants only with the same tool
    versions.
    """

    name: str
    says: str
    claim: str
    levels: tuple[str, ...]
    seeds: tuple[int, ...]
    draw: Callable[[Unit, str, str, int, tuple[int, ...]], Iterator[MutantSet]]
    tools: Callable[[], dict[str, str]]


def _of_yosys() -> dict[str, str]:
    return {"yosys": yosys_version()}


def _of_mapping() -> dict[str, str]:
    cells = mapped.cells()
    return _of_yosys() | {"library": f"{cells.name} {cells.sha256[:12]}"}


NETLIST = Kind(
    "netlist",
    "single errors in its operators and in its gates",
    MUTATION["netlist"],
    draw.LEVELS,
    (1, 2, 3),
    draw.draw,
    _of_yosys,
)

DRAWN_LAST = replace(
    NETLIST,
    name="held-out",
    says="single errors of a seed that was chosen after the suites were finished",
    claim=MUTATION["held-out"],
    seeds=(41,),
)
"""Held-out mutants, which were unknown when the suites were written.

If a suite is changed because of a held-out mutant, choose a new seed.
"""

KINDS = {
    kind.name: kind
    for kind in (
        NETLIST,
        DRAWN_LAST,
        Kind(
            "mapped",
            "nets stuck at 0 or 1, and pairs of nets exchanged, after its mapping to library cells",
            MUTATION["mapped"],
            mapped.LEVELS,
            (1,),
            mapped.draw,
            _of_mapping,
        ),
    )
}
