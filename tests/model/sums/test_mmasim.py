"""The presets of tensor and matrix cores against mmasim: its committed results, and itself where it is installed."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.model.sums import mmasim_dots as dots
from tests.model.sums import mmasim_vectors as vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = Path(__file__).with_name("mmasim.npz")
INSTRUCTIONS = list(vectors.instructions())


def check(instruction: vectors.Instruction, kind: str, x: vectors.Operands, theirs: NDArray[np.uint32]) -> None:
    ours = vectors.fp9_results(instruction, x)
    # mmasim's CDNA3 forgets an infinite or NaN accumulator beside products of 2^25 and more: it compares the exponent
    # that frexp gives for it, 0, with theirs (arithmetic/fdpa.py, gtr_fdpa). The model keeps it.
    forgotten = np.isfinite(theirs.view(np.float32)) & ~np.isfinite(ours.view(np.float32))
    assert not forgotten.any() or (instruction.engine, kind) == ("cdna3", "special")
    assert np.array_equal(vectors.with_one_nan(ours)[~forgotten], vectors.with_one_nan(theirs)[~forgotten])
    assert np.count_nonzero(forgotten) < len(ours) / 4


@pytest.mark.parametrize("kind", vectors.KINDS)
@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda i: i.name)
def test_presets_give_the_committed_results_of_mmasim(instruction: vectors.Instruction, kind: str) -> None:
    check(instruction, kind, *vectors.stored(FILE, instruction, kind))


def test_the_committed_results_are_those_of_the_manifest() -> None:
    manifest = json.loads(FILE.with_suffix(".json").read_text())
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == manifest["sha256"]
    assert set(manifest["instructions"]) == {i.name for i in INSTRUCTIONS}


def test_dots_are_compared_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the model itself in mmasim's place: none differs; against other codes every finite one does."""
    monkeypatch.setattr(dots, "PART", 50)
    case = next(case for case in dots.cases() if case.preset == "blackwell_fp16")
    same = dots.compare(case._replace(theirs=case.ours), 0)
    assert same == {"dots": 50 * len(case.kinds), "differ": 0, "left_out": 0}
    other = dots.compare(case._replace(theirs=lambda x: case.ours(x) ^ np.uint32(1 << 13)), 0)
    assert other["differ"] >= 50


@pytest.mark.skipif(importlib.util.find_spec("mmasim") is None, reason="mmasim is not installed")
def test_presets_give_what_mmasim_gives() -> None:
    for instruction, kind in itertools.product(INSTRUCTIONS, vectors.KINDS):
        x = vectors.operands(instruction, kind, 500, np.random.default_rng(7))
        check(instruction, kind, x, vectors.mmasim_results(instruction, x))
