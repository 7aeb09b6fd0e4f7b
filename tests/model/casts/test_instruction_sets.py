"""Casts of instruction sets: what IEEE 754 and their manuals say of overflow and NaN, and rows of their reference.

Some rows of Spike are in `zvfofp8min.json`. All are at hand only where `tests.support.outside` finds them:
`isa/riscv/zvfofp8min_*.txt` is of riscv-isa-sim, `isa/arm/fpconvertfp8_*.txt` worked out from Arm's pseudo-code,
`isa/x86/*_cvt_*.txt` from Bochs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.outside import reference
from tests.support.rosters import DETERMINISTIC, TARGETS, thinned

import fp9
from fp9.formats import Format, Kind
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import NanSign, Overflow, Payload, Rounding
from fp9.oracle import casts as oracle

COMMITTED: dict[str, Any] = json.loads(Path(__file__).with_name("zvfofp8min.json").read_text())
ARM_NAN = {"e4m3": 0x7F, "e5m2": 0x7E}
"""Arm's default NaN (DDI0487, FP8DefaultNaN)."""
FRM = ("rne", "rtz", "rdn", "rup", "rna")
"""RISC-V's rounding modes, in the order of their codes."""


def numbers(words: Iterable[str], source: str) -> NDArray[np.floating]:
    """Patterns in hex as numbers; bf16 as FP32, which holds it."""
    patterns = np.array([int(word, 16) for word in words])
    if source == "f16":
        return patterns.astype(np.uint16).view(np.float16)
    return (patterns << (16 if source == "bf16" else 0)).astype(np.uint32).view(np.float32)


QUIET = {"f32": 1 << 22, "bf16": 1 << 6, "f16": 1 << 9}
"""The bit of a NaN's pattern that a signalling one has not."""


def expected_flags(
    patterns: NDArray[np.int64], x: NDArray[Any], source: str, target: str, saturates: Any, raised: NDArray[np.int64]
) -> NDArray[np.int64]:
    """What fp9 raises where Spike raises `raised`, of each row: the two differ in two rules of numerics.md.

    fp9 has no signalling NaN, for which RISC-V raises invalid. An infinity that becomes NaN or a number is invalid in
    fp9, and raises nothing in RISC-V.
    """
    signals = np.isnan(x) & (patterns & QUIET[source] == 0)
    assert (raised[np.isnan(x)] == np.where(signals, 16, 0)[np.isnan(x)]).all() and not raised[np.isinf(x)].any()
    lost = np.isinf(x) & (np.asarray(saturates, dtype=np.bool_) | np.asarray(target == "e4m3"))
    return np.where(signals, 0, np.where(lost, 16, raised))


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


@pytest.mark.every(2)
@pytest.mark.parametrize("fmt", thinned(fmt for fmt in TARGETS if fmt.has_nan), ids=str)
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
    pattern = np.array([int(pattern, 16)])
    assert flags.tolist() == expected_flags(pattern, x, source, target, saturates, np.array([raised])).tolist()


@pytest.mark.parametrize(
    ("dtype", "pattern", "quieted", "kept"),
    [
        # Sign, the upper two bits of the payload, and the quiet bit for all but a kept payload that is not 0.
        (np.float16, 0x7C01, 0x7E, 0x7E),
        (np.float16, 0xFD00, 0xFF, 0xFD),
        (np.float16, 0x7E00, 0x7E, 0x7E),
        (np.float32, 0xFFA00000, 0xFF, 0xFD),
        (np.float32, 0x7FC00001, 0x7E, 0x7E),
    ],
)
def test_payloads_of_nan_are_lost_quieted_or_kept(dtype: Any, pattern: int, quieted: int, kept: int) -> None:
    x = np.array([pattern], dtype=f"u{np.dtype(dtype).itemsize}").view(dtype)
    fmt, source = fp9.format("e5m2"), fp9.format(np.dtype(dtype))
    for payload, want in (("lost", 0x7F | (quieted & 0x80)), ("quieted", quieted), ("kept", kept)):
        assert fp9.encode(x, "e5m2", payload=payload).tolist() == [want]
        policy = CastPolicy(payload=Payload(payload))
        assert oracle.encode(oracle.decode(pattern, source), fmt, policy)[0] == want


