"""Steps of cocotb's runner load no more than they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fp9_sim.simulators import child
from fp9_sim.simulators.find import Simulator


@pytest.mark.slow
def test_runner_and_simulator_load_neither_pytest_nor_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take half of the processor time of a short regression."""
    loads = (
        "import cocotb.regression, cocotb_tools.runner, fp9_sim.bench.regression_bench, sys\n"
        "assert not {'_pytest', 'numba'} & sys.modules.keys()"
    )
    (tmp_path / "program.py").write_text(loads)
    monkeypatch.setattr(child, "_PROGRAM", tmp_path / "program.py")
    settings = {"log_file": str(tmp_path / "log")}
    assert child.run_job("test", settings, Simulator("icarus", "12.0", tmp_path), tmp_path) == 0, (
        tmp_path / "log"
    ).read_text()
    assert subprocess.run([sys.executable, "-c", loads], capture_output=True, check=False).returncode
