"""Golden results of units against outside arithmetic; `test_reference` compares all of them with exact fractions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import OPERANDS, thinned, together, units

from fp9.engines import ENGINES
from fp9.formats import Format, Kind, Rounding, format
from fp9.formats.rounding import Flags
from fp9.golden import evaluate
from fp9.kernels import fused as dot_kernels
from fp9.sums.general import rounding_of
from fp9.sums.narrow import narrow_sums
from fp9.units import CATALOGUE, Decoder, Fma, significand_bits


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("result", "rounding"),
    [("dlfloat16", "rna"), ("dlfloat16", "rne"), ("fp16", "rne"), ("fp16", "rtz"), ("1.5.6,b=15", "rna")],
)
def test_sums_in_narrow_formats_equal_the_kernel_of_single_steps(result: str, rounding: str) -> None:
    """Every addend, with products on both sides of it and far away: `sum_to_odd` and `round_bits` are other code."""
    fmt, factors = format(result), (format("hfp8_143"), format("e5m2"))
    mode = Rounding(rounding)
    sums = narrow_sums(fmt, mode)
    assert sums is not None
    addends = np.arange(1 << fmt.bits, dtype=fmt.dtype)
    pairs = np.random.default_rng(4).integers(0, 256, (60, 2))
    for a, b in [*pairs, (0x7F, 0x20), (0x00, 0x7C), (0x20, 0x7C), (0x20, 0xFC), (0x00, 0x80), (0x01, 0x01)]:
        columns = [*(np.full(addends.size, code, dtype=np.uint8) for code in (a, b)), addends]
        codes, flags = np.empty_like(addends), np.empty(addends.size, dtype=np.uint8)
        sums.run(factors, columns, codes, flags)
        expected, raised = np.empty_like(addends), np.empty(addends.size, dtype=np.uint8)
        x, y = (f.table[column] for f, column in zip(factors, columns, strict=False))
        dot_kernels.fma_array(*rounding_of(fmt, mode), x, y, fmt.table[addends], expected, raised)
        np.testing.assert_array_equal(codes, expected)
        np.testing.assert_array_equal(flags, raised)


@pytest.mark.every(2)
@pytest.mark.parametrize(("fmt_a", "fmt_b"), thinned(together(OPERANDS, OPERANDS, times=8)), ids=str)
def test_every_product_is_the_host_fpus(fmt_a: Format, fmt_b: Format) -> None:
    """A product of two operands has at most 14 significand bits and is exact in FP32; the rest is one FP32 addition."""
    unit = Fma("pair", (fmt_a,), (fmt_b,), ENGINES["fma_fp32"])
    codes = np.arange(1 << fmt_a.bits), np.arange(1 << fmt_b.bits)
    a, b = (grid.reshape(-1).astype(np.uint8) for grid in np.meshgrid(*codes, indexing="ij"))
    with np.errstate(invalid="ignore"):  # infinity times zero
        product = fmt_a.table.astype(np.float32)[a] * fmt_b.table.astype(np.float32)[b]
    for addend in (0.0, -0.0, 1.0, -3.0e-7, 3.4028235e38, 1e-45):
        c = np.full(a.size, addend, dtype=np.float32)
        got = evaluate(unit, {"a": a, "b": b, "c": c.view(np.uint32)})["result"]
        with np.errstate(over="ignore"):
            want = product + c
        nan = np.isnan(want)
        assert (got[nan] == 0x7FC00000).all()
        assert np.array_equal(got[~nan], want.view(np.uint32)[~nan])


def is_held(fmt: Format, wide: Format) -> bool:
    """Whether the wide format has every number of `fmt`."""
    numbers = fmt.table[np.isfinite(fmt.table)]
    return bool(np.isin(numbers, wide.table).all())


@pytest.mark.parametrize("fmt", [fmt for fmt in OPERANDS if is_held(fmt, format("dlfloat16"))], ids=str)
def test_every_product_of_one_is_the_operand(fmt: Format) -> None:
    """x * 1 + 0 = x, in DLFloat16 too, which holds every number of every format of the papers that is an operand."""
    unit = Fma("identity", (fmt,), (format("e4m3"),), ENGINES["dlfloat"])
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    one = np.full(codes.size, 0x38, dtype=np.uint8)
    got = evaluate(unit, {"a": codes, "b": one, "c": np.zeros(codes.size, dtype=np.uint16)})
    finite = np.isfinite(fmt.table)
    assert np.array_equal(format("dlfloat16").table[got["result"][finite]], fmt.table[finite] + 0.0)
    assert (got["result"][~finite] == 0x7FFF).all()
    assert not got["flags"].any()


def test_a_lone_hfp8_product_is_exact_in_dlfloat16_or_overflows() -> None:
    """numerics.md, sums: it never loses bits, but (1.5 * 2^16)^2 exceeds the largest DLFloat16 number."""
    unit = CATALOGUE["fma_dlfloat16_hfp8_152"]
    a, b = (grid.reshape(-1).astype(np.uint8) for grid in np.meshgrid(np.arange(256), np.arange(256), indexing="ij"))
    got = evaluate(unit, {"a": a, "b": b, "c": np.zeros(a.size, dtype=np.uint16)})
    overflow = np.uint8(Flags.OVERFLOW | Flags.INEXACT)
    assert set(np.unique(got["flags"]).tolist()) == {0, int(overflow)}
    assert (got["result"][got["flags"] == overflow] == 0x7FFF).all()
    largest = format("hfp8_152").max ** 2
    assert largest > format("dlfloat16").max > largest / 2


@pytest.mark.parametrize("unit", units(Decoder), ids=lambda unit: unit.name)
def test_decoder_fields_give_the_value_back(unit: Decoder) -> None:
    for index, fmt in enumerate(unit.formats):
        inputs: dict[str, NDArray[Any]] = {"code": np.arange(256, dtype=np.uint8)}
        if len(unit.formats) > 1:
            inputs["code_format"] = np.full(256, index, dtype=np.uint8)
        if unit.bias_port:
            inputs["code_bias"] = np.full(256, 4, dtype=np.uint8)
        fields = evaluate(unit, inputs)
        half = 1 << (unit.exponent_bits - 1)
        fraction_bits = significand_bits(unit.formats) - 1
        exponent = (fields["exponent"].astype(int) ^ half) - half
        value = np.ldexp(fields["significand"].astype(float), exponent - fraction_bits) * np.where(
            fields["sign"], -1.0, 1.0
        )
        kinds = np.array([fmt.kind_of(code) for code in range(256)])
        assert np.array_equal(fields["nan"] == 1, kinds == Kind.NAN)
        assert np.array_equal(fields["zero"] == 1, kinds == Kind.ZERO)
        number = kinds != Kind.NAN
        finite = number & (kinds != Kind.INF)
        assert np.array_equal(value[finite], fmt.table[finite])
        assert (fields["significand"][kinds == Kind.FINITE] >> fraction_bits == 1).all()


def test_a_bias_outside_its_range_is_named() -> None:
    unit = CATALOGUE["fma_dlfloat16_bias"]
    inputs = {port.name: np.zeros(1, dtype=np.uint32) for port in unit.inputs}
    with pytest.raises(ValueError, match="a_bias 9 given"):
        evaluate(unit, inputs | {"a_bias": np.array([9], dtype=np.uint8)})
