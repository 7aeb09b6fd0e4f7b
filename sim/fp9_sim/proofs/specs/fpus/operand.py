"""Verilog text that decodes operands of a multi-format FPU, and input values that select an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fp9.formats import FixedFormat, Format, Specials
from fp9.formats.rounding import FLAG_BITS
from fp9.units import MultiFpu, MultiFpuOp
from fp9_sim.proofs.miter import selected


@dataclass(frozen=True)
class Split:
    """All lanes of one width in an FPU, or the whole word as a single lane.

    `lane` is the specification of one lane, or of the whole FPU. `lows` holds the position of each lane's lowest bit in
    the word. The FPU uses lanes of this width if the FPU's input port `vector` has the value of the field `vector`.
    """

    unit: MultiFpu
    lane: MultiFpu
    lows: tuple[int, ...]
    vector: int

    @property
    def label(self) -> str:
        return f" in {self.lane.word}-bit lanes" if self.vector else ""


def splits(unit: MultiFpu) -> Iterator[Split]:
    yield Split(unit, unit, (0,), 0)
    for vector, (width, lane) in enumerate(unit.lane_units.items(), 1):
        yield Split(unit, lane, tuple(range(0, unit.word, width)), vector)


def selecting(split: Split, op: MultiFpuOp, choices: Mapping[str, tuple[int, int]]) -> tuple[dict[str, int], str]:
    """Return the constant inputs that select an operation, and a Verilog condition on the free inputs."""
    widths = {port.name: port.width for port in split.unit.inputs}
    offered = split.lane.operations
    # Each select port has a pair: the number of choices, and the index of the selected choice.
    every = {
        "op": (len(offered), offered.index(op)),
        "vector": (1 + len(split.unit.lane_widths), split.vector),
        **choices,
    }
    found = [selected(name, count, index, widths.get(name, 0)) for name, (count, index) in every.items()]
    return {name: value for fixed, _ in found for name, value in fixed.items()}, " && ".join(text for _, text in found)


def in_formats(lane: MultiFpu, formats: Mapping[str, Format]) -> dict[str, tuple[int, int]]:
    """Map each format-select port to a pair: the number of formats, and the index of the selected format."""
    return {lane.format_port(x): (len(lane.formats), lane.formats.index(fmt)) for x, fmt in formats.items()}


def code(lane: MultiFpu, name: str, fmt: Format, low: int) -> str:
    """Return Verilog for the wire `NAME_code`: the operand's code, whose lowest bit is bit `low` of the port NAME."""
    bits = fmt.bits
    # With NaN boxing, an operand with a 0 bit above the code's bits is read as the canonical NaN.
    boxed = f"&{name}[{lane.word - 1}:{bits}]" if lane.nan_boxing and bits < lane.word else "1'b1"
    read = f"{name}[{low + bits - 1}:{low}]"
    return f"  wire [{bits - 1}:0] {name}_code = {boxed} ? {read} : {bits}'d{fmt.nan_code(False) or 0};"


def specification(split: Split, fmt: Format, condition: str, lane: Callable[[int], Sequence[str]], broken: bool) -> str:
    """Return Verilog for the wire `ok`, which is 1 if all lanes' results and the OR of their flags are right.

    `lane(low)` returns Verilog for the wires `a_code`, `code` and `raised` of the lane that starts at bit `low`.
    """
    names = [f"lane{low}" for low in split.lows]
    lines = [
        line
        for low, name in zip(split.lows, names, strict=True)
        for line in (f"  if (1) begin : {name}", *lane(low), "  end")
    ]
    wrong = f" ^ (lane0.a_code == {fmt.smallest_code})" if broken else ""
    flags = " && flags == raised" if split.unit.flags else ""
    lines += [
        f"  wire [{split.unit.word - 1}:0] code = {{{', '.join(f'{name}.code' for name in reversed(names))}}};",
        f"  wire [{FLAG_BITS - 1}:0] raised = {' | '.join(f'{name}.raised' for name in names)};",
        f"  assign ok = !({condition}) || result == (code{wrong}){flags};",
    ]
    return "\n".join(lines)


def signals(name: str, fmt: Format) -> str:
    """Return a Verilog expression that is 1 if an operand is a signalling NaN. The wire `NAME_nan` must exist."""
    if not isinstance(fmt, FixedFormat) or fmt.specials is not Specials.IEEE:
        return "1'b0"
    return f"({name}_nan && !{name}_code[{fmt.fraction_bits - 1}])"


def boxes(lane: MultiFpu, fmt: Format) -> int:
    """Return the bit mask that NaN boxing sets above a result's code, or 0 without NaN boxing."""
    return (1 << lane.word) - (1 << fmt.bits) if lane.nan_boxing else 0
