"""What commands print: on terminals of any width, in pipes, and without colour."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from fp9.formats import FAMILIES, NAMED

FP9 = [sys.executable, "-c", "from fp9.cli import main; main(prog_name='fp9')"]
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(columns: int, *words: str, command: list[str] = FP9, **environment: str) -> str:
    """What a command writes to a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    job = subprocess.Popen(
        [*command, *words],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**kept, "TERM": "xterm", **environment},
    )
    os.close(follower)
    parts = []
    with contextlib.suppress(OSError):  # Linux's way to say that the other side is closed
        while part := os.read(leader, 1 << 16):
            parts.append(part)
    os.close(leader)
    assert job.wait() == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


@functools.cache
def seen_at(columns: int, *words: str) -> str:
    """What is read on a terminal of so many columns: looked at by several tests, the command runs once."""
    return ESCAPE.sub("", on_a_terminal(columns, *words))


@functools.cache
def in_a_pipe(*words: str) -> str:
    return subprocess.run([*FP9, *words], capture_output=True, text=True, check=True).stdout


COMMANDS = [
    ["formats"],
    ["units"],
    ["units", "fma_fp32"],
    ["cast", "0.1", "3e5", "--to", "hif8"],
    ["formats", "--papers"],
]


@pytest.mark.every(10)
@pytest.mark.parametrize("columns", [30, 80])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_width_cuts_a_word_of_what_a_pipe_gets(words: list[str], columns: int) -> None:
    """A table may fold between words, but each of its words is there, whole, whatever the terminal's width."""
    seen = seen_at(columns, *words)
    assert "…" not in seen
    whole = {word for word in in_a_pipe(*words).split() if set(word) - set("─━")}
    assert whole <= set(seen.split())


@pytest.mark.every(2)
@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("words", COMMANDS[:2], ids=" ".join)
def test_a_table_keeps_within_its_terminal(words: list[str], columns: int) -> None:
    seen = seen_at(columns, *words)
    assert max(map(len, seen.splitlines())) <= columns


def test_every_format_s_limits_stand_whole_at_80_columns() -> None:
    seen = seen_at(80, "formats")
    for fmt in (*NAMED.values(), *(family() for family in FAMILIES.values())):
        assert {fmt.name, f"{fmt.max:.6g}", f"{fmt.smallest:.6g}"} <= set(seen.split())


RATIOS = """
from fp9.cli.output import show
from fp9_rtl.synthesis.report import ratio_table
from fp9_rtl.synthesis.run import Ratio
import dataclasses
values = {f.name: 1.0 if "float" in str(f.type) else f"{f.name}_fma_fp32_ocp" for f in dataclasses.fields(Ratio)}
show([], False, ratio_table([Ratio(**values)]))
"""


@pytest.mark.slow
def test_the_units_of_a_comparison_stand_whole_at_80_columns() -> None:
    seen = ESCAPE.sub("", on_a_terminal(80, command=[sys.executable, "-c", RATIOS]))
    assert {"numerator_fma_fp32_ocp", "denominator_fma_fp32_ocp"} <= set(seen.split())
    assert "…" not in seen


@pytest.mark.slow
def test_colour_is_on_a_terminal_alone_and_not_where_it_is_unwanted() -> None:
    """https://no-color.org: NO_COLOR, when present and not empty, whatever its value."""
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    assert ESCAPE.search(on_a_terminal(80, "formats", "hif8"))
    assert not colour.search(on_a_terminal(80, "units", "fma_fp32", NO_COLOR="1"))
    assert not ESCAPE.search(in_a_pipe("formats", "hif8"))


@pytest.mark.slow
def test_a_pipe_gets_a_row_for_each_unit_in_at_most_100_columns() -> None:
    printed = in_a_pipe("units")
    rows = re.split(r"\n (?=\w)", printed)
    assert max(map(len, printed.splitlines())) <= 100
    for record in json.loads(in_a_pipe("units", "--json")):
        row = next(row for row in rows if row.split()[:1] == [record["name"]])
        assert " ".join(row.split()).endswith(record["summary"])


def test_a_command_to_copy_stands_on_one_line(tmp_path: Path) -> None:
    code = f"from fp9.cli.output import show; show([], False, 'fp9 sweep ' + 'x [b] ' * 60, '{tmp_path}')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"fp9 sweep {'x [b] ' * 60}\n{tmp_path}\n"
