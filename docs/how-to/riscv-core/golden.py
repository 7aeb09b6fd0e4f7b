"""Write the operations and golden results for program.c: `python golden.py fpu_zfinx.toml > operations.h`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from fp9 import decode
from fp9.formats import format
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import MultiFpu, Unit
from fp9.units.toml import load

ROWS, LENGTH = 16, 64
CUSTOM_FORMATS = ("e4m3", "e5m2", "fp16", "bf16", "fp32")


@dataclass(frozen=True)
class Instruction:
    """An instruction: its assembly text, the unit's operation, and the values of the unit's select ports by name."""

    text: str
    op: str
    selects: Mapping[str, str] = field(default_factory=dict)
    rs2: str = "b"


def instructions() -> Iterator[Instruction]:
    for letter, name in (("s", "fp32"), ("h", "fp16")):
        every = dict.fromkeys(("a_format", "b_format", "c_format", "result_format"), name)
        compared = every | {"result_format": "fp32"}
        for op in ("fmadd", "fmsub", "fnmsub", "fnmadd"):
            yield Instruction(f"{op}.{letter} %0, %1, %2, %3", op, every)
        for op in ("add", "sub", "sgnj", "sgnjn", "sgnjx", "min", "max"):
            yield Instruction(f"f{op}.{letter} %0, %1, %2", op, every, rs2="c")
        yield Instruction(f"fmul.{letter} %0, %1, %2", "mul", every)
        yield Instruction(f"fadd.{letter} %0, %1, %2, rup", "add", every | {"rounding": "rup"}, rs2="c")
        for op in ("eq", "lt", "le"):
            yield Instruction(f"f{op}.{letter} %0, %1, %2", op, compared, rs2="c")
        yield Instruction(f"fclass.{letter} %0, %1", "classify", compared)
        for suffix, integer in (("w", "int32"), ("wu", "uint32")):
            chosen = {"integer_format": integer}
            yield Instruction(f"fcvt.{suffix}.{letter} %0, %1, dyn", "to_integer", compared | chosen)
            yield Instruction(f"fcvt.{letter}.{suffix} %0, %1, dyn", "from_integer", every | chosen)
    for a, to in (("s", "h"), ("h", "s")):
        names = {"s": "fp32", "h": "fp16"}
        # FCVT.S.H is exact, and assemblers give it the rounding rne.
        chosen = {"a_format": names[a], "result_format": names[to]} | ({"rounding": "rne"} if to == "s" else {})
        yield Instruction(f"fcvt.{to}.{a} %0, %1", "convert", chosen)
    yield from custom_instructions()


def custom_instructions() -> Iterator[Instruction]:
    number = {name: place for place, name in enumerate(CUSTOM_FORMATS)}
    for a, b, wide in product(CUSTOM_FORMATS[:2], CUSTOM_FORMATS[:2], CUSTOM_FORMATS[2:]):
        chosen = {"a_format": a, "b_format": b, "c_format": wide, "result_format": wide}
        text = f".insn r4 0x0b, {number[wide]}, {number[a] + 2 * number[b]}, %0, %1, %2, %3"
        yield Instruction(text, "fmadd", chosen)
    for (a, to), policy in product(product(CUSTOM_FORMATS, repeat=2), ("directed", "saturate")):
        chosen = {"a_format": a, "result_format": to, "overflow": policy}
        text = f".insn r 0x2b, 7, {number[to] + 8 * (policy == 'saturate')}, %0, %1, x{number[a]}"
        yield Instruction(text, "convert", chosen)


def table(unit: MultiFpu, instruction: Instruction) -> np.ndarray:
    """Return rs1, rs2, rs3, rounding, golden result and flags of operations of the corner suite, of shape (ROWS, 6)."""
    wanted = {*instruction.selects.values()} | ({"fp32"} if "integer_format" in instruction.selects else set())
    part = replace(unit, formats=tuple(format(name) for name in CUSTOM_FORMATS if name in wanted))
    columns = corner(part)
    ports = {port.name: port for port in part.inputs}
    fixed = {name: ports[name].choices.index(value) for name, value in instruction.selects.items() if name in ports}
    chosen = np.full(len(columns["a"]), True)
    for name, value in {"op": ports["op"].choices.index(instruction.op), **fixed}.items():
        if name not in {"rounding", "overflow", "integer_format"}:
            # Unused values select the last choice.
            chosen &= np.minimum(columns[name], len(ports[name].choices) - 1) == value
    places = np.flatnonzero(chosen)
    if len(places) < ROWS:
        raise ValueError(f"{instruction.text}: the corner suite has {len(places)} operations; {ROWS} are needed")
    places = np.random.default_rng(0).choice(places, ROWS, replace=False)
    inputs = {name: column[places] for name, column in columns.items()}
    inputs["rounding"] %= len(unit.roundings)
    inputs |= {name: np.full_like(inputs[name], value) for name, value in fixed.items()}
    results = evaluate(part, inputs)
    code = in_register(results["result"], instruction.selects.get("result_format", "fp32"))
    return np.stack([inputs["a"], inputs[instruction.rs2], inputs["c"], inputs["rounding"], code, results["flags"]], 1)


@functools.cache
def corner(unit: MultiFpu) -> Mapping[str, np.ndarray]:
    return inputs_of(unit, "corner", None, 0)


def in_register(codes: np.ndarray, name: str) -> np.ndarray:
    """Return codes as Zfinx writes them to a 32-bit register: the bits above a code are copies of its sign bit."""
    unused = 32 - format(name).bits
    return (codes.astype(np.uint32) << unused).view(np.int32) >> unused


def dot(unit: Unit, x: np.ndarray, y: np.ndarray, wide: str) -> int:
    """Return the sum of products of E4M3 codes: one multiply-add after another, each rounded to `wide`."""
    ports = {port.name: port for port in unit.inputs}
    inputs = {name: np.zeros(1, np.uint32) for name in ports}
    for name in ("c_format", "result_format"):
        inputs[name][:] = ports[name].choices.index(wide)
    for inputs["a"][:], inputs["b"][:] in zip(x, y, strict=True):
        inputs["c"] = evaluate(unit, inputs)["result"].astype(np.uint32)
    return int(in_register(inputs["c"], wide)[0])


def vectors() -> np.ndarray:
    """Return two vectors of E4M3 codes with magnitudes from 0.125 to below 8, of shape (2, LENGTH)."""
    rng = np.random.default_rng(0)
    return rng.integers(0x20, 0x50, (2, LENGTH)) | rng.integers(0, 2, (2, LENGTH)) << 7


def c_words(values: np.ndarray) -> str:
    return ", ".join(f"0x{int(value) & 0xFFFFFFFF:x}" for value in values)


def lines(unit: MultiFpu) -> Iterator[str]:
    yield "// Operations with golden results, written by golden.py."
    yield "struct row { uint32_t rs1, rs2, rs3, rounding, result, flags; };"
    yield "struct group { const char *name; uint32_t (*run)(uint32_t, uint32_t, uint32_t); const struct row *rows; };"
    groups = [*instructions()]
    for number, instruction in enumerate(groups):
        yield f"static uint32_t run{number}(uint32_t rs1, uint32_t rs2, uint32_t rs3) {{"
        yield "  uint32_t rd;"
        yield f'  __asm__ volatile("{instruction.text}" : "=r"(rd) : "r"(rs1), "r"(rs2), "r"(rs3));'
        yield "  return rd;\n}"
        rows = ", ".join(f"{{{c_words(row)}}}" for row in table(unit, instruction))
        yield f"static const struct row rows{number}[] = {{{rows}}};"
    named = ", ".join(f'{{"{group.text}", run{number}, rows{number}}}' for number, group in enumerate(groups))
    yield f"static const struct group groups[] = {{{named}}};"
    yield f"#define ROWS {ROWS}\n#define LENGTH {LENGTH}"
    x, y = vectors()
    for name, codes in (("x", x), ("y", y)):
        yield f"static const uint8_t {name}_e4m3[] = {{{c_words(codes)}}};"
        yield f"static const float {name}_float[] = {{{', '.join(map(str, decode(codes.astype(np.uint8), 'e4m3')))}}};"
    for wide in ("fp16", "fp32"):
        yield f"static const uint32_t golden_{wide} = 0x{dot(unit, x, y, wide) & 0xFFFFFFFF:x};"


if __name__ == "__main__":
    spec = load(sys.argv[1])
    assert isinstance(spec, MultiFpu)
    print(*lines(spec), sep="\n")
