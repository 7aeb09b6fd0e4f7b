"""Messages about codes that differ name the likely cause."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fp9
from fp9.testing import assert_equal_bits


def _fp32(*codes: int) -> Any:
    return np.array(codes, np.uint32).view(np.float32)


CASES = {
    "codes of NaN": (_fp32(0x7FFFFFFF, 0x3F800000), _fp32(0x7FC00000, 0x3F800000), "fp32"),
    "signs of zeros": (np.float32([0.0, 1.0]), np.float32([-0.0, 1.0]), "fp32"),
    "transpose": (np.float32([[1, 2], [3, 4]]), np.float32([[1, 3], [2, 4]]), "fp32"),
    "flushed to zero": (np.float32([0.0, 0.0]), np.float32([1e-40, -1e-41]), "fp32"),
    "saturates": (np.uint8([0x7B, 0xFB]), np.uint8([0x7C, 0xFC]), "e5m2"),
    "gives infinity": (np.uint8([0x7C, 0xFC]), np.uint8([0x7B, 0xFB]), "e5m2"),
    "power of two": (np.float32([2.0, 3.0, 5.0]), np.float32([1.0, 1.5, 2.5]), "fp32"),
    "rounds toward zero": (_fp32(0x3F800001, 0x40000007), _fp32(0x3F800002, 0x40000008), "fp32"),
    "neighbours of the expected": (_fp32(0x3F800003, 0x40000007), _fp32(0x3F800002, 0x40000008), "fp32"),
    "another accumulator": (np.float32([1.0, 7.0, 3.0]), np.float32([1.5, 6.0, 4.0]), "fp32"),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_message_names_the_likely_cause(cause: str) -> None:
    with pytest.raises(AssertionError, match=f"likely cause: .*{cause}"):
        assert_equal_bits(*CASES[cause])


def test_equal_bits_pass_and_the_first_differences_are_decoded() -> None:
    codes = np.arange(256, dtype=np.uint8)
    assert_equal_bits(codes, codes.copy(), "e4m3")
    with pytest.raises(AssertionError, match=r"\[56\]: 0x38 \(1.0\) expected, 0xb8 \(-1.0\) given(.|\n)*and 195 more"):
        assert_equal_bits(np.where(codes < 56, codes, codes ^ 0x80), codes, "e4m3")


def test_other_shapes_and_types_are_refused() -> None:
    with pytest.raises(ValueError, match=r"actual of shape \(2,\) given"):
        assert_equal_bits(np.zeros(2, np.uint8), np.zeros(3, np.uint8), "e4m3")
    with pytest.raises(TypeError, match="codes of e4m3 are unsigned integers"):
        assert_equal_bits(np.zeros(2, np.float32), np.zeros(2, np.uint8), "e4m3")


def test_torch_tensors_are_compared() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0]).bfloat16()
    assert_equal_bits(x, fp9.encode([1.0, 2.0], "bf16"), "bf16")
