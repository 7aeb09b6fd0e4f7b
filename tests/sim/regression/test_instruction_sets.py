"""Circuits of instruction sets give the rows of their references: a few are committed, all where they are at hand.

Where the rows are from: `tests/model/casts/test_instruction_sets.py` and `tests/model/sums/test_instruction_sets.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.casts import test_instruction_sets as casts
from tests.model.sums import test_instruction_sets as sums
from tests.support.outside import reference

import fp9
from fp9.units import CATALOGUE, Cast, Dot, Unit
from fp9_sim import Verilated, verilated

Columns = dict[str, NDArray[Any]]

SPIKE = {"f32": "cast_fp32_riscv", "bf16": "cast_bf16_riscv"}
RVBNA = {n: f"dot{n}_fp32_rvbna" for n in (4, 8, 16)}
ROWS = 40_960
"""Of the longest reference."""
FP8 = {"0": "e5m2", "1": "e4m3"}
"""Arm's codes of the formats."""


def circuit(unit: Unit) -> Verilated:
    """The unit for so many operations as all rows of a reference are."""
    return verilated(unit, operations=ROWS)


def spike(source: str, rows: Iterable[Sequence[Any]]) -> None:
    """Rows of target, frm, saturating, pattern, result and flags, which are to be fp9's."""
    unit = CATALOGUE[SPIKE[source]]
    assert isinstance(unit, Cast)
    target, mode, saturates, pattern, want, raised = zip(*rows, strict=True)
    x = np.array([int(word, 16) for word in pattern])
    assert tuple(m.value for m in unit.roundings) == casts.FRM
    names = [fmt.name for fmt in unit.targets]
    chosen = {"target": np.array([names.index(name) for name in target]), "rounding": np.array(mode)}
    got = circuit(unit)(x=x, overflow=np.array(saturates), **chosen)
    assert np.array_equal(got["result"], [int(word, 16) for word in want])
    numbers = fp9.decode(x.astype(unit.source.dtype), unit.source)
    expected = casts.expected_flags(x, numbers, source, np.array(target), saturates, np.array(raised))
    assert np.array_equal(got["flags"], expected)


@pytest.mark.slow
def test_some_casts_are_those_of_spike() -> None:
    for source in SPIKE:
        spike(source, [row[1:] for row in casts.COMMITTED["rows"] if row[0] == source])


@pytest.mark.parametrize("source", SPIKE)
def test_casts_are_those_of_spike(source: str) -> None:
    for target in ("e4m3", "e5m2"):
        rows = casts.lines(reference("isa", "riscv", f"zvfofp8min_{source}_to_{target}.txt"))
        assert len(rows) == ROWS
        spike(source, [(target, int(r[1]), int(r[2]), r[0], r[3], int(r[4], 16)) for r in rows])


def test_casts_are_those_of_arm() -> None:
    """Codes alone: Arm calls a number tiny before its rounding, and raises nothing for an infinity."""
    unit = CATALOGUE["cast_fp32_arm"]
    rows = [row for row in casts.lines(reference("isa", "arm", "fpconvertfp8_from_f32.txt")) if row[0] in FP8]
    assert len(rows) > 1500
    target, scale, saturates, x, want, _ = (
        np.array([int(row[place], 16) for row in rows]) for place in range(len(rows[0]))
    )
    got = circuit(unit)(x=x, target=1 - target, overflow=saturates, scale=scale & 0xFF)
    assert np.array_equal(got["result"], want)


def lanes(unit: Dot, formats: Sequence[str], a: NDArray[Any], b: NDArray[Any]) -> Columns:
    """The ports of codes (rows, products) in two formats."""
    columns: Columns = {}
    for operand, offered, name, codes in zip("ab", (unit.a, unit.b), formats, (a, b), strict=True):
        columns |= dict(zip(unit.lane_names(operand), codes.T, strict=True))
        if len(offered) > 1:
            columns[f"{operand}_format"] = np.full(len(codes), offered.index(fp9.format(name)))
    return columns


def arm(unit: Dot, saturating: bool) -> None:
    """Codes of all rows of as many products to the unit's result; without scales those whose LSCALE is 0, of which four
    bits count for FP16, seven for FP32."""
    bits = unit.engine.output.bits
    rows = casts.lines(reference("isa", "arm", f"fp8dotadd_{unit.products}way_to_f{bits}.txt"))
    counted = [row for row in rows if row[0] in FP8 and row[1] in FP8 and int(row[3]) == saturating]
    counted = [row for row in counted if unit.scale or int(row[2]) & (15 if bits == 16 else 127) == 0]
    assert len(counted) > 300
    for formats in itertools.product(FP8, repeat=2):
        own = [row for row in counted if (row[0], row[1]) == formats]
        names = [FP8[code] for code in formats]
        ports = lanes(unit, names, sums.codes(row[4] for row in own), sums.codes(row[5] for row in own))
        if unit.scale is not None:
            one = unit.scale.code_of(Fraction(1))
            ports |= {"a_scale": one - (np.array([int(row[2]) for row in own]) & 15), "b_scale": np.full(len(own), one)}
        got = circuit(unit)(c=sums.words(row[6] for row in own), **ports)
        assert np.array_equal(got["result"], sums.words(row[7] for row in own))


