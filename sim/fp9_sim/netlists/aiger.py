"""Circuits in AIGER's binary format: https://fmv.jku.at/aiger/FORMAT-20070427.pdf."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fp9.units import Unit
from fp9_rtl.components import build
from fp9_rtl.tools.rtlil import WITHOUT_PROCESSES, to_rtlil
from fp9_rtl.tools.yosys import run_yosys

# Verilog extends the operands of a product to the result's width, RTLIL does not. `wreduce` makes both equal.
GRAPH = """\
async2sync
setundef -zero
setattr -unset init w:*
zinit -all
opt -nodffe -nosdff
wreduce t:$mul
techmap
opt -nodffe -nosdff
dffunmap
aigmap
opt_clean
write_aiger -symbols {file}
"""


def of_unit(unit: Unit) -> bytes:
    with tempfile.TemporaryDirectory(prefix="fp9-aiger-") as name:
        folder = Path(name)
        (folder / "unit.il").write_text(to_rtlil(build(unit), unit.name))
        run_yosys(WITHOUT_PROCESSES + GRAPH.format(file="circuit.aig"), folder)
        return (folder / "circuit.aig").read_bytes()


@dataclass(frozen=True)
class Aiger:
    """An AIGER circuit.

    An AIGER literal is twice the number of a variable, plus 1 for the inverted variable.
    """

    # Variable 0 is the constant 0. Variables are numbered in this order: inputs, registers, AND gates.
    inputs: int
    following: tuple[int, ...]
    initial: tuple[int, ...]
    outputs: tuple[int, ...]
    ands: tuple[tuple[int, int], ...]
    # AIGER symbol lines such as `i0 a[0]`.
    names: tuple[str, ...]

    @classmethod
    def read(cls, data: bytes) -> Aiger:
        head, _, rest = data.partition(b"\n")
        words = head.split()
        if len(words) < 6 or words[0] != b"aig":
            raise ValueError(f"AIGER header {head[:40]!r} given; give a binary file, `aig M I L O A`")
        _, inputs, registers, outputs, ands = map(int, words[1:6])
        lines = rest.split(b"\n", registers + outputs)
        rows = [[int(word) for word in line.split()] for line in lines[: registers + outputs]]
        first = inputs + registers + 1
        pairs, left = _decoded(lines[-1], first, ands)
        symbols = left.decode().partition("\nc\n")[0] if not left.startswith(b"c\n") else ""
        names = tuple(line for line in symbols.split("\n") if line[:1] in ("i", "l", "o"))
        initial = tuple(row[1] if len(row) > 1 else 0 for row in rows[:registers])
        following = tuple(row[0] for row in rows[:registers])
        return cls(inputs, following, initial, tuple(row[0] for row in rows[registers:]), pairs, names)

    @property
    def first(self) -> int:
        return self.inputs + len(self.following) + 1

    @property
    def ports(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name[0] in "io")

    def inverted(self, place: int) -> Aiger:
        variable = self.first + place

        def changed(literal: int) -> int:
            return literal ^ 1 if literal // 2 == variable else literal

        pairs = tuple((max(a, b), min(a, b)) for a, b in (map(changed, pair) for pair in self.ands))
        following, outputs = tuple(map(changed, self.following)), tuple(map(changed, self.outputs))
        return replace(self, following=following, outputs=outputs, ands=pairs)

    def to_bytes(self) -> bytes:
        highest = self.first + len(self.ands) - 1
        counts = (highest, self.inputs, len(self.following), len(self.outputs), len(self.ands))
        lines = [f"aig {' '.join(map(str, counts))}"]
        lines += [f"{a} {b}" if b else f"{a}" for a, b in zip(self.following, self.initial, strict=True)]
        lines += map(str, self.outputs)
        body = b"".join(
            _number(2 * variable - a) + _number(a - b) for variable, (a, b) in enumerate(self.ands, start=self.first)
        )
        return "".join(f"{line}\n" for line in lines).encode() + body + "".join(f"{n}\n" for n in self.names).encode()


def _decoded(data: bytes, first: int, count: int) -> tuple[tuple[tuple[int, int], ...], bytes]:
    place = 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    pairs = []
    for variable in range(first, first + count):
        a = 2 * variable - number()
        pairs.append((a, a - number()))
    return tuple(pairs), data[place:]


def _number(value: int) -> bytes:
    """Return a number in AIGER's delta encoding, seven bits per byte, lowest bits first."""
    return bytes(_groups(value))


def _groups(value: int) -> Iterator[int]:
    while value >= 0x80:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
