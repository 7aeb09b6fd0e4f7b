"""Circuits of instruction sets give the rows of their references: a few are committed, all where they are at hand.

Where the rows are from: `tests/model/casts/test_instruction_sets.py` and `tests/model/sums/test_instruction_sets.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.casts import test_instruction_sets as casts
from tests.model.sums import test_instruction_sets as sums
from tests.outside import reference

import fp9
from fp9.units import CATALOGUE, Cast, Dot
from fp9_sim import verilated

Columns = dict[str, NDArray[Any]]

SPIKE = {"f32": "cast_fp32_riscv", "bf16": "cast_bf16_riscv"}
RVBNA = {n: f"dot{n}_fp32_rvbna" for n in (4, 8)}
FP8 = {"0": "e5m2", "1": "e4m3"}
"""Arm's codes of the formats."""


def spike(source: str, rows: Iterable[Sequence[Any]]) -> None:
    """Rows of target, frm, saturating, pattern, result and flags; those of infinities raise nothing in Spike, and in
    a circuit invalid where the target has none."""
    unit = CATALOGUE[SPIKE[source]]
    assert isinstance(unit, Cast)
    target, mode, saturates, pattern, want, raised = zip(*rows, strict=True)
    x = np.array([int(word, 16) for word in pattern])
    assert tuple(m.value for m in unit.roundings) == casts.FRM
    names = [fmt.name for fmt in unit.targets]
    chosen = {"target": np.array([names.index(name) for name in target]), "rounding": np.array(mode)}
    got = verilated(unit)(x=x, overflow=np.array(saturates), **chosen)
    assert np.array_equal(got["result"], [int(word, 16) for word in want])
    finite = np.isfinite(fp9.decode(x.astype(unit.source.dtype), unit.source))
    assert np.array_equal(got["flags"][finite], np.array(raised)[finite])


def test_some_casts_are_those_of_spike() -> None:
    for source in SPIKE:
        spike(source, [row[1:] for row in casts.COMMITTED["rows"] if row[0] == source])


@pytest.mark.parametrize("source", SPIKE)
def test_casts_are_those_of_spike(source: str) -> None:
    for target in ("e4m3", "e5m2"):
        rows = casts.lines(reference("isa", "riscv", f"zvfofp8min_{source}_to_{target}.txt"))
        assert len(rows) == 40_960
        spike(source, [(target, int(r[1]), int(r[2]), r[0], r[3], int(r[4], 16)) for r in rows])


def test_casts_are_those_of_arm() -> None:
    """Codes alone: Arm calls a number tiny before its rounding, and raises nothing for an infinity."""
    unit = CATALOGUE["cast_fp32_arm"]
    rows = [row for row in casts.lines(reference("isa", "arm", "fpconvertfp8_from_f32.txt")) if row[0] in FP8]
    assert len(rows) > 1500
    target, scale, saturates, x, want, _ = (
        np.array([int(row[place], 16) for row in rows]) for place in range(len(rows[0]))
    )
    got = verilated(unit)(x=x, target=1 - target, overflow=saturates, scale=scale & 0xFF)
    assert np.array_equal(got["result"], want)


def lanes(unit: Dot, formats: Sequence[str], a: NDArray[Any], b: NDArray[Any]) -> Columns:
    """The ports of codes (rows, products) in two formats."""
    columns: Columns = {}
    for operand, offered, name, codes in zip("ab", (unit.a, unit.b), formats, (a, b), strict=True):
        columns |= dict(zip(unit.lane_names(operand), codes.T, strict=True))
        columns[f"{operand}_format"] = np.full(len(codes), [fmt.name for fmt in offered].index(name))
    return columns


def dot_unit(name: str) -> Dot:
    unit = CATALOGUE[name]
    assert isinstance(unit, Dot)
    return unit


def rvbna(n: int, formats: Sequence[str], x: Columns) -> None:
    unit = dot_unit(RVBNA[n])
    got = verilated(unit)(c=x["c"], **lanes(unit, formats, x["a"], x["b"]))
    assert np.array_equal(got["result"], x["result"])


def test_some_bulk_normalised_sums_are_those_of_spike() -> None:
    for n, *formats, a, b, c, _, result in sums.COMMITTED["rvbna"]["rows"]:
        if n in RVBNA:
            words = {"c": sums.words([c]), "result": sums.words([result])}
            rvbna(n, formats, {"a": sums.codes([a]), "b": sums.codes([b])} | words)


@pytest.mark.parametrize("n", RVBNA)
def test_bulk_normalised_sums_are_those_of_spike(n: int) -> None:
    with np.load(reference("isa", "riscv", "rvbna_dot.npz")) as arrays:
        for formats in itertools.product(FP8.values(), repeat=2):
            rows = {key: arrays[f"n{n}_{formats[0]}_{formats[1]}_{key}"] for key in ("a", "b", "c", "result")}
            assert len(rows["c"]) == 2000
            rvbna(n, formats, rows)
