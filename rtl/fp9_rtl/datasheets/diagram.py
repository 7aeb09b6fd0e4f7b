"""Block diagrams of units as Mermaid flowcharts, with ports, Verilog modules and bit widths."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fp9.units import Unit
from fp9_rtl.export.text.circuits.circuit import Path
from fp9_rtl.export.text.equal_modules import Edge, Step, Steps
from fp9_rtl.export.text.writer import common_start
from fp9_rtl.export.verilog import unit_steps

_LEGEND = (
    "Each box or frame is a module of the Verilog (`fp9 rtl {name}`); `x 4` means four equal modules. The number at an "
    "arrow is the number of bits, for equal modules together. An output without an arrow is constant."
)
_CLOCKED = (
    " The diagram leaves out clock, reset and handshake. Bits in registers are those of the Verilog; synthesis merges "
    "equal registers and removes constant ones."
)


def section(unit: Unit) -> str:
    """Return a unit's block diagram and legend as Markdown."""
    legend = _LEGEND.format(name=unit.name) + (_CLOCKED if unit.stages else "")
    return f"```mermaid\n{flowchart(unit, unit_steps(unit))}\n```\n\n{legend}"


def flowchart(unit: Unit, steps: Steps) -> str:
    inputs, outputs = ([port.name for port in ports] for ports in (unit.inputs, unit.outputs))
    undrawn = {port.name for port in unit.control_ports}
    edges = [edge for edge in steps.edges if edge.source not in undrawn and edge.target not in undrawn]
    lines = ["flowchart TB"]
    entering = _together(inputs, ((edge.source, edge.target) for edge in edges))
    leaving = _together(outputs, ((edge.target, edge.source) for edge in edges))
    node: dict[Path | str, str] = {}
    for side, groups in (("in", entering), ("out", leaving)):
        for names in groups:
            node.update(dict.fromkeys(names, f"{side}_{names[0]}"))
            lines.append(f'  {side}_{names[0]}(["{"<br>".join(_ranges(names))}"])')
    node.update({step.path: "_".join(("step", *step.path)) for step in steps.steps})
    lines += _boxes(steps.steps, (), unit.name, node)
    return "\n".join([*lines, *_arrows(edges, node)])


def _together(names: Sequence[str], ends: Iterable[tuple[object, object]]) -> list[list[str]]:
    met: defaultdict[object, set[object]] = defaultdict(set)
    for port, other in ends:
        met[port].add(other)
    groups: defaultdict[frozenset[object], list[str]] = defaultdict(list)
    for name in names:
        groups[frozenset(met[name])].append(name)
    return list(groups.values())


def _ranges(names: Sequence[str]) -> Iterator[str]:
    # A series of numbered port names is shortened to its first and last name.
    series: dict[str, list[str]] = {}
    for name in names:
        series.setdefault(re.sub(r"\d+$", "#", name), []).append(name)
    yield from (found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}" for found in series.values())


def _boxes(steps: Sequence[Step], holder: Path, name: str, node: Mapping[Path | str, str]) -> Iterator[str]:
    indent = "  " * (len(holder) + 1)
    for step in (step for step in steps if step.path[:-1] == holder):
        said = _said(step) or name
        box = f'{node[step.path]}["{said}{f"<br>{step.kept} bits in registers" if step.kept else ""}"]'
        if step.path and any(other.path[:-1] == step.path for other in steps):
            yield f'{indent}subgraph in_{node[step.path]}["{said}"]'
            if step.computes:
                yield f"{indent}  {box}"
            yield from _boxes(steps, step.path, name, node)
            yield f"{indent}end"
        else:
            yield indent + box


def _said(step: Step) -> str:
    if len(step.names) < 2:
        return "".join(step.names)
    shared = "".join(common_start(step.names)).rstrip("_0123456789")
    return f"{shared or step.names[0]} x {len(step.names)}"


def _arrows(edges: Iterable[Edge], node: Mapping[Path | str, str]) -> Iterator[str]:
    bits: Counter[tuple[str, str]] = Counter()
    for edge in edges:
        bits[node[edge.source], node[edge.target]] += edge.bits
    place = {box: number for number, box in enumerate(dict.fromkeys(node.values()))}
    for source, target in sorted(bits, key=lambda ends: [place[end] for end in ends]):
        yield f"  {source} -->|{bits[source, target]}| {target}"
