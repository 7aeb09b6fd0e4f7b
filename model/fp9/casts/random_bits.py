"""Random bits for stochastic rounding, from the caller or from a random generator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.sources import check_integer
from fp9.formats import FixedFormat, Format
from fp9.formats.host import BINARY32
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Rng = int | np.integer[Any] | np.random.Generator | np.random.SeedSequence | np.random.BitGenerator
"""Type of the `rng` argument: a seed, or a NumPy source of random integers."""

MAX_WIDTH = 32
_WORD = 32


class Stochastic(Enum):
    """Hardware instructions whose stochastic rounding a cast can reproduce.

    Each hardware instruction has its own rule for the random bits of an element.
    """

    NVIDIA_RS = "nvidia_rs"
    AMD_SR = "amd_sr"
    INTEL_BIAS = "intel_bias"


@dataclass(frozen=True, slots=True)
class RandomBits:
    """Random integers for stochastic rounding: one per element, one per row, or one in total."""

    values: NDArray[Any]
    width: int

    def part(self, part: slice) -> NDArray[Any]:
        return self.values if self.values.shape[0] == 1 else self.values[part]

    def of(self, rows: slice) -> RandomBits:
        return RandomBits(self.part(rows), self.width)


NO_RANDOM = RandomBits(np.zeros((1, 1), dtype=np.int64), 1)
"""Argument of kernels whose rounding mode needs no random bits."""


def random_bits_of(
    policy: CastPolicy,
    given: ArrayLike | None,
    width: int,
    stochastic: Stochastic | str | None,
    shape: tuple[int, ...],
    fmt: Format,
    rng: Rng | None = None,
) -> RandomBits | None:
    """Return the random bits for a source of the given shape, or None if the rounding mode needs no random bits."""
    rounding = policy.rounding_for(fmt)
    if not rounding.needs_bits:
        named = {"random_bits": given, "rng": rng, "stochastic": stochastic}
        for name in (name for name, value in named.items() if value is not None):
            raise ValueError(f"{name} given with rounding {rounding.value}; sr, srb, src and bias take random bits")
        return None
    source = source_of_bits(given, rng, f"rounding {rounding.value}")
    preset = None if stochastic is None else choice(Stochastic, stochastic, "stochastic rule")
    if preset is Stochastic.NVIDIA_RS:
        return _nvidia(_supplied(source, _WORD, _words_of(shape), "words"))
    if preset is Stochastic.AMD_SR:
        if not isinstance(fmt, FixedFormat) or fmt.fraction_bits > 3:
            raise ValueError(f"amd_sr is defined for 8-bit formats of fixed fields; {fmt.name} given")
        # A cast uses the upper bits of each element's 32-bit seed.
        kept = BINARY32.fraction_bits - fmt.fraction_bits
        seeds = _supplied(source, _WORD, shape, "seeds")
        return RandomBits(seeds.values >> np.uint32(_WORD - kept), kept)
    if preset is Stochastic.INTEL_BIAS:
        return _supplied(source, 8, shape, "biases")
    check_integer("random_width", width, 1, MAX_WIDTH)
    return _supplied(source, width, shape, "integers")


def source_of_bits(given: ArrayLike | None, rng: Rng | None, what: str) -> ArrayLike | np.random.Generator:
    if given is not None and rng is not None:
        raise ValueError("random_bits and rng given; give one of them")
    if isinstance(given, np.random.Generator):
        raise TypeError("random_bits of type Generator given; give it as rng, or an array of integers")
    if rng is not None:
        return generator_of(rng)
    if given is None:
        raise ValueError(f"{what} needs random bits; give rng, a seed or a NumPy Generator, or an array random_bits")
    return given


def generator_of(rng: Rng) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, np.random.SeedSequence | np.random.BitGenerator):
        return np.random.default_rng(rng)
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer):
        raise TypeError(f"rng of type {type(rng).__name__} given; give a seed, an integer, or a NumPy Generator")
    if rng < 0:
        raise ValueError(f"rng={rng} given; give a seed of 0 or more, or a NumPy Generator")
    return np.random.default_rng(rng)


def _words_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    if not shape or shape[-1] % 4:
        raise ValueError(f"nvidia_rs converts four elements at a time; shape {shape} has a last axis of other length")
    return (*shape[:-1], shape[-1] // 4)


def _nvidia(words: RandomBits) -> RandomBits:
    # Four consecutive elements share one 32-bit random word. PTX names the four source operands of the instruction, in
    # memory order, f, e, b and a.
    low = words.values.astype(np.uint32) & np.uint32(0xFFFF)
    high = words.values.astype(np.uint32) >> np.uint32(16)
    elements = np.stack([low, _reversed16(low), high, _reversed16(high)], axis=-1)
    return RandomBits(elements.reshape(-1), 16)


def _reversed16(half: NDArray[np.uint32]) -> NDArray[np.uint32]:
    for distance, mask in ((8, 0x00FF), (4, 0x0F0F), (2, 0x3333), (1, 0x5555)):
        low, d = np.uint32(mask), np.uint32(distance)
        half = (half & low) << d | (half >> d) & low
    return half


def _supplied(given: ArrayLike | np.random.Generator, width: int, shape: tuple[int, ...], what: str) -> RandomBits:
    if isinstance(given, np.random.Generator):
        words = given.integers(0, 1 << _WORD, int(np.prod(shape)), dtype=np.uint32)
        return RandomBits(words >> np.uint32(_WORD - width), width)
    array = np.asarray(given)
    check_integers(array, width, shape, what)
    narrow = array if array.dtype in (np.uint8, np.uint16, np.uint32) else array.astype(np.uint32)
    return RandomBits(np.ascontiguousarray(narrow).reshape(-1), width)


def check_integers(array: NDArray[Any], width: int, shape: tuple[int, ...], what: str = "integers") -> None:
    if array.dtype.kind not in "iu":
        raise TypeError(f"random_bits of {array.dtype.name} given; give {what} of shape {shape}")
    if array.shape != shape and not (array.ndim == 0 and math.prod(shape) == 1):
        given = f"={array}" if array.ndim == 0 else f" of shape {array.shape}"
        raise ValueError(f"random_bits{given} given; give {what} of shape {shape}: elements share no random bits")
    fits = array.dtype.kind == "u" and array.dtype.itemsize * 8 <= width
    if not fits and array.size and not 0 <= int(array.min()) <= int(array.max()) < 1 << width:
        raise ValueError(f"random_bits outside 0..2**{width}-1 given; mask them or change the width")
