"""Records say what they rest on: the source that they name is there, and the model's digest is of all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import fp9
from fp9_sim import provenance
from fp9_sim.provenance import model_digest

ROOT = Path(__file__).parents[3]


def test_what_a_revision_looks_at_is_in_the_repository() -> None:
    for source in provenance._SOURCES:
        assert (ROOT / source.removeprefix(":(top,exclude)").removeprefix(":/")).exists()


def test_the_models_digest_covers_every_package_but_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fp9, "__file__", str(tmp_path / "__init__.py"))
    files = [tmp_path / name for name in ("__init__.py", "kernels/bits.py", "suites/sums/lanes.py")]
    command = tmp_path / "cli" / "model.py"
    seen = set()
    for file in (*files, command):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")
        seen.add(model_digest())
    assert len(seen) == len(files), "each file changes the digest, the command line's does not"
