"""How commands end: interrupted, with a reader that went away, without standard output, out of bounds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.cli.support import Command, Commands, keeps
from fp9.suites import most_drawn
from fp9.units import CATALOGUE

FP9 = [sys.executable, "-c", "from fp9.cli import main; main(prog_name='fp9')"]


def refused(*words: str) -> str:
    """The one sentence of a command that is refused."""
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.startswith("fp9: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


# --- Ctrl-C: 128 + SIGINT, as shells have it (POSIX, 2.8.2) -----------------------------------------------------------


def interrupted(sentence: str | None) -> click.testing.Result:
    group = Commands("fp9")

    @group.command(cls=Command)
    def wait(as_json: bool) -> None:
        if sentence:
            keeps(sentence)
        raise KeyboardInterrupt

    return CliRunner().invoke(group, ["wait"])


def test_an_interrupted_command_says_what_it_kept_and_exits_130() -> None:
    done = interrupted("half is kept; run it again")
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr == "fp9: interrupted; half is kept; run it again\n"


def test_a_command_that_keeps_nothing_says_that_no_file_is_half_written() -> None:
    done = interrupted(None)
    assert done.exit_code == 130
    assert (
        done.stderr == "fp9: interrupted; files are written whole or not at all; run the same command to start again\n"
    )


def test_an_interrupted_generator_of_verilog_says_nothing_of_its_objects() -> None:
    """In a process of its own: once it has elaborated, Amaranth warns of dropped objects that nothing used."""
    code = (
        "import sys, fp9_rtl.export.verilog as export\n"
        "from amaranth.hdl import Fragment, Module\n"
        "from fp9.cli import main\n"
        "def interrupted(unit, *_):\n    Fragment.get(Module(), None)\n    Module()\n    raise KeyboardInterrupt\n"
        "export.verilog = sys.modules['fp9_rtl'].verilog = interrupted\n"
        "main(['rtl', 'cast_fp32'], prog_name='fp9')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("fp9: interrupted")


@pytest.mark.slow
def test_an_interrupted_sweep_keeps_its_shards_and_its_workers_are_silent(tmp_path: Path) -> None:
    words = ["sweep", "cast_fp32_ocp_rne", "--records", str(tmp_path), "--jobs", "1"]
    # A shell's jobs in the background ignore Ctrl-C, and so would what they start.
    job = subprocess.Popen(
        [*FP9, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while job.poll() is None and not any(_lines(path) > 1 for path in tmp_path.rglob(".*.jsonl")):
            time.sleep(0.05)
        os.killpg(job.pid, signal.SIGINT)
        out, said = job.communicate()
    finally:
        job.kill()
    assert job.returncode == 130, said
    assert out == b""
    assert said.decode().startswith("fp9: interrupted; finished shards are stored; run the same command again")
    assert said.count(b"\n") == 1
    assert any(_lines(path) > 1 for path in tmp_path.rglob(".*.jsonl"))


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


# --- standard output --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("words", [["formats", "hif8", "--codes"], ["formats", "fp16", "--codes", "--json"]])
def test_a_reader_that_goes_away_ends_the_command_without_a_word(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*FP9, *words], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")  # 128 + SIGPIPE


@pytest.mark.every(3)
@pytest.mark.parametrize("words", [["formats"], ["units", "--json"], ["rtl", "decoder_hif8"]])
def test_a_full_standard_output_is_a_sentence(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*FP9, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "fp9: standard output: no space left on device; send it elsewhere\n")


def test_a_closed_standard_output_is_a_sentence() -> None:
    done = subprocess.run([*FP9, "formats"], preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr == b"fp9: standard output is closed; open it, or send it to /dev/null\n"


@pytest.mark.slow
def test_a_file_named_minus_is_standard_output_and_nothing_else_goes_there() -> None:
    plain = subprocess.run([*FP9, "rtl", "decoder_hif8"], capture_output=True, text=True, check=True)
    named = subprocess.run([*FP9, "rtl", "decoder_hif8", "-o", "-"], capture_output=True, text=True, check=True)
    assert named.stdout == plain.stdout
    assert named.stderr.startswith("decoder_hif8: ")


@pytest.mark.slow
def test_a_plot_on_standard_output_is_svg_alone() -> None:
    words = ["accuracy", "dlfloat", "--k", "64", "--count", "8", "--out", "-"]
    done = subprocess.run([*FP9, *words], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("<?xml")
    assert done.stdout.endswith("</svg>\n")
    assert "dlfloat" in done.stderr


# --- bounds, said before anything is allocated ------------------------------------------------------------------------

HUGE = "100000000000"


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["vectors", "export", "fma_fp32", "--suite", "random", "--count", HUGE], "give at most 11,799,360 operations"),
        (["sim", "fma_fp32", "--count", HUGE], "give at most 11,799,360 operations of fma_fp32"),
        (["accuracy", "hopper", "--k", HUGE], "give at most 134,217,728 products in all"),
        (["accuracy", "hopper", "--count", HUGE], "give at most 134,217,728 products in all"),
        (["energy", "mac_dlfloat16_gated", "--toggles", "--count", HUGE], "not in the range 1<=x<=1048576"),
        (["gemm", "--check", "--count", HUGE], "not in the range 1<=x<=10000"),
        (["mutate", "decoder_hif8", "--count", HUGE], "not in the range"),
        (["accuracy", "hopper", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["vectors", "export", "fma_fp32", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["prove", "decoder_hif8", "--timeout", "nan"], "'nan' given; give a number of seconds above 0"),
        (["prove", "decoder_hif8", "--timeout", "inf"], "'inf' given; give a number of seconds above 0"),
        (["cast", "1", "--to", "e4m3", "--rounding", "sr"], "needs --random-bits N"),
        (["cast", "1", "--to", "e4m3", "--rounding", "sr", "--random-bits", "x"], "give an integer of 0 or more"),
        (["cast", "1", "--to", "e4m3", "--random-bits", "1"], "give --rounding sr too"),
    ],
)
def test_what_is_out_of_bounds_is_a_sentence(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in refused(*words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("unit", CATALOGUE.values(), ids=CATALOGUE)
def test_a_sweep_s_default_and_a_million_operations_are_within_bounds(unit: object) -> None:
    assert most_drawn(unit) > 1_000_000  # type: ignore[arg-type]


def test_numbers_in_a_file_that_holds_none_are_refused_by_its_name(tmp_path: Path) -> None:
    import numpy as np

    pickled, empty, archive = tmp_path / "pickled.npy", tmp_path / "empty.npy", tmp_path / "archive.npz"
    np.save(pickled, np.array([{}], dtype=object), allow_pickle=True)
    empty.touch()
    np.savez(archive, x=np.zeros(3))
    for path in (pickled, empty, archive):
        assert f"{path} is no .npy file of numbers" in refused("accuracy", "hopper", "--a", str(path), "--b", str(path))


def test_a_plot_of_sums_without_error_says_that_there_is_nothing_to_draw(tmp_path: Path) -> None:
    path = tmp_path / "exact.svg"
    assert "every rms error / rms exact is 0" in refused("accuracy", "fma_fp32", "--k", "1", "--out", str(path))
    assert not path.exists()


def test_a_plot_of_one_length_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "one.svg"
    done = CliRunner().invoke(main, ["accuracy", "dlfloat", "--k", "64", "--count", "8", "--out", str(path)])
    assert done.exit_code == 0, done.output
    assert path.read_text().endswith("</svg>\n")


def test_stochastic_rounding_takes_its_bits_from_the_command_line() -> None:
    """0.3 lies 0.6 of the way from 0.28125 to 0.3125: it rises where the bits reach the last 0.6 (numerics.md)."""
    words = ["cast", "0.3", "0.3", "--to", "e4m3", "--rounding", "sr", "--random-bits", "0", "--random-bits", "0xFFFF"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("0.3")]
    assert [row[2] for row in rows] == ["0x29", "0x2A"]


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["units", "fma_fp23"], "did you mean fma_fp32"),
        (["rtl", "FMA_FP32"], "did you mean fma_fp32"),
        (["cast", "1", "--to", "e4m33"], "did you mean e4m3"),
        (["cast", "1", "--to", "float8_e4m3f"], "did you mean float8_e4m3fn"),
        (["accuracy", "hoper"], "did you mean hopper?"),
        (["study", "mixd_fp32"], "did you mean mixed_fp32"),
        (["units", "abacus"], "`fp9 units` lists all"),
    ],
)
def test_an_unknown_name_is_answered_with_what_is_near(words: list[str], says: str) -> None:
    said = refused(*words)
    assert says in said
    assert len(said) < 240


def test_a_setting_takes_formats_described_by_their_bits() -> None:
    """Graphcore's 1.4.3 with bias 9: the comma belongs to the description, the next one does not."""
    done = CliRunner().invoke(main, ["units", "fma_fp32", "--set", "a=1.4.3,b=9,e5m2", "--toml"])
    assert done.exit_code == 0, done.output
    assert 'a = ["1.4.3,b=9", "e5m2"]' in done.stdout
