"""The cocotb test that the documentation shows passes on a generated unit, and fails on one with an error."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fp9.units.toml import load
from fp9_rtl import verilog

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "write-a-cocotb-test.md"
RESULT = "assign o_result ="


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")
@pytest.mark.parametrize("changed", [RESULT, f"{RESULT} 32'd1 ^ "], ids=["as generated", "with an error"])
def test_the_example_tells_a_unit_with_an_error(tmp_path: Path, changed: str) -> None:
    for name, text in re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(text)
    source = verilog(load("fma_fp32_ocp", ["stages=2"]))
    assert source.count(RESULT) == 1
    (tmp_path / "fma_fp32_ocp.v").write_text(source.replace(RESULT, changed))
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ("PASS=1" in done.stdout) == (changed == RESULT), done.stdout + done.stderr
