"""Comparison of numbers printed in papers about formats with the numbers that fp9 computes.

Sources: Graphcore, Table 1 (Noune et al., arXiv 2206.02915), the ranges of HFP8 (Sun et al., NeurIPS 2019), and
HiFloat8, Tables 2 to 4 (Luo et al., arXiv 2409.16626).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fp9.formats import FixedFormat, HiFloat8, Kind, floor_log2, format


@dataclass(frozen=True, slots=True)
class Figure:
    """Number that a paper prints, and the number that fp9 computes."""

    table: str
    row: str
    quantity: str
    computed: str
    printed: str

    @property
    def agrees(self) -> bool:
        return self.computed == self.printed


def figures() -> list[Figure]:
    return [*_graphcore(), *_hfp8(), *_hif8_dot_field(), *_hif8_denormals(), *_hif8_typical()]


_GRAPHCORE_TABLE_1 = {
    # format: dynamic range in dB, SNR in dB, as printed
    "fp32": ("1667.7", "151.9"),
    "fp16": ("240.8", "73.7"),
    "bf16": ("1571.3", "55.6"),
    "dlfloat16": ("385.3", "67.6"),
    "f152": ("197.5", "25.5"),
    "f143": ("107.8", "31.5"),
    "f134": ("66.0", "37.5"),
}


def dynamic_range(fmt: FixedFormat) -> float:
    """Return 20 log10(largest number / smallest number), in dB."""
    ratio = fmt.max_magnitude / fmt.value_of(fmt.smallest_code)
    return 20 * (math.log10(ratio.numerator) - math.log10(ratio.denominator))


def signal_to_noise(fmt: FixedFormat) -> float:
    """Return a format's signal-to-noise ratio in dB, which is 7.44 + 6.02 p for p significand bits (Graphcore)."""
    # The p significand bits include the hidden bit.
    return 7.44 + 6.02 * (fmt.fraction_bits + 1)


def _graphcore() -> Iterator[Figure]:
    for name, (decibels, noise) in _GRAPHCORE_TABLE_1.items():
        fmt = format(name)
        assert isinstance(fmt, FixedFormat)
        row = f"1.{fmt.exponent_bits}.{fmt.fraction_bits} ({name})"
        yield Figure("Graphcore 1", row, "dynamic range, dB", f"{dynamic_range(fmt):.1f}", decibels)
        yield Figure("Graphcore 1", row, "SNR, dB", f"{signal_to_noise(fmt):.1f}", noise)


def _hfp8() -> Iterator[Figure]:
    # The paper treats the codes of zero and NaN-Inf as numbers: the smallest is 2^-bias, the largest has only 1 bits.
    for bias, smallest, largest in ((0, "2^-7", "480"), (4, "2^-11", "30")):
        fmt = format(f"hfp8_143(bias={bias},reserve_top=False)")
        assert isinstance(fmt, FixedFormat)
        row = f"1.4.3, extra bias {bias}, reserve_top=False"
        yield Figure("HFP8", row, "smallest", f"2^{fmt.lowest_exponent}", smallest)
        yield Figure("HFP8", row, "largest", f"{fmt.max:g}", largest)


_HIF8_TABLE_2 = (
    # dot field, exponent bits, fraction bits, magnitudes of the exponent, as printed
    ("11", 4, 1, "8..15"),
    ("10", 3, 2, "4..7"),
    ("01", 2, 3, "2..3"),
    ("001", 1, 3, "1..1"),
    ("0001", 0, 3, "0..0"),
)


def _hif8_dot_field() -> Iterator[Figure]:
    fmt = HiFloat8()
    for prefix, dot, fraction, sizes in _HIF8_TABLE_2:
        codes = [c for c in range(0x80) if f"{c:07b}".startswith(prefix) and fmt.kind_of(c) is Kind.FINITE]
        exponents = sorted({abs(floor_log2(fmt.value_of(code))) for code in codes})
        steps = {fmt.fraction_bits_at(floor_log2(fmt.value_of(code))) for code in codes}
        row = f"dot {prefix}, D = {dot}"
        yield Figure("HiF8 2", row, "|exponent|", f"{exponents[0]}..{exponents[-1]}", sizes)
        yield Figure("HiF8 2", row, "fraction bits", ",".join(map(str, steps)), str(fraction))


def _hif8_denormals() -> Iterator[Figure]:
    for m in range(1, 8):
        computed = f"2^{floor_log2(HiFloat8().value_of(m))}"
        yield Figure("HiF8 3", f"dot 0000, M = {m}", "value", computed, f"2^{m - 23}")


def _hif8_typical() -> Iterator[Figure]:
    fmt = HiFloat8()
    exponents = {floor_log2(fmt.value_of(int(code))) for code in fmt.ordered_magnitudes()[1:]}
    nan = [code for code in range(256) if fmt.kind_of(code) is Kind.NAN]
    inf = [code for code in range(256) if fmt.kind_of(code) is Kind.INF]
    smallest_normal = math.frexp(fmt.smallest_normal)[1] - 1
    for quantity, computed, printed in (
        ("zero", f"0x{fmt.code_of(fmt.value_of(0) * 0):02X}", "0x00"),
        ("NaN", ", ".join(f"0x{code:02X}" for code in nan), "0x80"),
        ("infinities", ", ".join(f"0x{code:02X}" for code in inf), "0x6F, 0xEF"),
        ("largest", f"2^{floor_log2(fmt.max_magnitude)} at 0x{fmt.max_code:02X}", "2^15 at 0x6E"),
        ("smallest normal", f"2^{smallest_normal}", "2^-15"),
        ("smallest denormal", f"2^{floor_log2(fmt.value_of(fmt.smallest_code))}", "2^-22"),
        ("binades", str(len(exponents)), "38"),
    ):
        yield Figure("HiF8 4", "typical values", quantity, computed, printed)
