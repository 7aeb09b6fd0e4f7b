"""Casts of instruction sets: what IEEE 754 and their manuals say of overflow and NaN, and rows of their reference.

Some rows of Spike are in `zvfofp8min.json`. All are at hand only where `tests.outside` finds them:
`isa/riscv/zvfofp8min_*.txt` is of riscv-isa-sim, `isa/arm/fpconvertfp8_*.txt` worked out from Arm's pseudo-code,
`isa/x86/*_cvt_*.txt` from Bochs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.outside import reference
from tests.rosters import DETERMINISTIC, TARGETS

import fp9
from fp9.formats import Format, Kind
from fp9.oracle import casts as oracle
from fp9.policy import CastPolicy
from fp9.rounding import NanSign, Overflow, Rounding

COMMITTED: dict[str, Any] = json.loads(Path(__file__).with_name("zvfofp8min.json").read_text())
FRM = ("rne", "rtz", "rdn", "rup", "rna")
"""RISC-V's rounding modes, in the order of their codes."""


def numbers(words: Iterable[str], source: str) -> NDArray[np.floating]:
    """Patterns in hex as numbers; bf16 as FP32, which holds it."""
    patterns = np.array([int(word, 16) for word in words])
    if source == "f16":
        return patterns.astype(np.uint16).view(np.float16)
    return (patterns << (16 if source == "bf16" else 0)).astype(np.uint32).view(np.float32)


def lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()]


def hexadecimal(words: Iterable[str]) -> NDArray[np.int64]:
    return np.array([int(word, 16) for word in words])


# --- what the documents say -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounding", "e4m3", "e5m2"),
    [
        # Zvfofp8min: 448 and 57344 where the direction is toward zero, else NaN without a sign and infinity.
        ("rne", (0x7F, 0x7F), (0x7C, 0xFC)),
        ("rtz", (0x7E, 0xFE), (0x7B, 0xFB)),
        ("rdn", (0x7E, 0x7F), (0x7B, 0xFC)),
        ("rup", (0x7F, 0xFE), (0x7C, 0xFB)),
        ("rna", (0x7F, 0x7F), (0x7C, 0xFC)),
    ],
)
def test_directed_overflow_stays_at_the_largest_number_toward_zero(
    rounding: str, e4m3: tuple[int, int], e5m2: tuple[int, int]
) -> None:
    for name, want in (("e4m3", e4m3), ("e5m2", e5m2)):
        for dtype in (np.float64, np.float32, np.float16):
            big = np.array([61450.0, -61450.0] if name == "e5m2" else [500.0, -500.0], dtype=dtype)
            assert fp9.encode(big, name, rounding, "directed", nan_sign="lost").tolist() == list(want)
        infinite = fp9.encode([np.inf, -np.inf], name, rounding, "directed", nan_sign="lost").tolist()
        assert infinite == ([0x7F, 0x7F] if name == "e4m3" else [0x7C, 0xFC])


def test_the_sign_of_nan_is_kept_kept_by_overflow_or_lost() -> None:
    source = np.array([np.nan, -np.nan, 1e9, -1e9])
    results = {s: fp9.encode(source, "e4m3", "rne", "inf", nan_sign=s).tolist() for s in ("kept", "overflow", "lost")}
    assert results == {
        "kept": [0x7F, 0xFF, 0x7F, 0xFF],
        "overflow": [0x7F, 0x7F, 0x7F, 0xFF],
        "lost": [0x7F, 0x7F, 0x7F, 0x7F],
    }


@pytest.mark.parametrize("fmt", [fmt for fmt in TARGETS if fmt.has_nan], ids=str)
def test_policies_are_the_oracles_in_every_format(fmt: Format) -> None:
    top = float(fmt.max_magnitude)
    source = np.array([np.nan, -np.nan, np.inf, -np.inf, 8 * top, -8 * top, top, -top, 1.0, -1.0])
    kinds = [Kind.NAN] * 2 + [Kind.INF] * 2
    exact = [oracle.Exact(kind, i % 2 == 1) for i, kind in enumerate(kinds)]
    exact += [oracle.exact(x) for x in (8 * fmt.max_magnitude, -8 * fmt.max_magnitude)]
    exact += [oracle.exact(x) for x in (fmt.max_magnitude, -fmt.max_magnitude, 1, -1)]
    for mode, overflow, sign in itertools.product(DETERMINISTIC, Overflow, NanSign):
        want = [oracle.encode(x, fmt, CastPolicy(mode, overflow, nan_sign=sign)) for x in exact]
        codes, flags = fp9.encode(source, fmt, mode, overflow, nan_sign=sign, flags=True)
        assert list(zip(codes.tolist(), flags.tolist(), strict=True)) == [(c, int(f)) for c, f in want]
        assert fp9.encode(source, fmt, mode, overflow, nan_sign=sign).tolist() == codes.tolist()


