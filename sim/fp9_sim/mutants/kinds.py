"""The kinds of errors that suites are scored by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fp9.units import Unit
from fp9_rtl.tools.yosys import yosys_version
from fp9_sim.mutants import constants, draw, mapped
from fp9_sim.mutants.draw import MutantSet
from fp9_sim.records import MUTATION


@dataclass(frozen=True)
class Kind:
    """A kind of errors: what they are, in words; the claim of its records; and the seeds that these are of.

    `draw` takes a unit, the Verilog of its circuit, one of the `levels`, how many and seeds, and gives the mutants of
    one seed after the other. `tools` are, by name, the versions of what decides which mutants a seed draws.
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
    says="single errors of a seed that was drawn when the suites were finished",
    claim=MUTATION["held-out"],
    seeds=(41,),
)
"""What a suite misses here it was not written for. One that is written for it has to be asked by another seed."""

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
        Kind(
            "constants",
            "wrong constants in its circuit as it is written: the next number, or one with a bit flipped",
            MUTATION["constants"],
            constants.LEVELS,
            (1,),
            constants.draw,
            _of_yosys,
        ),
    )
}
"""Every kind by its name."""
