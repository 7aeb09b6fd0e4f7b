"""Find the distinct modules of a circuit, called steps, and the bits that pass between them."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fp9_rtl.export.text.circuits.circuit import Bits, Circuit, Path, nets
from fp9_rtl.export.text.hierarchy import Part

_CLOCKING = ("CLK", "ARST")

End = Path | str
Passing = Mapping[tuple[End, End], set[int]]


@dataclass(frozen=True)
class Step:
    """One Verilog module, or several equal Verilog modules inside the same parent module.

    `kept` is the number of register bits in one instance. `computes` is False if the module contains no cells of its
    own.
    """

    path: Path
    module: str
    names: tuple[str, ...]
    kept: int
    computes: bool


@dataclass(frozen=True)
class Edge:
    """A connection between two steps, or between a step and a port."""

    source: End
    target: End
    bits: int


@dataclass(frozen=True)
class Steps:
    """The modules of a circuit, parents first, and the bits passed between the modules."""

    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Steps:
        steps = (
            Step(**{**step, "path": tuple(step["path"]), "names": tuple(step["names"])}) for step in record["steps"]
        )
        ends = ([_end(edge["source"]), _end(edge["target"]), edge["bits"]] for edge in record["edges"])
        return cls(tuple(steps), tuple(Edge(*edge) for edge in ends))


def _end(end: Sequence[str]) -> End:
    return end if isinstance(end, str) else tuple(end)


def steps(circuit: Circuit, top: Part, named: Mapping[Path, str]) -> Steps:
    parts = {part.path: part for part in top.walk(children_first=False)}
    passing = _passing(circuit)
    stands_for = _folded(list(parts), named, passing)
    names: defaultdict[Path, list[str]] = defaultdict(list)
    for path in parts:
        if path and path[:-1] == stands_for[path][:-1]:
            names[stands_for[path]].append(path[-1])
    found = [
        Step(path, named[path], tuple(names[path]), _kept(part), bool(part.cells))
        for path, part in parts.items()
        if stands_for[path] == path and (path or part.cells)
    ]
    return Steps(tuple(found), tuple(_edges(passing, stands_for)))


def _kept(part: Part) -> int:
    return sum(len(cell.output) for cell in part.cells if cell.kind == "$dff")


def _passing(circuit: Circuit) -> Passing:
    source: dict[int, End] = {bit: port.name for port in circuit.ports if port.is_input for bit in nets(port.bits)}
    source |= {bit: cell.path for cell in circuit.cells for bit in nets(cell.output)}
    found: defaultdict[tuple[End, End], set[int]] = defaultdict(set)
    for target, bits in _reading(circuit):
        for bit in nets(bits):
            if source[bit] != target:
                found[source[bit], target].add(bit)
    return found


def _reading(circuit: Circuit) -> Iterator[tuple[End, Bits]]:
    for cell in circuit.cells:
        yield from ((cell.path, bits) for port, bits in cell.inputs.items() if port not in _CLOCKING)
    yield from ((port.name, port.bits) for port in circuit.ports if not port.is_input)


def _folded(paths: Sequence[Path], named: Mapping[Path, str], passing: Passing) -> dict[Path, Path]:
    """Map each module to the first equal module with the same parent."""
    # Two equal modules become one step only if neither module reads a value that depends on the other module.
    feeds = _feeds(passing)
    first: dict[Path, Path] = {(): ()}
    for path in sorted(paths, key=len)[1:]:
        holder = first[path[:-1]]
        if holder != path[:-1]:  # equal modules use equal names for their submodules
            first[path] = first[(*holder, path[-1])]
            continue
        beside = (p for p in first if p and p[:-1] == holder and first[p] == p and named[p] == named[path])
        first[path] = next((p for p in beside if not feeds(p, path) and not feeds(path, p)), path)
    return first


def _feeds(passing: Passing) -> Callable[[Path, Path], bool]:
    # The dependence may lead through other modules.
    readers: defaultdict[End, set[End]] = defaultdict(set)
    for source, target in passing:
        readers[source].add(target)

    @functools.cache
    def reached(start: End) -> set[End]:
        found: set[End] = set()
        pending = [start]
        while pending:
            pending += (new := readers[pending.pop()] - found)
            found |= new
        return found

    def feeds(a: Path, b: Path) -> bool:
        inside = [end for end in [*readers] if not isinstance(end, str) and end[: len(a)] == a]
        return any(not isinstance(e, str) and e[: len(b)] == b for start in inside for e in reached(start))

    return feeds


def _edges(passing: Passing, stands_for: Mapping[Path, Path]) -> Iterator[Edge]:
    found: defaultdict[tuple[End, End], set[int]] = defaultdict(set)
    for ends, bits in passing.items():
        source, target = (end if isinstance(end, str) else stands_for[end] for end in ends)
        if source != target:
            found[source, target] |= bits
    yield from (Edge(source, target, len(bits)) for (source, target), bits in found.items())
