"""List an operation's internal signals in datapath order, for fp9's and the user's circuit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import fp9_rtl
from fp9.units import Unit
from fp9_sim.bench.golden import results_of
from fp9_sim.trace.harness import Signals, signals
from fp9_sim.trace.terms import Term, exact_terms

_MODULE = re.compile(r"^module (\w+)\((.*?)\);(.*?)^endmodule", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  (\w+) (u_\w+) \(", re.MULTILINE)
_DECLARED = re.compile(r"^  (output|wire|reg|output reg) (?:\[\d+:\d+\] )?(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Field:
    """A signal of a trace, with two values of the signal as bit strings.

    For an internal signal, `model` is the signal's value in the generated circuit. `given` is the signal's value in the
    user's circuit, or None if the user's circuit has no such signal. For an output of the unit, `model` is the value
    from the golden model, and `given` is the value from the simulated circuit.
    """

    stage: str
    name: str
    model: str
    given: str | None

    @property
    def differs(self) -> bool:
        """Return whether a signal exists in both circuits and has different values."""
        return self.given is not None and self.given != self.model


@dataclass(frozen=True)
class Trace:
    """The trace of an operation: its exact terms, its intermediate signals in datapath order, and its outputs."""

    terms: tuple[Term, ...]
    fields: tuple[Field, ...]
    outputs: tuple[Field, ...]

    @property
    def first_difference(self) -> Field | None:
        return next((field for field in (*self.fields, *self.outputs) if field.differs), None)


def traced(
    unit: Unit, operations: Sequence[Mapping[str, int]], verilog: str | None = None, waves: Path | None = None
) -> Trace:
    """Trace the last operation of a sequence that follows a reset.

    `verilog` is the user's circuit for the same unit, which is compared with the generated circuit. `waves` is a file
    for the waveforms. Raises ValueError for a unit that computes blocks of several operations, and for a unit with
    iterative division.
    """
    if unit.group > 1:
        raise ValueError(
            f"{unit.name}: its results belong to blocks of {unit.group} operations; trace a unit without lanes"
        )
    if unit.extra_clocks:
        raise ValueError(
            f"{unit.name}: division=iterative computes one result in several clock cycles, and a trace shows one of "
            "them; set division=array"
        )
    text = fp9_rtl.verilog(unit)
    vectors = results_of(unit, operations)
    model = signals(unit, text, operations, waves if verilog is None else None)
    given = signals(unit, verilog, operations, waves) if verilog is not None else None
    expected = {p.name: f"{int(vectors.expected[p.name][-1]):0{p.width}b}" for p in unit.outputs}
    outputs = tuple(
        Field("outputs", name, bits, (given or model).outputs.get(name, "")) for name, bits in expected.items()
    )
    terms = tuple(exact_terms(unit, vectors.inputs, vectors.expected))
    return Trace(terms, tuple(_fields(unit, text, model, given)), outputs)


def _fields(unit: Unit, text: str, model: Signals, given: Signals | None) -> Iterator[Field]:
    modules = {name: body for name, _, body in _MODULE.findall(text)}
    heads = {name: head for name, head, _ in _MODULE.findall(text)}

    def of(module: str, path: str) -> Iterator[Field]:
        for kind, instance in _INSTANCE.findall(modules[module]):
            yield from of(kind, f"{path}{instance}.")
        if _INSTANCE.search(modules[module]):
            return  # the wires of this module are ports of its instances
        for _, name in _DECLARED.findall(modules[module] + heads[module]):
            bits = model.inside.get(f"{path}{name}")
            if bits is not None:
                theirs = given.inside.get(f"{path}{name}") if given else None
                yield Field(path.removesuffix(".").replace("u_", "") or unit.name, name, bits, theirs)

    yield from of(unit.name, "")
