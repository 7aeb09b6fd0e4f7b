"""Presets of instruction sets against rows of their reference: a few are committed, and all where they are at hand.

`instruction_sets.json` says of each where its rows are from. The whole sets are `isa/riscv/rvbna_dot.npz`, computed by
riscv-isa-sim, `isa/arm/fp8dotadd_*.txt`, worked out from the published pseudo-code, and `isa/x86/amxfp8_*.txt` and
`isa/x86/ace_top4mx_*.txt`, worked out from Bochs (see `tests.support.outside`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.outside import reference

import fp9
from fp9.formats.rounding import Flags

COMMITTED: dict[str, Any] = json.loads(Path(__file__).with_name("instruction_sets.json").read_text())
FP8 = ("e4m3", "e5m2")
ARM = {
    # FP8DotAddFP of so many products to FP16 or FP32.
    "1f16": "fma_fp16",
    "2f16": "arm_fdot2",
    "4f16": "arm_fmmla4",
    "1f32": "fma_fp32",
    "2f32": "fma_fp32(G=2)",
    "4f32": "arm_fdot4",
    "8f32": "arm_fmmla8",
}


def codes(rows: Iterable[str]) -> NDArray[np.uint8]:
    return np.array([list(bytes.fromhex(row)) for row in rows], dtype=np.uint8)


def words(rows: Iterable[str]) -> NDArray[np.int64]:
    return np.array([int(row, 16) for row in rows])


# --- RISC-V -----------------------------------------------------------------------------------------------------------


def check_rvbna(n: int, formats: Sequence[str], x: dict[str, NDArray[Any]]) -> None:
    a, b = formats
    assert np.array_equal(fp9.dot(x["a"], x["b"], a, b, f"rvbna{n}(chunk=none)"), x["dot"])
    assert np.array_equal(fp9.dot(x["a"], x["b"], a, b, f"rvbna{n}", x["c"]), x["result"])


@pytest.mark.parametrize("row", COMMITTED["rvbna"]["rows"], ids=lambda row: f"{row[0]}-{row[6]}")
def test_bulk_normalised_sums_are_those_of_spike(row: list[Any]) -> None:
    n, format_a, format_b, a, b, *numbers = row
    named = dict(zip(("c", "dot", "result"), (words([x]) for x in numbers), strict=True))
    check_rvbna(n, (format_a, format_b), {"a": codes([a]), "b": codes([b])} | named)


def rvbna_rows() -> Iterator[tuple[str, int]]:
    """Compare all rows; the presets and how many there were.

    NV is compared where neither C nor an operand is NaN: the model has no signalling NaN, and one is quiet.
    """
    with np.load(reference("isa", "riscv", "rvbna_dot.npz")) as arrays:
        for n, *formats in itertools.product((4, 8, 16, 32), FP8, FP8):
            name = f"n{n}_{formats[0]}_{formats[1]}"
            x = {key: arrays[f"{name}_{key}"] for key in ("a", "b", "c", "dot", "result", "flags")}
            check_rvbna(n, formats, x)
            _, flags = fp9.dot(x["a"], x["b"], *formats, f"rvbna{n}", x["c"], flags=True)
            nan = np.isnan(x["c"].view(np.float32))
            for key, fmt in zip("ab", formats, strict=True):
                nan |= np.isnan(fp9.decode(x[key], fmt)).any(axis=1)
            reported = flags & (Flags.INVALID | Flags.OVERFLOW)
            assert np.array_equal(reported[~nan], x["flags"][~nan])
            yield f"rvbna{n}", len(nan)


def test_all_bulk_normalised_sums_are_those_of_spike() -> None:
    assert sum(count for _, count in rvbna_rows()) == 32_000


def test_a_bit_below_the_window_is_jammed_into_its_last_place() -> None:
    """4 products leave 25 bits below the largest: 2^-32 beside 1 becomes 2^-25, and round to odd keeps its trace."""
    a, b = fp9.encode([[1.0, 2.0**-16, 0, 0]], "e5m2"), fp9.encode([[1.0, 2.0**-16, 0, 0]], "e5m2")
    assert fp9.dot(a, b, "e5m2", "e5m2", "rvbna4").tolist() == [0x3F800001]
    assert fp9.dot(a, b, "e5m2", "e5m2", "rvbna4(truncation=zero)").tolist() == [0x3F800000]


# --- Arm --------------------------------------------------------------------------------------------------------------


def check_arm(ways: str, formats: Sequence[str], saturates: bool, rows: Sequence[Sequence[Any]]) -> None:
    """Rows of LSCALE, codes of a and of b, addend and result."""
    scale, a, b, c, want = zip(*rows, strict=True)
    name = ARM[ways]
    chosen = fp9.engine(
        f"{name.rstrip(')')}{',' if '(' in name else '('}overflow={'saturate' if saturates else 'inf'})"
    )
    used = np.array(scale) & (15 if ways.endswith("f16") else 127)  # LSCALE<3:0> for FP16
    addend = chosen.addend_format
    got = fp9.dot(codes(a), codes(b), *formats, chosen, words(c), format_c=addend, scale_a=-used)
    assert np.array_equal(got, words(want))


@pytest.mark.parametrize("row", COMMITTED["arm"]["rows"], ids=lambda row: f"{row[0]}-{row[-1]}")
def test_arm_dot_products_are_one_exact_sum(row: list[Any]) -> None:
    ways, format_a, format_b, scale, saturates, *rest = row
    check_arm(ways, (format_a, format_b), bool(saturates), [(scale, *rest)])


def arm_rows() -> Iterator[tuple[str, int]]:
    """Compare all rows; the presets and how many there were."""
    names = {"0": "e5m2", "1": "e4m3"}  # F8S1, F8S2; other values name no format
    for path in sorted(reference("isa", "arm").glob("fp8dotadd_*.txt")):
        ways = path.stem.split("_")[1][0] + path.stem.split("_")[-1]
        rows = [line.split() for line in path.read_text().splitlines()]
        for first, second, saturates in itertools.product(names, names, "01"):
            own = [(int(r[2]), *r[4:]) for r in rows if (r[0], r[1], r[3]) == (first, second, saturates)]
            check_arm(ways, (names[first], names[second]), saturates == "1", own)
            yield ARM[ways], len(own)


def test_all_arm_dot_products_are_one_exact_sum() -> None:
    assert sum(count for _, count in arm_rows()) == 13_886


# --- x86 --------------------------------------------------------------------------------------------------------------

X86 = {"b": "e5m2", "h": "e4m3"}
NUMBERS = {"b": "1.5.2,b=15,specials=finite", "h": "1.4.3,b=7,specials=finite"}
"""ACE's operands as Bochs reads them, codes of infinities and NaN as numbers; that is disputed."""


