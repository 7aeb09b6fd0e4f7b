"""Every command has an example in a page of the documentation, and the examples run."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.cli.topics import FOLDERS, FRONT, matching, topics

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "identify MATLAB-tensor-core": "the repository has no rows of GPUs; tests/compare/test_measured_rows.py makes some",
    "demo": "`make` runs it, and tests/sim/demo its parts",
    "study": "tests/rtl/studies runs studies",
    "records study": "tests/sim/evidence/test_studies.py records a study",
    "records update": "it compares circuits for minutes; tests/sim/records runs it",
    "records pages": "it reads the records of the repository; tests/sim/evidence builds the pages",
    "rtlil2verilog": "it reads a design of the user's; tests/rtl/export translates designs",
    "explore": "it serves until it is stopped; tests/cli/test_explore.py asks it",
}
"""Commands whose examples are not run here, and why."""


def leaves(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, *path, name)
    else:
        yield path


def examples_of(text: str) -> list[list[str]]:
    """Words of each command in the console blocks of a page, without `fp9`."""
    lines = [line for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert all(line.startswith("$ fp9 ") for line in lines)
    return [shlex.split(line, comments=True)[2:] for line in lines]


PAGES = {str(page.relative_to(ROOT)): page.read_text() for page in sorted((ROOT / "docs").rglob("*.md"))}
EXAMPLES = {name: found for name, text in PAGES.items() if (found := examples_of(text))}
"""Examples by the page that has them."""


@pytest.mark.parametrize("path", list(leaves(main)), ids=" ".join)
def test_every_command_has_an_example(path: tuple[str, ...]) -> None:
    assert any(tuple(words[: len(path)]) == path for found in EXAMPLES.values() for words in found)


LOADED = [
    "fp9.cli",
    "fp9.golden",
    "fp9.studies",
    "fp9.suites",
    "fp9.vectors",
    "fp9_rtl.cli",
    "fp9_sim.cli",
    "rich.table",
]
"""What most examples load."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(LOADED)


def ran_by_itself(words: list[str]) -> tuple[int | None, str, str]:
    """Exit code and both outputs of a command in a process of its own, forked of one that has loaded fp9."""
    said, complained = Path(".said"), Path(".complained")
    process = FORKS.Process(target=_run, args=(words, said.absolute(), complained.absolute(), Path.cwd()))
    process.start()
    process.join()
    return process.exitcode, said.read_text(), complained.read_text()


def _run(words: list[str], said: Path, complained: Path, folder: Path) -> None:
    os.chdir(folder)
    for stream, path in ((1, said), (2, complained)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    main(words, prog_name="fp9")


@pytest.mark.slow
@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"```toml\n# (\S+)\n(.*?)```", PAGES[page], re.DOTALL):
        Path(name).write_text(text)
    (tmp_path / "records").mkdir()
    for words in EXAMPLES[page]:
        if words[0] in ELSEWHERE or " ".join(words[:2]) in ELSEWHERE:
            continue
        if words[0] in ("synth", "datasheet") and not Path("/usr/share/qflow/tech/osu018").exists():
            pytest.skip("the Liberty files are not installed")
        if "icarus" in words and shutil.which("iverilog") is None:
            pytest.skip("Icarus is not installed")
        code, said, complained = ran_by_itself([*words, "--quiet"])
        assert (code, said != "") == (0, True), (words, complained)


# --- help ------------------------------------------------------------------------------------------------------------


def asked(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["help", *words], prog_name="fp9")
    return result.exit_code, result.output


@pytest.mark.parametrize("name", [name for name in topics() if name not in main.commands])
def test_every_topic_shows_its_text(name: str) -> None:
    code, text = asked(name, "--json")
    assert code == 0 and json.loads(text)["text"] == topics()[name]


def test_a_topic_is_found_by_words_of_its_title() -> None:
    assert "deliberate error" in " ".join(asked("mutation", "testing")[1].split())
    assert matching("cocotb") == ["write-your-own-cocotb-test-bench"]
    assert "held-out-mutants" in asked("mutants")[1]


@pytest.mark.parametrize(
    ("words", "topic"), [("waveform", "verify-a-unit"), ("AXI", "package-a-unit"), ("DPI", "package-a-unit")]
)
def test_a_topic_is_found_by_words_of_its_text(words: str, topic: str) -> None:
    assert topic in matching(words)
    assert all(re.search(rf"\b{words}", topics()[name], re.IGNORECASE) for name in matching(words))


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("nearest", "numerics"),
        ("stochastic", "stochastic-rounding"),
        ("RNE", "numerics"),
        ("e4m3fn", "ocp-fp8-fnuz-mx"),
        ("fp8_e4m3", "coming-from-microxcaling"),
        ("quantize", "cast-and-scale-arrays"),
        ("quantization", "quantisation"),
        ("h100", "which-accumulator-does-my-gpu-have"),
        ("wgmma", "which-accumulator-does-my-gpu-have"),
        ("use_fast_accum", "coming-from-torchao"),
        ("mutation testing", "mutation-testing"),
        ("fault injection", "fault-injection"),
        ("constrained random", "constrained-random"),
        ("block floating point", "block-floating-point"),
        ("NaN boxing", "nan-boxing"),
        ("PPA", "ppa"),
    ],
)
def test_a_word_of_other_packages_finds_its_page(words: str, topic: str) -> None:
    assert topic in "".join(asked(words)[1].split()) or matching(words) == [topic]


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("e4m3fn", "As format, 'e4m3fn' means e4m3."),
        ("h100", "means h100 wgmma or h100 mma."),
        ("nearest", "means rne."),
    ],
)
def test_a_synonym_is_shown_with_its_meaning(word: str, meaning: str) -> None:
    assert meaning in " ".join(asked(word)[1].split())


def test_the_wheel_has_the_pages_that_are_topics() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    packed = set(wheel["force-include"])
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {FRONT}
    assert packed == {f"docs/{name}" for name in (*FOLDERS, *pages)}


def test_a_command_is_a_topic() -> None:
    assert "fp9 vectors export [OPTIONS] UNIT..." in asked("vectors", "export")[1]
    assert asked("simm")[0] == 2 and "did you mean" in asked("simm")[1]
