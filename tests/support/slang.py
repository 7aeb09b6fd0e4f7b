"""The SystemVerilog parser slang, which compiles sources without a simulator."""

from __future__ import annotations

from pathlib import Path

import pytest


def accepts(*words: str | Path) -> bool:
    """Whether slang compiles sources without an error. The words are options and paths of its command line."""
    pyslang = pytest.importorskip("pyslang", reason="pyslang, a SystemVerilog parser, is not installed")
    module = getattr(pyslang, "driver", pyslang)  # slang 11 has moved the driver
    driver = module.Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(" ".join(["slang", *map(str, words)]), module.CommandLineOptions())
    assert driver.processOptions() and driver.parseAllSources()
    driver.reportCompilation(driver.createCompilation(), False)
    return bool(driver.reportDiagnostics(False))
