"""Verilator's own library, compiled once for all builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from fp9_sim.simulators.objects import library


def build(folder: Path, *needed: str) -> set[str]:
    """The object files that are there as a build begins, which makes what it needs beside them."""
    folder.mkdir()
    with library(["version", "flags"], folder):
        found = {path.name for path in folder.iterdir()}
        for name in {*needed} - found:
            (folder / name).write_text(name)
    return found


def test_a_build_finds_what_all_before_it_have_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FP9_CACHE", str(tmp_path / "cache"))
    core, waves = "verilated.o", "verilated_vcd_c.o"
    assert build(tmp_path / "first", core) == set()
    assert build(tmp_path / "second", core, waves) == {core}
    assert build(tmp_path / "third", core) == {core, waves}