def test_a_code_of_nan_is_given_its_sign() -> None:
    source = np.array([np.nan, -np.nan, np.inf])
    assert fp9.encode(source, "e5m2", overflow="inf", nan=0x7E).tolist() == [0x7E, 0xFE, 0x7C]
    assert fp9.encode(source, "e5m2", overflow="inf", nan=0x7E, nan_sign="lost").tolist() == [0x7E, 0x7E, 0x7C]
    for fmt, policy, words in (
        ("e5m2", {"nan": 0x7C}, "nan=0x7c given; give a code of e5m2 that is NaN"),
        ("e4m3", {"payload": "kept"}, "special codes of IEEE 754"),
        ("e5m2", {"payload": "some"}, "choose one of lost, quieted, kept"),
    ):
        with pytest.raises(ValueError, match=words):
            fp9.encode(1.0, fmt, **policy)


def test_subnormal_sources_become_zeros_of_their_sign() -> None:
    """Every FP16 number into bfloat16 and E5M2, whose subnormals reach far below, against the oracle's reading."""
    patterns = np.arange(1 << 16)
    x, source = patterns.astype(np.uint16).view(np.float16), fp9.format("fp16")
    policy = CastPolicy(flush_source=True)
    for name in ("bf16", "e5m2"):
        codes, flags = fp9.encode(x, name, flush_source=True, flags=True)
        assert np.array_equal(fp9.encode(x, name, flush_source=True), codes)
        for code in [*range(0, 0x500), *range(0x8000, 0x8500), 0x7C00, 0x7E00]:
            want = oracle.encode(oracle.read(code, source, policy), fp9.format(name), policy)
            assert (codes[code], flags[code]) == (want[0], int(want[1]))
        assert codes[:0x400].max() == 0


def test_bias_is_added_where_a_normal_number_ends() -> None:
    """Bochs, fp8.cc: 1.75 x 2^-9 in E4M3, whose step is 2^-9 there: the bias meets the bits below 2^-12, not 2^-9."""
    for bias, want in ((0, 1), (255, 1)):
        assert fp9.encode(np.float32(1.75 * 2.0**-9), "e4m3", "bias", random_bits=bias, random_width=8).tolist() == want
    assert fp9.encode(np.float32(1.75 * 2.0**-9), "e4m3", "sr", random_bits=255, random_width=8).tolist() == 2
    assert fp9.encode(np.float32(1.999 * 2.0**-9), "e4m3", "bias", random_bits=255, random_width=8).tolist() == 2


# --- all rows ---------------------------------------------------------------------------------------------------------


def riscv_rows() -> Iterator[int]:
    """Compare codes and flags of all rows. How many there were, here as below."""
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
            patterns = hexadecimal(row[0] for row in own)
            assert np.array_equal(flags, expected_flags(patterns, x, source, target, saturates == "1", raised))
            yield len(own)


def test_risc_v_casts_are_those_of_spike() -> None:
    assert sum(riscv_rows()) == 184_320


def riscv_widening_rows() -> Iterator[int]:
    for path in sorted(reference("isa", "riscv").glob("zvfofp8min_e?m?_to_*.txt")):
        _, source, _, target = path.stem.split("_")
        rows = lines(path)
        narrow = hexadecimal(row[0] for row in rows).astype(np.uint8)
        wide, flags = fp9.cast(
            narrow,
            source,
            target.replace("f16", "fp16").replace("bfp", "bf"),
            overflow="inf",
            nan_sign="lost",
            flags=True,
        )
        assert np.array_equal(wide, hexadecimal(row[1] for row in rows))
        assert not flags.any() and not any(int(row[2]) for row in rows)
        yield len(rows)


def test_risc_v_widening_is_that_of_spike() -> None:
    assert sum(riscv_widening_rows()) == 1_024


def arm_rows() -> Iterator[int]:
    for path in sorted(reference("isa", "arm").glob("fpconvertfp8_from_*.txt")):
        source, rows = path.stem.split("_")[-1], lines(path)
        bits = 5 if source == "f16" else 8  # NSCALE, two's complement
        for (code, target), saturates in itertools.product((("0", "e5m2"), ("1", "e4m3")), "01"):
            own = [row for row in rows if (row[0], row[2]) == (code, saturates)]
            x = numbers((r[3] for r in own), "f32" if source == "bf16" and len(own[0][3]) == 8 else source)
            scale = hexadecimal(r[1] for r in own) & ((1 << bits) - 1)
            scale -= (scale >> (bits - 1)) << bits
            overflow = "saturate" if saturates == "1" else "inf"
            codes = fp9.encode(x, target, "rne", overflow, scale=-scale, nan_sign="overflow", nan=ARM_NAN[target])
            assert np.array_equal(codes, hexadecimal(r[4] for r in own))
            yield len(own)


