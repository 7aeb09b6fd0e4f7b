"""Checks that must not pass: each test plants a fault that a check could overlook, and expects it to fail."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result
from tests.sim.support.faults import FAULTS, with_faults

from fp9.cli import main
from fp9.units.toml import build, dumps
from fp9.vectors import export, generate, manifest_path
from fp9_rtl import verilog
from fp9_sim import SIMULATORS, regress
from fp9_sim.third_party import load
from fp9_sim.third_party.protocol import hinted

UNIT = "fma_fp32"


# --- vector files --------------------------------------------------------------------------------------------------


def _of_another_unit(path: Path) -> None:
    """A unit with the same ports, but for the width of c, all of whose values fit."""
    export(generate("fma_dlfloat16", "smoke"), path.parent, path.stem)


def _truncated(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:18]))


def _cut_in_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def _with_another_digest(path: Path) -> None:
    text = manifest_path(path).read_text()
    before, _, after = text.partition('"sha256": "')
    manifest_path(path).write_text(f'{before}"sha256": "{"0" * 64}{after[64:]}')


def _of_another_spec(path: Path) -> None:
    text = manifest_path(path).read_text()
    manifest_path(path).write_text(text.replace("stages: 0", "stages: 3"))


def _with_another_count(path: Path) -> None:
    text = manifest_path(path).read_text()
    manifest_path(path).write_text(re.sub(r'"count": (\d)', r'"count": 1\1', text))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_of_another_unit, "holds vectors of fma_dlfloat16, not of fma_fp32"),
        (_truncated, "has changed since its export"),
        (_cut_in_a_line, "has changed since its export"),
        (_with_another_digest, "has changed since its export"),
        (_of_another_spec, "was made for another spec"),
        (_with_another_count, "its manifest says"),
    ],
)
def test_vectors_that_are_not_the_units_are_refused_before_anything_runs(
    damage: object, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(damage)
    path = export(generate(UNIT, "smoke"), tmp_path)
    damage(path)
    monkeypatch.setattr("fp9_sim.regression.run.build", lambda *_: pytest.fail("a simulator was built"))
    done = CliRunner().invoke(main, ["sim", UNIT, "--vectors", str(path)])
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    with pytest.raises(ValueError, match=says):
        regress(generate(UNIT, "smoke").unit, path)


# --- the protocol ----------------------------------------------------------------------------------------------------

PIPELINE = build({"kind": "dot", "name": "mydot", "a": "e4m3", "b": "e4m3", "engine": "fma_fp32(G=4)", "stages": 3})


class Faulty(NamedTuple):
    """The pipeline's Verilog with faults, and the file that switches one on."""

    text: str
    switch: Path


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    switch = tmp_path_factory.mktemp("faulty") / "fault"
    return Faulty(with_faults(PIPELINE, str(switch)), switch)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("fault", [0, *FAULTS])
def test_a_regression_finds_the_fault(fault: int, simulator: str, faulty: Faulty, build_dir: Path) -> None:
    faulty.switch.write_text(f"{fault}\n")
    vectors = generate(PIPELINE, "random", 200)
    found = regress(PIPELINE, vectors, simulator, verilog=faulty.text, build_dir=build_dir)
    assert found.passed == (fault == 0), FAULTS.get(fault)


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_regression_holds_the_unit_to_its_latency(simulator: str, build_dir: Path) -> None:
    vectors = generate(PIPELINE, "random", 200)
    assert regress(PIPELINE, vectors, simulator, build_dir=build_dir).passed
    (violation,) = regress(PIPELINE, vectors, simulator, latency=9, build_dir=build_dir).violations
    assert "comes 3 clocks after its operation; the unit takes 9" in violation


