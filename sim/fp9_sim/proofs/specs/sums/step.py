"""Proof that a unit with an accumulator or pipeline stages equals a combinational unit."""

from __future__ import annotations

import fp9_rtl
from fp9.units import Dot, Fma, MacOp
from fp9_sim.netlists.graphs.function import ACCUMULATOR
from fp9_sim.proofs.miter import Case


def step_of(unit: Dot) -> Dot:
    """Return a combinational unit that computes one operation of a unit with accumulator or pipeline registers."""
    kind = Fma if unit.products == 1 else Dot
    fields = {name: getattr(unit, name) for name in ("a", "b", "engine", "flags", "bias_port", "scale", "block")}
    return kind(name=f"{unit.name}_step", **fields)


def step_verilog(unit: Dot) -> str:
    return fp9_rtl.verilog(step_of(unit))


def step_cases(unit: Dot) -> tuple[Case, ...]:
    return (Case("every operation", {}, _same(unit, broken=False), _same(unit, broken=True)),)


def _same(unit: Dot, broken: bool) -> str:
    step = step_of(unit)
    inputs = [port.name for port in step.inputs if port.name != "c"]
    outputs = {port.name: port.width for port in step.outputs}
    width = unit.engine.result.format.bits
    stateful = unit.has_state
    addend = f"op == {int(MacOp.LOAD)} ? c : {ACCUMULATOR}" if stateful else f"c{' ^ 1' if broken else ''}"
    pins = [f".{name}({name})" for name in inputs] + [".c(addend)", *(f".{name}(step_{name})" for name in outputs)]
    adds = f"op == {int(MacOp.ACCUMULATE)} || op == {int(MacOp.LOAD)}" if stateful else "1'b1"
    held = f"op == {int(MacOp.HOLD)} ? {'0' if broken else ACCUMULATOR} : {width}'d0" if stateful else "0"
    compared = "".join(
        f" && {name} == (adds ? step_{name} : {'kept' if name == 'result' else '0'})" for name in outputs
    )
    return "\n".join(
        [
            f"  wire [{width - 1}:0] addend = {addend}; wire [{width - 1}:0] kept = {held}; wire adds = {adds};",
            *(f"  wire [{bits - 1}:0] step_{name};" for name, bits in outputs.items()),
            f"  {step.name} step ({', '.join(pins)});",
            f"  assign ok = 1'b1{compared};",
        ]
    )
