"""Verilog for operands of a multi-format FPU, and the inputs that select an operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fp9.formats import FixedFormat, Format, Specials
from fp9.units import MultiFpu, MultiFpuOp
from fp9_sim.proofs.miter import selected


def selecting(unit: MultiFpu, op: MultiFpuOp, choices: Mapping[str, tuple[int, int]]) -> tuple[dict[str, int], str]:
    """Return the constant inputs that select an operation, and a Verilog condition on the free inputs.

    `choices` maps the name of each further select port to the number of its choices and the chosen index.
    """
    widths = {port.name: port.width for port in unit.inputs}
    every = {"op": (len(unit.operations), unit.operations.index(op)), **choices}
    found = [selected(name, count, index, widths.get(name, 0)) for name, (count, index) in every.items()]
    return {name: value for fixed, _ in found for name, value in fixed.items()}, " && ".join(text for _, text in found)


def in_formats(unit: MultiFpu, formats: Mapping[str, Format]) -> dict[str, tuple[int, int]]:
    """Return the choices that select the formats of operands or of the result, as an argument of `selecting`."""
    return {unit.format_port(x): (len(unit.formats), unit.formats.index(fmt)) for x, fmt in formats.items()}


def code(unit: MultiFpu, name: str, fmt: Format) -> Iterator[str]:
    """Yield Verilog for the wire `NAME_code`, the code that an operation reads.

    With NaN boxing, an operand without ones above its code is the canonical NaN.
    """
    bits = fmt.bits
    boxed = f"&{name}[{unit.word - 1}:{bits}]" if unit.nan_boxing and bits < unit.word else "1'b1"
    yield f"  wire [{bits - 1}:0] {name}_code = {boxed} ? {name}[{bits - 1}:0] : {bits}'d{fmt.nan_code(False) or 0};"


def holds(unit: MultiFpu, condition: str, fmt: Format, broken: bool) -> str:
    """Return Verilog for the wire `ok`: the result is the wire `code`, and the flags are the wire `raised`.

    If `broken` is true, the last bit of the expected result is inverted where operand a is the smallest positive
    number of the format `fmt`. Every solver can refute this control, because the circuit can read that number.
    """
    wrong = f" ^ (a_code == {fmt.smallest_code})" if broken else ""
    flags = " && flags == raised" if unit.flags else ""
    return f"  assign ok = !({condition}) || result == (code{wrong}){flags};"


def signals(name: str, fmt: Format) -> str:
    """Return a Verilog expression that is 1 if an operand is a signalling NaN. The wire `NAME_nan` must exist."""
    if not isinstance(fmt, FixedFormat) or fmt.specials is not Specials.IEEE:
        return "1'b0"
    return f"({name}_nan && !{name}_code[{fmt.fraction_bits - 1}])"


def boxes(unit: MultiFpu, fmt: Format) -> int:
    """Return the ones above a result's code, or 0 without NaN boxing."""
    return (1 << unit.word) - (1 << fmt.bits) if unit.nan_boxing else 0
