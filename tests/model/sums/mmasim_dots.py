"""A million dot products of every instruction of mmasim that a preset stands for, compared; it goes on where it ended.

Run by an interpreter that has fp9's needs, mmasim 2.1.1 and torch; the record is written after every part:

    python tests/model/sums/mmasim_dots.py 1000000 records/accumulators/mmasim.json            # or of some presets:
    python tests/model/sums/mmasim_dots.py 1000000 records/accumulators/mmasim.json blackwell blackwell_fp16
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.model.sums import mmasim_blocks as blocks
from tests.model.sums import mmasim_vectors as plain

from fp9.system.files import write_whole

PART = 10_000
"""Dots of one kind of operands that are compared at a time."""


class Case(NamedTuple):
    """An instruction: how its operands are drawn, and what the model and mmasim give for them."""

    name: str
    preset: str
    instruction: str
    products: int
    kinds: tuple[str, ...]
    drawn: Callable[[str, int, np.random.Generator], Any]
    ours: Callable[[Any], NDArray[np.uint32]]
    theirs: Callable[[Any], NDArray[np.uint32]]


def cases() -> Iterator[Case]:
    """Every instruction once; scaled ones as `mmasim_blocks` has them."""
    yield from (_plain(i) for i in plain.instructions() if not i.scaled)
    yield from (_blocks(form) for form in blocks.forms())


def _plain(i: plain.Instruction) -> Case:
    return Case(
        i.name,
        i.engine,
        f"{i.architecture}: {i.spelling}",
        plain.DEPTH,
        plain.KINDS,
        lambda kind, count, rng: plain.operands(i, kind, count, rng),
        lambda x: plain.fp9_results(i, x),
        lambda x: plain.mmasim_results(i, x),
    )


def _blocks(form: blocks.Form) -> Case:
    return Case(
        form.name,
        form.engine,
        f"{form.architecture}: {form.spelling}",
        blocks.DEPTH,
        blocks.KINDS,
        lambda kind, count, rng: blocks.operands(form, kind, count, rng),
        lambda x: blocks.fp9_results(form, x),
        lambda x: blocks.mmasim_results(form, x),
    )


def compare(case: Case, part: int) -> dict[str, int]:
    """One part of a case: dots compared, those that differ, and those left out (see `test_mmasim.check`)."""
    seen = {"dots": 0, "differ": 0, "left_out": 0}
    for kind in case.kinds:
        rng = np.random.default_rng([part, zlib.crc32(f"{case.name}-{kind}".encode())])
        x = case.drawn(kind, PART, rng)
        ours, theirs = plain.with_one_nan(case.ours(x)), plain.with_one_nan(case.theirs(x))
        forgotten = np.zeros(len(ours), dtype=np.bool_)
        if (case.preset, kind) == ("cdna3", "special"):
            forgotten = np.isfinite(theirs.view(np.float32)) & ~np.isfinite(ours.view(np.float32))
        seen["dots"] += int(np.count_nonzero(~forgotten))
        seen["left_out"] += int(np.count_nonzero(forgotten))
        seen["differ"] += int(np.count_nonzero((ours != theirs) & ~forgotten))
    return seen


def run(dots: int, path: Path, presets: list[str]) -> None:
    """Compare every case, or those of some presets, until so many of its dots are recorded in a file; it may hold some
    from before."""
    record = json.loads(path.read_text()) if path.exists() else {}
    record |= {"source": f"mmasim {version('mmasim')} on torch {version('torch')}", "command": _COMMAND}
    found: dict[str, dict[str, Any]] = record.setdefault("instructions", {})
    for case in cases():
        if presets and case.preset not in presets:
            continue
        own = found.setdefault(case.name, {"parts": 0, "dots": 0, "differ": 0, "left_out": 0})
        own |= {"preset": case.preset, "instruction": case.instruction, "products": case.products}
        while own["dots"] < dots:
            for name, count in compare(case, own["parts"]).items():
                own[name] += count
            own["parts"] += 1
            write_whole(path, json.dumps(record, indent=1) + "\n")
        print(f"{case.name}: {own['dots']:,} dots of {case.products} products, {own['differ']} differ", flush=True)
    total = [sum(own[name] for own in found.values()) for name in ("dots", "differ")]
    print(f"{len(found)} instructions, {total[0]:,} dots, {total[1]} differ")


_COMMAND = "python tests/model/sums/mmasim_dots.py 1000000 records/accumulators/mmasim.json"

if __name__ == "__main__":
    run(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