def test_arm_casts_scale_and_round_once() -> None:
    assert sum(arm_rows()) == 5_970


def arm_widening_rows() -> Iterator[int]:
    for target, wide, bits in (("f16", "fp16", 4), ("bf16", "bf16", 6)):
        rows = lines(reference("isa", "arm", f"fp8convert_to_{target}.txt"))
        for code, source in (("0", "e5m2"), ("1", "e4m3")):
            own = [row for row in rows if row[0] == code]
            scale = np.array([int(row[1]) for row in own]) & ((1 << bits) - 1)
            narrow = hexadecimal(row[2] for row in own).astype(np.uint8)
            codes = fp9.cast(narrow, source, wide, "rne", "inf", scale=scale, nan_sign="lost")
            assert np.array_equal(codes, hexadecimal(row[3] for row in own))
            yield len(own)


def test_arm_widening_scales_and_rounds_once() -> None:
    assert sum(arm_widening_rows()) == 4_000


def x86_options(source: str, target: str, saturates: str) -> dict[str, Any]:
    """x86 keeps payloads of NaN where the target has room, and takes FP32 subnormals for zeros."""
    payload = "quieted" if target == "e5m2" else "lost"
    overflow = "saturate" if saturates == "1" else "inf"
    return {"overflow": overflow, "payload": payload, "flush_source": source == "f32"}


def x86_rows() -> Iterator[int]:
    for path in sorted(reference("isa", "x86").glob("*_cvt_f*_to_e?m?.txt")):
        source, target = path.stem.split("_")[2], path.stem[-4:]
        rows = lines(path)
        for key in sorted({tuple(row[1:-1]) for row in rows}):
            own = [row for row in rows if tuple(row[1:-1]) == key]
            rounding = Rounding.RTO if "rto" in key else Rounding.RNE
            codes = fp9.encode(
                numbers((r[0] for r in own), source), target, rounding, **x86_options(source, target, key[-1])
            )
            assert np.array_equal(codes, hexadecimal(r[-1] for r in own))
            yield len(own)


def test_x86_casts_are_those_of_bochs() -> None:
    assert sum(x86_rows()) == 20_000


def x86_bias_rows() -> Iterator[int]:
    """Compare disputed rows too, but FP32 to E4M3 in [480, 512) with saturation, which gives NaN there (doubtful)."""
    for path in sorted(reference("isa", "x86").glob("*_cvtbias_f*_to_e?m?.txt")):
        source, target = path.stem.split("_")[2], path.stem[-4:]
        width = 8 if source == "f16" else 21 if target == "e5m2" else 20
        for saturates in "01":
            own = [row for row in lines(path) if row[2] == saturates]
            x, bias = numbers((r[0] for r in own), source), hexadecimal(r[1] for r in own) & ((1 << width) - 1)
            options = x86_options(source, target, saturates)
            codes = fp9.encode(x, target, "bias", **options, random_bits=bias, random_width=width)
            want = hexadecimal(r[3] for r in own)
            saturating = (source, target, saturates) == ("f32", "e4m3", "1")
            asked = ~((want & 0x7F == 0x7F) & np.isfinite(x)) | (not saturating)
            assert np.array_equal(codes[asked], want[asked])
            yield int(asked.sum())


def test_x86_casts_with_bias_are_those_of_bochs() -> None:
    assert sum(x86_bias_rows()) == 7_995


def x86_widening_rows() -> Iterator[int]:
    rows = lines(reference("isa", "x86", "avx10_cvt_fp8_to_f16.txt"))
    codes = hexadecimal(row[0] for row in rows).astype(np.uint8)
    for place, source in ((1, "e4m3"), (2, "e5m2")):
        wide = fp9.cast(codes, source, "fp16", overflow="inf", payload="kept")
        assert np.array_equal(wide, hexadecimal(row[place] for row in rows))
        yield len(rows)


def test_x86_widening_keeps_signalling_nan() -> None:
    assert sum(x86_widening_rows()) == 512