def check_x86(preset: str, formats: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows of E8M0 scales, codes of a and of b, addend and result."""
    scale_a, scale_b, a, b, c, want = zip(*rows, strict=True)
    scales: dict[str, Any] = {}
    if preset == "ace_top4mx":
        scales = {"scale_a": codes(scale_a), "scale_b": codes(scale_b), "scale_format": "e8m0", "block": 4}
    assert np.array_equal(fp9.dot(codes(a), codes(b), *formats, preset, words(c), **scales), words(want))


@pytest.mark.parametrize("row", COMMITTED["x86"]["rows"], ids=lambda row: f"{row[0]}-{row[5][:8]}-{row[-1]}")
def test_x86_dot_products_are_one_exact_sum_and_one_addition(row: list[str]) -> None:
    check_x86(row[0], row[1:3], [row[3:]])


def x86_rows() -> Iterator[tuple[str, int]]:
    """Compare all rows but those of ACE with a NaN in C, which Bochs keeps and an independent port does not (disputed);
    the presets and how many there were."""
    for path in sorted(reference("isa", "x86").glob("amxfp8_tdp_*.txt")):
        rows = [["7f", "7f", *line.split()] for line in path.read_text().splitlines()]
        check_x86("amx_fp8", [X86[letter] for letter in path.stem.split("_")[-2]], rows)
        yield "amx_fp8", len(rows)
    for path in sorted(reference("isa", "x86").glob("ace_top4mx_*.txt")):
        kinds = path.stem.split("_")[-1]
        formats = ["mxint8"] * 2 if kinds == "i8" else [NUMBERS[letter] for letter in kinds]
        rows = [line.split() for line in path.read_text().splitlines()]
        rows = [row for row in rows if int(row[4], 16) & 0x7FFFFFFF <= 0x7F800000]
        check_x86("ace_top4mx", formats, rows)
        yield "ace_top4mx", len(rows)


def test_all_x86_dot_products_are_one_exact_sum_and_one_addition() -> None:
    assert sum(count for _, count in x86_rows()) == 14_000 + 9_823


def test_a_tiny_result_becomes_zero_of_its_sign_and_a_subnormal_addend_counts_as_one() -> None:
    """IEEE 754 gives 2^-127 and 2^-140; x86 with FTZ and DAZ (Intel SDM 1, 10.2.3.3 and 10.2.3.4) +-0."""
    small, one = fp9.encode([[2.0**-15], [-(2.0**-15)]], "e5m2"), fp9.encode([[1.0], [1.0]], "e5m2")
    for name, want in (("ace_top4mx", [0x00000000, 0x80000000]), ("fma_fp32", [0x00400000, 0x80400000])):
        minus_zero = np.full(2, 0x80000000)
        got = fp9.dot(small, one, "e5m2", "e5m2", name, minus_zero, scale_a=-112)
        assert got.tolist() == want
    addend = np.array([0x00000200, 0x80000200])
    zero = fp9.encode([[0.0], [0.0]], "e5m2")
    assert fp9.dot(zero, one, "e5m2", "e5m2", "fma_fp32", addend).tolist() == addend.tolist()
    assert fp9.dot(zero, one, "e5m2", "e5m2", "amx_fp8", addend).tolist() == [0, 0]
