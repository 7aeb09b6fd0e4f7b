"""Faults of an exponent field are explained, and what remains is grouped with a simple operation of each group."""

from __future__ import annotations

import numpy as np
import pytest

from fp9.casts.arrays import encode
from fp9.formats import fixed_format
from fp9.formats.policy import cast_policy
from fp9.units import Dot
from fp9.units.toml import build
from fp9.vectors import VectorSet, from_inputs
from fp9_compare.diagnosis import Narrowed, explain
from fp9_compare.diagnosis.clusters import clusters

E4M3 = fixed_format("e4m3")


def products() -> VectorSet:
    """Every product of two E4M3 numbers, rounded once to E4M3."""
    engine = {"result": {"format": "fp32", "rounding": "rto"}}
    fma = build({"kind": "fma", "name": "mine", "a": "e4m3", "b": "e4m3", "engine": engine, "flags": False})
    assert isinstance(fma, Dot)
    unit = Narrowed("mine", fma, E4M3, cast_policy(E4M3, None, "saturate", False, False), 0)
    a, b = (column.ravel() for column in np.meshgrid(np.arange(256), np.arange(256)))
    return from_inputs(unit, {"a": a, "b": b, "c": np.full(a.shape, 1 << 31)})


def sloppy(made: VectorSet, carries: bool) -> np.ndarray:  # type: ignore[type-arg]
    """A multiplier of the field's usual mistakes: hidden one for every exponent, no limits, and no NaN."""
    a, b = (made.inputs[name].astype(np.int64) for name in "ab")
    significand = (8 | a & 7) * (8 | b & 7)
    exponent = (a >> 3 & 15) + (b >> 3 & 15) - 7 + (significand >= 128)
    shift = np.where(significand >= 128, 4, 3)
    kept, rest, half = significand >> shift, significand & ((1 << shift) - 1), 1 << (shift - 1)
    kept = kept + ((rest > half) | (rest == half) & (kept & 1 == 1))
    exponent += (kept == 16) & carries
    magnitude = (exponent & 15) << 3 | kept & 7
    zero = (a & 127 == 0) | (b & 127 == 0)
    return ((a ^ b) & 128 | np.where(zero, 0, magnitude)).astype(np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("carries", [True, False])
def test_a_multiplier_without_limits_is_explained(carries: bool) -> None:
    made = products()
    found = explain(made, {"result": sloppy(made, carries)}, any_nan=True)
    assert found.mismatches > 20_000
    assert not found.unexplained
    said = " ".join(each.says for each in found.explanations)
    assert "its exponent wraps around" in said
    assert ("a carry from rounding does not reach" in said) != carries


def test_what_remains_is_grouped_by_classes() -> None:
    made = products()
    a, b = made.inputs["a"], made.inputs["b"]
    groups = clusters(made, (a == 0x7F) & (b < 4) | (a == 0x38) & (b > 0x30) & (b < 0x78))
    assert [group.operations for group in groups] == [0x78 - 0x31, 3, 1]
    assert groups[0].says == "a normal, b normal, expected result normal"
    assert (a[groups[0].simplest], b[groups[0].simplest]) == (0x38, 0x40)
    assert groups[1].says == "a NaN, b subnormal, expected result NaN"


def early(a: int, b: int) -> float:
    """The sum of two E4M3 codes, rounded to a multiple of the larger operand's last place, with three guard bits."""
    parts = [(-1 if code & 128 else 1, 8 * (code & 120 > 0) | code & 7, max(code >> 3 & 15, 1)) for code in (a, b)]
    top = max(exponent for _, _, exponent in parts)
    total = sum(sign * (significand << 3 >> (top - exponent)) for sign, significand, exponent in parts)
    kept, rest = divmod(abs(total), 8)
    kept += rest > 4 or (rest == 4 and kept % 2)
    return float((kept if total >= 0 else -kept) * 2.0 ** (top - 10))


@pytest.mark.slow
def test_an_adder_that_rounds_before_it_normalises_is_explained() -> None:
    engine = {"result": {"format": "fp32", "rounding": "rto"}, "step": {"products": 2}}
    dot = build({"kind": "dot", "name": "mine", "a": "e4m3", "b": "e4m3", "engine": engine, "flags": False})
    assert isinstance(dot, Dot)
    unit = Narrowed("mine", dot, E4M3, cast_policy(E4M3, None, "saturate", False, False), 0)
    a, b = (column.ravel() for column in np.meshgrid(np.arange(0, 256, 3), np.arange(256)))
    ones, zeros = np.full(a.shape, 0x38), np.full(a.shape, 1 << 31)
    made = from_inputs(unit, {"a0": a, "a1": b, "b0": ones, "b1": ones, "c": zeros})
    theirs = encode(np.array([early(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]), "e4m3")
    sound = ~np.isnan(E4M3.table[a]) & ~np.isnan(E4M3.table[b]) & (theirs & 127 != 0)
    answers = {"result": np.where(sound, theirs, made.expected["result"]).astype(np.uint8)}
    found = explain(made, answers)
    assert found.mismatches > 500
    assert not found.unexplained
    assert "it keeps 3 more bits of the smaller operand" in found.explanations[0].says