MAPPING = """
files = ["mydot.v"]
top = "mydot"
{more}
[clock]
port = "clk"
[reset]
port = "rst"
active = "{active}"
[handshake]
in_valid = "in_valid"
in_ready = "in_ready"
out_valid = "out_valid"
out_ready = "out_ready"
[unit]
kind = "dot"
a = "e4m3"
b = "e4m3"
engine = "fma_fp32(G=4)"
"""


def _mapped(folder: Path, text: str, more: str = "", active: str = "high") -> Path:
    """The mapping of the unit as third-party Verilog."""
    (folder / "mydot.v").write_text(text)
    (mapping := folder / "mydot_check.toml").write_text(MAPPING.format(more=more, active=active))
    return mapping


def _checked(folder: Path, text: str, more: str = "", active: str = "high") -> Result:
    """What check-rtl says by default of the unit as third-party Verilog."""
    return CliRunner().invoke(main, ["check-rtl", str(_mapped(folder, text, more, active)), "--count", "500"])


@pytest.mark.slow
@pytest.mark.parametrize("fault", [0, *FAULTS])
def test_check_rtl_finds_the_fault(
    fault: int, faulty: Faulty, build_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.switch.write_text(f"{fault}\n")
    monkeypatch.chdir(build_dir)  # so that the tests share the build
    done = _checked(faulty.switch.parent, faulty.text, "latency = 3")
    assert done.exit_code == (1 if fault else 0), done.output


@pytest.mark.slow
@pytest.mark.parametrize("in_system_verilog", [False, True])
def test_check_rtl_stalls_and_resets_on_the_simulator_that_reads_the_design(
    in_system_verilog: bool, faulty: Faulty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Icarus refuses SystemVerilog in a plain build; Verilator starts with random registers."""
    monkeypatch.chdir(tmp_path)
    extra = "module idle; typedef struct {int unsigned left; } pair_t; pair_t pair = '{left: 0}; endmodule\n"
    text = verilog(PIPELINE) + (extra if in_system_verilog else "")
    done = _checked(tmp_path, text, "latency = 3")
    assert done.exit_code == 0, done.output
    assert f"{'verilator' if in_system_verilog else 'icarus'}, stalls and resets" in done.stdout
    if in_system_verilog:
        faulty.switch.write_text("2\n")
        assert _checked(tmp_path, faulty.text + extra, "latency = 3").exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "active", "says"),
    [
        ("latency = 9", "high", "comes 3 clocks after its operation; the unit takes 9"),
        ("", "low", 'mydot gave 0 results .* the mapping says [reset] active = "low": check it'),
    ],
)
def test_check_rtl_says_what_to_set(
    more: str, active: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = _checked(tmp_path, verilog(PIPELINE), more, active)
    assert done.exit_code == 1, done.output
    assert re.search(says.replace("[", r"\["), " ".join(done.stdout.split()))
    assert "check_mydot" not in done.stdout


def test_an_unknown_valid_at_power_up_names_the_level_of_the_reset(tmp_path: Path) -> None:
    design = load(_mapped(tmp_path, verilog(PIPELINE), active="low"))
    violation = "out_valid is x; after a reset of one clock "
    assert 'the mapping says [reset] active = "low"' in hinted(design, f"{violation}at power-up")
    assert hinted(design, f"{violation}at full rate") == f"{violation}at full rate"


@pytest.mark.slow
@pytest.mark.parametrize("fault", [2, 6])
def test_the_command_sim_finds_the_fault(
    fault: int, faulty: Faulty, build_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.switch.write_text(f"{fault}\n")
    monkeypatch.chdir(build_dir)
    monkeypatch.setattr("fp9_rtl.verilog", lambda *_: faulty.text)
    (tmp_path / "mydot.toml").write_text(dumps(PIPELINE))
    path = export(generate(PIPELINE, "random", 300), tmp_path)
    done = CliRunner().invoke(main, ["sim", str(tmp_path / "mydot.toml"), "--vectors", str(path)])
    assert done.exit_code == 1, done.output
    assert "not compared" in done.stdout