@pytest.mark.parametrize("name", ["dot2_fp16_arm", "dot4_fp32_ocp", "fma_fp32_ocp"])
def test_dot_products_are_those_of_arm(name: str) -> None:
    """`arm_fdot4` says of four products what `fma_fp32(G=4)` says, and FMLALL is a fused multiply-add."""
    arm(dot_unit(name), saturating=False)


@pytest.mark.parametrize("overflow", ["inf", "saturate"])
def test_scaled_dot_products_are_those_of_arm(overflow: str) -> None:
    """LSCALE is the exponent of one operand's scale, the other's is 1; OSM is the engine's overflow."""
    unit = dot_unit("dot2_fp16_arm")
    engine = fp9.engine(f"arm_fdot2(overflow={overflow})")
    arm(replace(unit, engine=engine, scale=fp9.format("e8m0")), saturating=overflow == "saturate")


def ace_rows(kinds: str) -> list[list[str]]:
    """Rows of TOP4MX as Bochs does it, but those with a NaN in C (disputed)."""
    rows = casts.lines(reference("isa", "x86", f"ace_top4mx_{kinds}.txt"))
    return [row for row in rows if int(row[4], 16) & 0x7FFFFFFF <= 0x7F800000]


def ace(unit: Dot, formats: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows of both scales, codes of a and of b, addend and result."""
    scale_a, scale_b, a, b, c, want = zip(*rows, strict=True)
    ports = {"a_scale": sums.words(scale_a), "b_scale": sums.words(scale_b), "c": sums.words(c)}
    got = circuit(unit)(**ports, **lanes(unit, formats, sums.codes(a), sums.codes(b)))
    assert np.array_equal(got["result"], sums.words(want))


@pytest.mark.parametrize("kinds", ["bb", "bh", "hb", "hh", "i8"])
def test_scaled_dot_products_are_those_of_ace(kinds: str) -> None:
    """Codes of infinities and NaN count as numbers (disputed)."""
    rows = ace_rows(kinds)
    assert len(rows) > 1900
    a, b = ("mxint8", "mxint8") if kinds == "i8" else (sums.NUMBERS[letter] for letter in kinds)
    ace(replace(dot_unit("dot4_fp32_ace"), a=(fp9.format(a),), b=(fp9.format(b),)), (a, b), rows)


@pytest.mark.parametrize("kinds", ["bb", "bh", "hb", "hh"])
def test_the_unit_of_ace_gives_every_row_that_is_not_disputed(kinds: str) -> None:
    """Without codes of infinities and NaN, which the unit takes as its formats say."""
    formats = [sums.X86[letter] for letter in kinds]
    finite = [np.isfinite(fp9.format(name).table) for name in formats]
    rows = [
        row for row in ace_rows(kinds) if all(f[sums.codes([x])].all() for f, x in zip(finite, row[2:4], strict=True))
    ]
    assert len(rows) > 1800
    ace(dot_unit("dot4_fp32_ace"), formats, rows)


@pytest.mark.parametrize("kinds", ["bb", "bh", "hb", "hh"])
def test_dot_products_are_those_of_amx(kinds: str) -> None:
    """TDP[B][H]F8PS as Bochs does it, of 4 products; an instruction of 64 has the same in a wider sum."""
    rows = casts.lines(reference("isa", "x86", f"amxfp8_tdp_{kinds}_k4.txt"))
    assert len(rows) > 900
    both = (fp9.format("e4m3"), fp9.format("e5m2"))
    unit = Dot("amx", both, both, fp9.engine("amx_fp8(G=4, L=4)"))
    a, b, c, want = zip(*rows, strict=True)
    ports = lanes(unit, [sums.X86[letter] for letter in kinds], sums.codes(a), sums.codes(b))
    assert np.array_equal(circuit(unit)(c=sums.words(c), **ports)["result"], sums.words(want))


def dot_unit(name: str) -> Dot:
    unit = CATALOGUE[name]
    assert isinstance(unit, Dot)
    return unit


def rvbna(n: int, formats: Sequence[str], x: Columns) -> None:
    unit = dot_unit(RVBNA[n])
    got = circuit(unit)(c=x["c"], **lanes(unit, formats, x["a"], x["b"]))
    assert np.array_equal(got["result"], x["result"])


@pytest.mark.slow
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
