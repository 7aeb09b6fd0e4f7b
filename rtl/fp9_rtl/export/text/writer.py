"""Write the Verilog text of a whole circuit, each distinct module once, top module first."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fp9_rtl.export.text import source
from fp9_rtl.export.text.bundles import Crossing, bundle
from fp9_rtl.export.text.circuits.circuit import Circuit, Path, Wire, read_circuit
from fp9_rtl.export.text.circuits.folding import fold
from fp9_rtl.export.text.dialect import PLAIN, SYSTEM
from fp9_rtl.export.text.equal_modules import Steps, steps
from fp9_rtl.export.text.expressions import INDENT
from fp9_rtl.export.text.heads import head
from fp9_rtl.export.text.hierarchy import Part, flattened, parts, split_structures, without_wrappers
from fp9_rtl.export.text.module import Module
from fp9_rtl.export.text.ports import ports
from fp9_rtl.export.text.signals import Names, Signal, Sources, without_repetition
from fp9_rtl.export.text.statements import body
from fp9_rtl.export.text.types import Types


class Writer:
    """Writer that converts a flat circuit to Verilog or SystemVerilog modules."""

    def __init__(
        self, words: Mapping[str, Any], name: str, docs: Mapping[Path, str], types: Types, flat: bool = False
    ) -> None:
        """Read a circuit from `words`, a module in Yosys' JSON."""
        circuit = read_circuit(words)
        fold(circuit)
        circuit, docs = without_wrappers(circuit, docs)
        self._circuit = flattened(circuit) if flat else circuit
        split_structures(self._circuit)
        fold(self._circuit)
        types.find(self._circuit)
        self._name, self._docs, self._types = name, docs, types
        cells = self._circuit.cells
        local = [(source.value_name(c.source, c.kind) or source.context_name(c.source), c) for c in cells]
        unnamed = [Wire(cell.path, name or "value", cell.output) for name, cell in local]
        self._lent = (Sources(self._circuit.wires), Sources(unnamed))

    def modules(self, system: bool = False) -> tuple[dict[str, str], Steps]:
        """Return each module's text by name, parents first, and the connections between modules."""
        top = parts(self._circuit, self._docs)
        texts, named = _Texts(self._circuit, self._name, self._docs, self._types, self._lent, system).write(top)
        return texts, steps(self._circuit, top, named)


class _Texts:
    def __init__(
        self,
        circuit: Circuit,
        name: str,
        docs: Mapping[Path, str],
        types: Types,
        lent: tuple[Sources, Sources],
        system: bool,
    ) -> None:
        self._circuit, self._name, self._docs, self._types, self._lent = circuit, name, docs, types, lent
        self._dialect = SYSTEM if system else PLAIN
        self._typed = system

    def write(self, top: Part) -> tuple[dict[str, str], dict[Path, str]]:
        modules: dict[Path, Module] = {}
        crossing = bundle(top, self._types.typed) if self._typed else {}
        for part in top.walk():
            children = {child: modules[(*part.path, child)] for child in part.children}
            modules[part.path] = module = Module(part, children, self._types if self._typed else None)
            if part.path:
                bounds = crossing.get(part.path, Crossing())
                module.settle(ports(part, bounds, module.names, self._lent, self._types, self._typed))
            else:
                module.settle(self._top_ports(module.names))
        bodies = {path: self._body(module) for path, module in modules.items()}
        named = self._named(modules, bodies)
        texts: dict[str, str] = {}
        for path in (part.path for part in top.walk(children_first=False)):
            text = bodies[path]
            for child in modules[path].children:
                text = text.replace(f"@{child}@ ", f"{named[(*path, child)]} ")
            above = head(self._docs.get(path, ""), modules[path].ports, self._types) if path else []
            texts.setdefault(named[path], "\n".join([*above, f"module {named[path]}(", text, "endmodule", ""]))
        return texts, named

    def _top_ports(self, names: Names) -> list[Signal]:
        found = []
        for port in self._circuit.ports:
            found.append(Signal(names.give(port.name), port.bits, "input" if port.is_input else "output"))
            found[-1].take(self._types.of(port.bits) if self._typed else None)
        return found

    def _body(self, module: Module) -> str:
        declared = (f"{INDENT}{self._dialect.port(port)}" for port in module.ports)
        lines = body(module, self._dialect)
        return "\n".join([",\n".join(declared), ");", *lines])

    def _named(self, modules: Mapping[Path, Module], bodies: Mapping[Path, str]) -> dict[Path, str]:
        # Modules with equal texts and submodules get the same name, formed from the common part of their paths.
        groups: defaultdict[tuple[object, ...], list[Path]] = defaultdict(list)
        key: dict[Path, tuple[object, ...]] = {}
        for path, module in modules.items():
            key[path] = (bodies[path], *(key[(*path, child)] for child in module.children)) if path else (path,)
            groups[key[path]].append(path)
        names, found = Names(), dict[Path, str]()
        commons = [_common(group) for group in groups.values()]
        for group, common in zip(groups.values(), commons, strict=True):
            given = names.give("_".join((self._name, *_distinct(common, commons))))
            found.update(dict.fromkeys(group, given))
        return found


def _common(group: Sequence[Path]) -> Path:
    if len(group) == 1:
        return group[0]
    last = "".join(common_start([path[-1] for path in group])).rstrip("_0123456789")
    return (*common_start([path[:-1] for path in group]), last or group[0][-1])


def _distinct(path: Path, others: Sequence[Path]) -> Path:
    names = without_repetition(path)
    return names if names == path or names not in others else (*names, "one")


def common_start(sequences: Iterable[Sequence[str]]) -> list[str]:
    columns = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False))
    return [column[0] for column in columns]
