"""Proof, one computation step at a time, that an accumulator unit equals a combinational unit.

The solver ABC fails to prove two complete wide sums equal, but quickly proves two single computation steps equal.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter

from fp9.units import Dot
from fp9_sim.netlists.graphs.between import ENTER, LEAVE
from fp9_sim.netlists.graphs.function import function
from fp9_sim.netlists.solvers.alike import alike
from fp9_sim.netlists.solvers.solver import Obligation
from fp9_sim.proofs.miter import Case
from fp9_sim.proofs.parts import Lemma, Netlist, PartCase, concatenated, dismantled
from fp9_sim.proofs.specs.sums.step import step_of, step_verilog
from fp9_sim.proofs.specs.sums.window import after, entering


def is_offered(unit: Dot) -> bool:
    whole = unit.has_state and unit.engine.chunk.length is None and unit.stages <= 2
    infinities = any(fmt.inf_code(False) is not None for fmt in (*unit.a, *unit.b))
    return whole and unit.scale is not None and infinities


@functools.lru_cache(maxsize=4)
def lemmas(unit: Dot) -> tuple[Lemma, ...]:
    # Each lemma states that a computation step equals the same step of a combinational unit.
    other = dismantled(step_of(unit), step_verilog(unit))
    named = _names(other) | {bit: f"{ENTER}.{name}" for bit, name in _names(other).items() if _is_addend(name)}
    return (*entering(unit), *(_of_step(other, step, named) for step in _in_order(other)), _leaving(unit, other, named))


def oblige_chain(unit: Dot, verilog: str, case: Case, specification: str) -> Obligation:
    assert isinstance(case, PartCase)
    steps = tuple(step for lemma in lemmas(unit) for step in lemma.steps if step not in (ENTER, LEAVE))
    text = function(unit, verilog, steps)
    netlist = dismantled(unit, text)
    netlist.check(lemmas(unit))
    return alike(text + step_verilog(unit), netlist.proof(case.lemma.steps, netlist.present(specification, {}), {}))


def _names(netlist: Netlist) -> dict[int | str, str]:
    return {
        bit: f"{net}[{place}]" if len(bits) > 1 else net
        for net, bits in netlist.drives.items()
        for place, bit in enumerate(bits)
    }


def _is_addend(name: str) -> bool:
    return name.split("[")[0] == "c"


def _in_order(netlist: Netlist) -> Iterable[str]:
    drives = {bit: step for step, pins in netlist.gives.items() for bits in pins.values() for bit in bits}
    return TopologicalSorter(
        {
            step: {drives[bit] for bits in pins.values() for bit in bits if bit in drives}
            for step, pins in netlist.pins.items()
        }
    ).static_order()


def _of_step(other: Netlist, step: str, named: Mapping[int | str, str]) -> Lemma:
    into = [f".{pin}({concatenated(bits, named)})" for pin, bits in other.pins[step].items()]
    out = [f".{pin}(other_{pin})" for pin in other.gives[step]]
    wires = [f"  wire [{len(bits) - 1}:0] other_{pin};" for pin, bits in other.gives[step].items()]
    return Lemma(
        f"{step}: that of the sum without stages",
        (step,),
        (*wires, f"  {other.modules[step]} other ({', '.join([*into, *out])});"),
        {f"{step}.{pin}": f"{step}.{pin} == other_{pin}" for pin in other.gives[step]},
        ("== other_", "!= other_"),
    )


def _leaving(unit: Dot, other: Netlist, named: Mapping[int | str, str]) -> Lemma:
    wires = {"value": other.outputs["result"], "raised": other.outputs["flags"]}
    lines = (f"  wire [{len(bits) - 1}:0] {name} = {concatenated(bits, named)};" for name, bits in wires.items())
    says = after(unit.engine.result.format.bits)
    return Lemma("the result of an operation", (LEAVE,), tuple(lines), says, ("? value", "? value + 1"))
