"""int8 operands of units (GC 1.0.7): sums are NumPy's, and a multiplier is as wide as its side's formats ask for."""

from __future__ import annotations

import numpy as np
import pytest

from fp9.formats import Rounding, format
from fp9.golden import evaluate
from fp9.units import CATALOGUE, Cast, Decoder, significand_bits

INT8 = format("int8")


def test_sums_of_integer_products_are_those_of_numpy() -> None:
    unit = CATALOGUE["dot4_fp32_int8"]
    rng = np.random.default_rng(5)
    inputs = {port.name: rng.integers(0, 256, 5000).astype(np.uint8) for port in unit.inputs if port.name != "c"}
    inputs["a0"][0] = inputs["b0"][0] = 0x80  # -128, which no cast produces
    addend = rng.integers(-(1 << 20), 1 << 20, 5000).astype(np.float32)
    wanted = addend.astype(np.int64)
    for lane in "0123":
        a, b = (inputs[f"{operand}{lane}"].view(np.int8).astype(np.int64) for operand in "ab")
        wanted += a * b
    results = evaluate(unit, inputs | {"c": addend.view(np.uint32)})
    assert np.array_equal(results["result"].view(np.float32).astype(np.int64), wanted)
    assert not results["flags"].any()


def test_all_integers_are_decoded() -> None:
    results = evaluate(Decoder("d", (INT8,)), {"code": np.arange(256, dtype=np.uint8)})
    exponents = np.where(results["exponent"] < 8, results["exponent"], results["exponent"] - 16).astype(int)
    magnitudes = results["significand"] * np.exp2(exponents - 6)
    numbers = np.where(results["sign"], -magnitudes, magnitudes)
    assert np.array_equal(numbers, np.arange(256, dtype=np.uint8).view(np.int8))


def test_significands_are_as_wide_as_the_formats_ask_for() -> None:
    assert significand_bits((format("e4m3"), format("hif8"))) == 4
    assert significand_bits((format("e4m3"), INT8)) == 7


def test_a_cast_to_a_format_without_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="give 8-bit formats with a NaN"):
        Cast("c", format("fp32"), (INT8,), (Rounding.RNE,))
