"""IEEE P3109's formats and projections, against the rules of its report and rows worked out from them.

Some rows are in `p3109.json`; all are at hand only where `tests.support.outside` finds `isa/p3109/projection_v4.txt`.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.outside import reference

import fp9
from fp9.formats import Kind
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow, Rounding
from fp9.oracle import casts as oracle

COMMITTED: dict[str, Any] = json.loads(Path(__file__).with_name("p3109.json").read_text())
ROUNDINGS = {
    "ne": Rounding.RNE,
    "na": Rounding.RNA,
    "tp": Rounding.RUP,
    "tn": Rounding.RDN,
    "tz": Rounding.RTZ,
    "odd": Rounding.RTO,
    "sa": Rounding.SR,
    "sb": Rounding.SRB,
    "sc": Rounding.SRC,
}
SATURATIONS = {
    "SatFinite": Overflow.SATURATE,
    "SatPropagate": Overflow.PROPAGATE,
    "SatNone": Overflow.SAT_NONE,
}
NAMES = [
    f"Binary{k}p{p}{sign}{domain}"
    for k in range(3, 9)
    for sign, domain in itertools.product("su", "ef")
    for p in range(1, k + (sign == "u"))
]
"""Section 3.2: 0 < P < K with a sign, 0 < P <= K without."""


def number(name: str, code: int) -> float | Fraction:
    """What a code stands for, in the words of section 4.7.2."""
    k, p, signed, extended = int(name[6]), int(name[8]), name[9] == "s", name[10] == "e"
    bias = 2 ** (k - p - 1) if signed else 2 ** (k - p)
    if code == (2 ** (k - 1) if signed else 2**k - 1):
        return np.nan
    if signed and code > 2 ** (k - 1):
        return -number(name, code - 2 ** (k - 1))
    if extended and code == (2 ** (k - 1) - 1 if signed else 2**k - 2):
        return np.inf
    exponent, trailing = divmod(code, 2 ** (p - 1))
    if exponent == 0:
        return trailing * Fraction(2) ** (2 - p - bias)
    return (1 + trailing * Fraction(2) ** (1 - p)) * Fraction(2) ** (exponent - bias)


@pytest.mark.parametrize("name", NAMES)
def test_every_code_is_what_the_report_says(name: str) -> None:
    fmt = fp9.format(name)
    assert (fmt.name, fmt.bits) == (name.lower(), int(name[6]))
    want = [float(number(name, code)) for code in range(1 << fmt.bits)]
    assert np.array_equal(fmt.table, want, equal_nan=True)
    for code, x in enumerate(want):
        kind = Kind.NAN if np.isnan(x) else Kind.INF if np.isinf(x) else Kind.FINITE if x else Kind.ZERO
        assert fmt.kind_of(code) is kind
        if kind is Kind.FINITE:
            assert fmt.code_of(abs(fmt.value_of(code)), fmt.is_negative(code)) == code


def test_old_names_are_aliases() -> None:
    assert all(fp9.format(f"binary8p{p}") is fp9.format(f"Binary8p{p}se") for p in range(1, 8))


@pytest.mark.parametrize("name", ["binary2p1se", "binary9p3se", "binary8p8se", "binary8p0uf", "binary4p5uf"])
def test_names_that_the_draft_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="give 3 to 8 bits, and a precision of at least 1 and"):
        fp9.format(name)


def projected(rows: Iterable[list[Any]]) -> None:
    """Rows of format, rounding, number of random bits, their integer, saturation, pattern and code."""
    groups = defaultdict(list)
    for name, rounding, width, drawn, saturation, pattern, code in rows:
        groups[name, rounding, int(width), saturation].append((int(drawn), int(pattern, 16), int(code, 16)))
    for (name, rounding, width, saturation), own in groups.items():
        drawn, patterns, codes = (np.array(column) for column in zip(*own, strict=True))
        bits = {"random_bits": drawn, "random_width": width} if width else {}
        x = patterns.astype(np.uint64).view(np.float64)
        got = fp9.encode(x, name, ROUNDINGS[rounding], SATURATIONS[saturation], **bits)
        assert got.tolist() == codes.tolist(), (name, rounding, width, saturation)


@pytest.mark.parametrize("row", COMMITTED["rows"], ids=lambda row: "-".join(str(x) for x in row))
def test_some_projections_are_those_of_the_report(row: list[Any]) -> None:
    projected([row])


def projection_rows() -> Iterator[int]:
    """Compare all rows; how many there were."""
    path = reference("isa", "p3109", "projection_v4.txt")
    rows = [line.split() for line in path.read_text().splitlines()]
    projected(rows)
    yield len(rows)


def test_all_projections_are_those_of_the_report() -> None:
    assert sum(projection_rows()) == 10_000


@pytest.mark.parametrize(
    ("name", "saturation", "rounding", "codes"),
    [
        # 4.7.5 of the report: what 1e9, -1e9, infinity and -infinity become.
        ("Binary4p2se", "saturate", "rne", [0x6, 0xE, 0x6, 0xE]),
        ("Binary4p2se", "propagate", "rne", [0x6, 0xE, 0x7, 0xF]),
        ("Binary4p2se", "sat_none", "rne", [0x7, 0xF, 0x7, 0xF]),
        ("Binary4p2se", "sat_none", "rup", [0x7, 0xE, 0x7, 0xF]),
        ("Binary4p2se", "sat_none", "rtz", [0x6, 0xE, 0x7, 0xF]),
        ("Binary4p2sf", "sat_none", "rne", [0x7, 0xF, 0x7, 0xF]),
        ("Binary4p2ue", "sat_none", "rne", [0xE, 0xF, 0xE, 0xF]),
        ("Binary4p2ue", "sat_none", "rto", [0xD, 0xF, 0xE, 0xF]),
        ("Binary4p2ue", "sat_none", "rtz", [0xD, 0x0, 0xE, 0xF]),
        ("Binary4p2ue", "propagate", "rne", [0xD, 0x0, 0xE, 0x0]),
        ("Binary4p2uf", "saturate", "rne", [0xE, 0x0, 0xE, 0x0]),
    ],
)
def test_saturation_is_one_of_three(name: str, saturation: str, rounding: str, codes: list[int]) -> None:
    assert fp9.encode([1e9, -1e9, np.inf, -np.inf], name, rounding, saturation).tolist() == codes


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(NAMES),
    rounding=st.sampled_from(sorted(ROUNDINGS)),
    overflow=st.sampled_from(list(Overflow)),
    width=st.integers(1, 12),
    seed=st.integers(0, 1 << 32),
)
def test_projections_are_the_oracles(name: str, rounding: str, overflow: Overflow, width: int, seed: int) -> None:
    fmt, mode, rng = fp9.format(name), ROUNDINGS[rounding], np.random.default_rng(seed)
    near = rng.choice(fmt.table[np.isfinite(fmt.table)], 20) + fmt.smallest * rng.integers(-8, 9, 20) / 16
    source = np.concatenate([near, rng.standard_normal(8) * fmt.max, [np.nan, np.inf, -np.inf, 0.0, -0.0]])
    drawn = rng.integers(0, 1 << width, source.size)
    bits = {"random_bits": drawn, "random_width": width} if mode.needs_bits else {}
    codes, flags = fp9.encode(source, fmt, mode, overflow, flags=True, **bits)
    policy = CastPolicy(mode, overflow)
    want = [
        oracle.encode(_exact(x), fmt, policy, oracle.RandomBits(int(r), width) if mode.needs_bits else None)
        for x, r in zip(source.tolist(), drawn, strict=True)
    ]
    assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == [(code, int(raised)) for code, raised in want]
    assert np.array_equal(fp9.encode(source, fmt, mode, overflow, **bits), codes)


def _exact(x: float) -> oracle.Exact:
    if np.isfinite(x):
        return oracle.exact(Fraction(x), bool(np.signbit(x)))
    return oracle.Exact(Kind.INF if np.isinf(x) else Kind.NAN, bool(np.signbit(x)))
