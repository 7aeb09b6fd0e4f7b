"""C compilers that tests use, with the warnings that a header must not raise."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


@dataclass(frozen=True)
class Compiler:
    """A compiler with its options, and an emulator that runs its programs, if any."""

    program: str
    options: tuple[str, ...] = ("-std=c99",)
    runner: tuple[str, ...] = ()

    def build(self, source: Path, made: Path, *options: str) -> None:
        """Compile a source without a warning. Skips the test if a tool is not installed."""
        for tool in (self.program, *self.runner[:1]):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} is not installed")
        words = [
            self.program,
            *self.options,
            *WARNINGS,
            "-O1",
            f"-I{made.parent}",
            *options,
            str(source),
            "-o",
            str(made),
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def run(self, program: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.runner, program, *arguments], capture_output=True, text=True, check=False)


_SANITIZED = ("-fsanitize=undefined,address", "-fno-sanitize-recover=all")

GCC = Compiler("gcc")

COMPILERS: dict[str, Compiler] = {
    "gcc": GCC,
    "clang": Compiler("clang"),
    "c++17": Compiler("g++", ("-std=c++17", "-x", "c++")),
    "sanitized": Compiler("gcc", ("-std=c99", *_SANITIZED)),
    "portable": Compiler("gcc", ("-std=c99", "-DFP9_PORTABLE")),
    "riscv64": Compiler("riscv64-linux-gnu-gcc", ("-std=c99", "-static"), ("qemu-riscv64",)),
    "s390x": Compiler("s390x-linux-gnu-gcc", ("-std=c99", "-static"), ("qemu-s390x",)),
}
"""Compilers and machines by name; s390x is big-endian."""


def write(folder: Path, files: dict[str, str]) -> Sequence[Path]:
    """Write texts into a folder, and return their paths."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / name for name in files]
