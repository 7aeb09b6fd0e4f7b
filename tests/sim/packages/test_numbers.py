"""The benches of packages read codes as the formats do, in Verilog and in C++."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from fp9.formats import NAMED, Format, format
from fp9.units import CATALOGUE, Port, Unit
from fp9_sim.packages.numbers import cpp_functions, functions, verilog_functions

DESCRIBED = [
    format(f"1.3.4,b=3,specials={specials}{flush}")
    for specials in ("ieee", "nan_only", "negative_zero", "merged", "none", "finite", "p3109", "p3109_finite")
    for flush in ("", ",subnormals=false")
]

READ = [*NAMED.values(), *DESCRIBED]
"""Every format with a name, and some of every kind of special code."""


@dataclasses.dataclass(frozen=True)
class Ports(Unit):
    """Stands for a unit whose ports have these formats."""

    kind = "ports"
    formats: tuple[Format, ...]
    name: str = "ports"
    stages: int = 0

    @property
    def inputs(self) -> tuple[Port, ...]:
        return tuple(Port(f"x{i}", fmt.bits, "", (fmt,)) for i, fmt in enumerate(self.formats))

    @property
    def outputs(self) -> tuple[Port, ...]:
        return ()


def codes(fmt: Format) -> list[int]:
    """Every code of a narrow format; the ends, the powers of two and random ones of a wide one."""
    if fmt.bits <= 8:
        return [*range(1 << fmt.bits)]
    at = {edge ^ step for bit in range(fmt.bits) for edge in (0, 1 << bit, (1 << fmt.bits) - 1) for step in (0, 1)}
    drawn = np.random.default_rng(0).integers(0, 1 << fmt.bits, 200).tolist()
    padded = {code >> fmt.padding << fmt.padding for code in (*at, *drawn)}
    return sorted(padded)


def expected(fmt: Format, code: int) -> int:
    """The bits of the number as binary64; NaN has one code, as a program may print any."""
    value = np.float64(fmt.to_float(code))
    return 0x7FF8 << 48 if np.isnan(value) else int(value.view(np.uint64))


ASKED = [(fmt, code) for fmt in READ for code in codes(fmt)]


def _compared(lines: list[str]) -> None:
    assert len(lines) == len(ASKED)
    wrong = [
        (fmt.name, hex(code), line)
        for (fmt, code), line in zip(ASKED, lines, strict=True)
        if int(line, 16) != expected(fmt, code) and not (int(line, 16) << 1 & (1 << 64) - 1 == 0 == fmt.to_float(code))
    ]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")
def test_verilog_reads_the_codes_of_every_format(tmp_path: Path) -> None:
    unit = Ports(tuple(READ))
    names = functions(unit)
    shown = "\n".join(f'    $display("%h", {names[fmt]}({fmt.bits}\'d{code}, 0));' for fmt, code in ASKED)
    text = f"module top;\n{verilog_functions(unit)}\n  initial begin\n{shown}\n  end\nendmodule\n"
    (tmp_path / "top.v").write_text(text)
    subprocess.run(["iverilog", "-g2005", "-o", "top.vvp", "top.v"], cwd=tmp_path, check=True)
    done = subprocess.run(["vvp", "-n", "top.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True)
    _compared(done.stdout.split())


@pytest.mark.slow
def test_cpp_reads_the_codes_of_every_format(tmp_path: Path) -> None:
    unit = Ports(tuple(READ))
    names = functions(unit)
    asked = ",\n".join(f"  {{{names[fmt]}, {code}u}}" for fmt, code in ASKED)
    (tmp_path / "top.cpp").write_text(
        "#include <cmath>\n#include <cstdint>\n#include <cstdio>\n#include <cstring>\n"
        f"{cpp_functions(unit)}\n"
        "struct Asked { double (*reads)(uint64_t, int); uint64_t code; };\n"
        f"static const Asked all[] = {{\n{asked}}};\n"
        "int main() {\n  for (const Asked& one : all) {\n    double value = one.reads(one.code, 0);\n"
        "    if (std::isnan(value)) value = std::fabs(NAN);\n    uint64_t bits;\n"
        '    std::memcpy(&bits, &value, 8);\n    std::printf("%llx\\n", (unsigned long long)bits);\n  }\n}\n'
    )
    subprocess.run(["c++", "-std=c++17", "-Wall", "-Werror", "-o", "top", "top.cpp"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "top"], check=True, capture_output=True, text=True)
    _compared(done.stdout.split())


def test_every_format_of_the_catalogue_is_read() -> None:
    ports = [port for unit in CATALOGUE.values() for port in (*unit.inputs, *unit.outputs)]
    unit = Ports(tuple({fmt for port in ports for fmt in port.formats}))
    assert len(functions(unit)) == len(unit.formats)
    assert len(set(functions(unit).values())) == len(unit.formats)
