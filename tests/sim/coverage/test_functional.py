"""Functional coverage of a suite: counts and holes are those of the coverage model."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units import CATALOGUE
from fp9.vectors import sets as vectors
from fp9_sim import coverage


def test_holes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = vectors.generate("mac4_kulisch_ocp", "random", 200)
    monkeypatch.setattr(vectors, "generate", lambda unit, suite: made)
    found = coverage.of_suite(made.unit, "corner")
    covered = coverage.measure(made.unit, made.inputs, made.expected)
    assert (found.bins, found.met) == (covered.bins, covered.met)
    # A wrap takes more operations than these.
    assert "mac4_kulisch_ocp.wrap: up, down" in found.summary
    longest = max(covered.items, key=lambda item: len(item.holes))
    assert f"{longest.name}: {', '.join(longest.holes[:12])}, {len(longest.holes) - 12} more" in found.summary


def test_the_command_fails_for_a_corner_suite_with_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = CliRunner().invoke(main, ["coverage", "decoder_ocp"])
    assert sound.exit_code == 0, sound.output
    made = vectors.generate("decoder_ocp", "random", 3)
    monkeypatch.setattr(vectors, "generate", lambda unit, suite: made)
    done = CliRunner().invoke(main, ["coverage", "decoder_ocp"])
    assert done.exit_code == 1 and "not met: decoder_ocp." in done.output
    assert CATALOGUE["decoder_ocp"].name in done.output