def test_an_unknown_sign_of_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="sign of NaN 'none' is not known; choose one of kept, overflow, lost"):
        fp9.encode([1.0], "e4m3", nan_sign="none")


@pytest.mark.parametrize("row", COMMITTED["rows"], ids=lambda row: f"{row[0]}-{row[1]}-{FRM[row[2]]}-{row[4]}")
def test_some_risc_v_casts_are_those_of_spike(row: list[Any]) -> None:
    source, target, mode, saturates, pattern, want, raised = row
    overflow, x = "saturate" if saturates else "directed", numbers([pattern], source)
    codes, flags = fp9.encode(x, target, FRM[mode], overflow, nan_sign="lost", flags=True)
    assert codes.tolist() == [int(want, 16)]
    assert not np.isfinite(x).all() or flags.tolist() == [raised]


# --- all rows ---------------------------------------------------------------------------------------------------------


def test_risc_v_casts_are_those_of_spike() -> None:
    """Flags of finite numbers too; the model calls an infinity without a code invalid, and Spike raises nothing."""
    checked = 0
    for path in sorted(reference("isa", "riscv").glob("zvfofp8min_*_to_e?m?.txt")):
        _, source, _, target = path.stem.split("_")
        rows = lines(path)
        for mode, saturates in itertools.product("01234", "01"):
            own = [row for row in rows if (row[1], row[2]) == (mode, saturates)]
            x, want, raised = numbers((r[0] for r in own), source), *(hexadecimal(r[k] for r in own) for k in (3, 4))
            policy = {"overflow": "saturate" if saturates == "1" else "directed", "nan_sign": "lost"}
            codes, flags = fp9.encode(x, target, FRM[int(mode)], **policy, flags=True)
            assert np.array_equal(codes, want)
            assert np.array_equal(fp9.encode(x, target, FRM[int(mode)], **policy), want)
            finite = np.isfinite(x)
            assert np.array_equal(flags[finite], raised[finite])
            checked += len(own)
    assert checked == 184_320


def test_arm_casts_scale_and_round_once() -> None:
    """Arm's NaN of E5M2 is 7E, the model's 7F: they count as one."""
    checked = 0
    for path in sorted(reference("isa", "arm").glob("fpconvertfp8_from_*.txt")):
        source, rows = path.stem.split("_")[-1], lines(path)
        bits = 5 if source == "f16" else 8  # NSCALE, two's complement
        for (code, target), saturates in itertools.product((("0", "e5m2"), ("1", "e4m3")), "01"):
            own = [row for row in rows if (row[0], row[2]) == (code, saturates)]
            x = numbers((r[3] for r in own), "f32" if source == "bf16" and len(own[0][3]) == 8 else source)
            scale = hexadecimal(r[1] for r in own) & ((1 << bits) - 1)
            scale -= (scale >> (bits - 1)) << bits
            overflow = "saturate" if saturates == "1" else "inf"
            codes = fp9.encode(x, target, "rne", overflow, scale=-scale, nan_sign="overflow")
            want = hexadecimal(r[4] for r in own)
            if target == "e5m2":
                want[np.isnan(x)] = 0x7F
            assert np.array_equal(codes, want)
            checked += len(own)
    assert checked == 5_970


def test_x86_casts_keep_the_sign_of_nan() -> None:
    """Of FP32 subnormals, which become zero there, and NaN of E5M2, whose payload is kept there, nothing is asked."""
    checked = 0
    for path in sorted(reference("isa", "x86").glob("*_cvt_f*_to_e?m?.txt")):
        source, target = path.stem.split("_")[2], path.stem[-4:]
        rows = lines(path)
        for key in sorted({tuple(row[1:-1]) for row in rows}):
            own = [row for row in rows if tuple(row[1:-1]) == key]
            x = numbers((r[0] for r in own), source)
            rounding = Rounding.RTO if "rto" in key else Rounding.RNE
            codes = fp9.encode(x, target, rounding, "saturate" if key[-1] == "1" else "inf")
            flushed = (source == "f32") & (np.abs(x) < np.finfo(np.float32).smallest_normal) & (x != 0)
            asked = ~flushed & ~((target == "e5m2") & np.isnan(x))
            assert np.array_equal(codes[asked], hexadecimal(r[-1] for r in own)[asked])
            checked += int(asked.sum())
    assert checked > 19_000
