"""Shell completion: names of units, formats, engines and choices, in the shells themselves where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from fp9.cli import main
from fp9.engines import ENGINES
from fp9.formats import FAMILIES, NAMED
from fp9.formats.blocks import BLOCK_FORMATS
from fp9.formats.rounding import NanSign, Rounding
from fp9.studies.accumulators import DISTRIBUTIONS, PUBLISHED
from fp9.suites import SUITES
from fp9.system.cache import KINDS
from fp9.units import CATALOGUE
from fp9.units.form import entries
from fp9.vectors.encodings import FILE_FORMATS
from fp9_compare.diagnosis.libraries import LIBRARIES as LIBRARIES_OF_OTHERS
from fp9_ml.experiments.catalogue import CLAIMS
from fp9_ml.recipes import RECIPES
from fp9_rtl.studies import run_studies
from fp9_rtl.synthesis.fpga import DEVICES
from fp9_rtl.synthesis.libraries import LIBRARIES
from fp9_sim import SIMULATORS


def offered(line: str) -> list[str]:
    """What the shell is offered for the last word of a command line."""
    *words, last = line.split(" ")[1:]
    shell = ShellComplete(main, {}, "fp9", "_FP9_COMPLETE")
    return [item.value for item in shell.get_completions(words, last)]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("fp9 units ", CATALOGUE),
        ("fp9 rtl ", CATALOGUE),
        ("fp9 sim ", CATALOGUE),
        ("fp9 sweep ", CATALOGUE),
        ("fp9 prove decoder_hif8 ", CATALOGUE),
        ("fp9 synth fma_fp32 --compare ", CATALOGUE),
        ("fp9 datasheet ", CATALOGUE),
        ("fp9 gemm --unit ", CATALOGUE),
        ("fp9 formats ", list(dict.fromkeys([*NAMED, *FAMILIES, *BLOCK_FORMATS]))),
        ("fp9 accumulators ", ENGINES),
        ("fp9 cast 1 --to ", [*NAMED, *FAMILIES]),
        ("fp9 gemm --cast ", [*NAMED, *FAMILIES]),
        ("fp9 accuracy ", ENGINES),
        ("fp9 accuracy --distribution ", DISTRIBUTIONS),
        ("fp9 accuracy --reproduce ", PUBLISHED),
        ("fp9 cast 1 --to e4m3 --rounding ", [rounding.value for rounding in Rounding]),
        ("fp9 vectors export fma_fp32 --suite ", SUITES),
        ("fp9 vectors export fma_fp32 --format ", FILE_FORMATS),
        ("fp9 sim fma_fp32 --simulator ", SIMULATORS),
        ("fp9 synth fma_fp32 --library ", tuple(LIBRARIES)),
        ("fp9 synth fma_fp32 --fpga ", DEVICES),
        ("fp9 study ", run_studies.questions()),
        ("fp9 cache ", KINDS),
        ("fp9 recipes ", RECIPES),
        ("fp9 recipes --reproduce ", CLAIMS),
        ("fp9 check-python ", LIBRARIES_OF_OTHERS),
        ("fp9 check-python mine:cast --format ", [*NAMED, *FAMILIES]),
        ("fp9 rtl decoder_hif8 --set ", [f"{entry.name}=" for entry in entries(CATALOGUE["decoder_hif8"])]),
    ],
)
def test_every_name_that_fits_is_offered(line: str, names: list[str]) -> None:
    assert offered(line) == list(names)
    first = next(iter(names))
    assert first in offered(line + first[:2])
    assert all(name.startswith(first[:2]) for name in offered(line + first[:2]))


def test_behind_a_field_stands_what_it_takes() -> None:
    assert offered("fp9 rtl fma_fp32 --set engine=") == [f"engine={name}" for name in ENGINES]
    assert offered("fp9 synth cast_fp32 --set nan_sign=k") == [f"nan_sign={NanSign.KEPT.value}"]


def test_settings_of_no_unit_are_not_offered() -> None:
    assert offered("fp9 rtl mine.toml --set ") == [] == offered("fp9 rtl fma_fp32 --set colour=")


def test_commands_and_options_are_offered_and_nothing_runs() -> None:
    assert {"formats", "cast", "rtl", "sweep", "vectors"} <= set(offered("fp9 "))
    assert offered("fp9 vectors ") == ["check", "export", "gen", "ver"]
    assert "--rounding" in offered("fp9 cast --r")


def bash(folder: Path, line: str) -> str:
    script = (
        f'eval "$(_FP9_COMPLETE=bash_source {folder}/fp9)"; COMP_WORDS=({line}); COMP_CWORD={line.count(" ")}; '
        '_fp9_completion "${COMP_WORDS[0]}"; echo "${COMPREPLY[@]}"'
    )
    return shell(folder, "bash", script)


def fish(folder: Path, line: str) -> str:
    return shell(folder, "fish", f"_FP9_COMPLETE=fish_source {folder}/fp9 | source; complete -C '{line}'")


def zsh(folder: Path, line: str) -> str:
    """The function that zsh calls, with a `compadd` that prints what it is given."""
    script = (
        "compdef() { : }; commands[fp9]=1; "
        f'eval "$(_FP9_COMPLETE=zsh_source {folder}/fp9)"; '
        'compadd() { local -a given; given=("${(@P)argv[-1]}"); print -l -- $given }; '
        f"words=({line}); CURRENT=${{#words}}; _fp9_completion"
    )
    return shell(folder, "zsh", script)


def shell(folder: Path, name: str, script: str) -> str:
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        [name, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the command `fp9`."""
    command = tmp_path / "fp9"
    command.write_text(f"#!{sys.executable}\nfrom fp9.cli import main\nmain(prog_name='fp9')\n")
    command.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("complete", [bash, zsh, fish], ids=lambda complete: complete.__name__)
def test_the_shell_completes_a_unit(installed: Path, complete: object) -> None:
    if shutil.which(complete.__name__) is None:  # type: ignore[attr-defined]
        pytest.skip(f"{complete.__name__} is not installed")  # type: ignore[attr-defined]
    said = complete(installed, "fp9 rtl fma_fp32_o")  # type: ignore[operator]
    assert "fma_fp32_ocp" in said
    assert "Traceback" not in said
    assert "fma_fp32_e5m2" not in said
