"""Streams of vectors: what is printed is right for every unit of the catalogue, and what is read is judged rightly."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units import CATALOGUE
from fp9.vectors import streams

DRAWN = 100


def text(lines: bytes) -> list[str]:
    return lines.decode().splitlines()


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_unit_agrees_with_its_own_lines_and_a_wrong_digit_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = CATALOGUE[name]
    monkeypatch.setattr(streams, "LEVELS", {1: (("random", DRAWN),)})
    lines = text(b"".join(streams.generated(unit)))
    assert streams.verified(unit, lines) == streams.Verdict(len(lines), 0, ())
    index = next(i for i, line in reversed(list(enumerate(lines))) if "x" not in line)
    cells = lines[index].split()
    last = unit.outputs[-1]
    cells[-1] = f"{int(cells[-1], 16) ^ 1:0{(last.width + 3) // 4}x}"
    lines[index] = " ".join(cells)
    verdict = streams.verified(unit, lines)
    assert (verdict.wrong, [wrong.line for wrong in verdict.first]) == (1, [index + 1])
    assert verdict.first[0].found[last.name] == verdict.first[0].expected[last.name] ^ 1


def test_levels_and_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = CATALOGUE["decoder_hif8"]
    monkeypatch.setattr(streams, "DRAWN", 50)
    monkeypatch.setattr(streams, "LEVELS", {1: (("random", 20),), 2: (("random", 20), ("random", 50))})
    one, two, other = (text(b"".join(streams.generated(unit, level, seed))) for level, seed in ((1, 0), (2, 0), (2, 1)))
    assert two[: len(one)] == one
    assert len(two) == len(one) + 50
    assert two != other
    endless = streams.generated(unit, 1, 0, forever=True)
    rounds = list(itertools.islice(endless, 4))
    assert text(rounds[0]) == one
    assert len({*rounds[1:]}) == 3
    with pytest.raises(ValueError, match="level 3 given; choose from 1, 2"):
        next(streams.generated(unit, 3))


def test_a_unit_with_state_has_no_endless_stream() -> None:
    with pytest.raises(ValueError, match="one sequence from reset; leave out --forever"):
        next(streams.generated(CATALOGUE["mac_dlfloat16"], forever=True))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "no line to compare"),
        (["# only a comment"], "no line to compare"),
        (["00 0"], "line 1 has 2 columns; give"),
        (["# one", "zz zz zz"], "line 2 has 3 columns; give"),
        (["# one", "", "00 0 xx 0 1 0 zz"], "line 3 has 'zz' in column nan, which is no number"),
    ],
)
def test_lines_of_another_form_are_named(lines: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        streams.verified(CATALOGUE["decoder_hif8"], lines)


def test_the_commands_work_in_a_pipe() -> None:
    printed = CliRunner().invoke(main, ["vectors", "gen", "decoder_hif8"])
    assert printed.exit_code == 0
    judged = CliRunner().invoke(main, ["vectors", "ver", "decoder_hif8"], input=printed.stdout)
    assert judged.exit_code == 0
    assert "0 wrong" in judged.output
    spoilt = printed.stdout.replace("0", "1", 1)
    judged = CliRunner().invoke(main, ["vectors", "ver", "decoder_hif8"], input=spoilt)
    assert judged.exit_code == 1
    assert "1 wrong" in judged.output


@pytest.mark.slow
def test_a_reader_that_has_enough_ends_an_endless_stream_quietly() -> None:
    program = "from fp9.cli import main; main()"
    command = [sys.executable, "-c", program, "vectors", "gen", "decoder_hif8", "--forever"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(timeout=60)
