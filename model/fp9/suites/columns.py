"""Functions that generate the stimulus of test suites, as one column of values for each input port."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import encode
from fp9.formats import HFP8_BIASES, FixedFormat, Format, Kind
from fp9.units import Port, Unit

Inputs = dict[str, NDArray[Any]]
Codes = NDArray[Any]
Triple = tuple[Codes, Codes, Codes]


def fixed(fmt: Format) -> FixedFormat:
    # Every source of a cast and every result of a sum has fixed fields. The assertion informs type checkers.
    assert isinstance(fmt, FixedFormat), f"{fmt.name} has its fields at changing places"
    return fmt


def every_value(port: Port) -> list[int]:
    if port.signed and port.name.endswith("_bias"):
        return [bias & ((1 << port.width) - 1) for bias in HFP8_BIASES]
    # The values include the unused values of a select port.
    return list(range(1 << port.width))


def drawn_port(port: Port, count: int, rng: np.random.Generator) -> NDArray[Any]:
    """Return uniformly distributed random values of an input port."""
    if port.signed and port.name.endswith("_bias"):
        return rng.choice(every_value(port), count).astype(np.uint8)
    return rng.integers(0, 1 << port.width, count, dtype=np.uint64).astype(np.uint32)


def cycled(port: Port, count: int, offset: int = 0) -> NDArray[Any]:
    return np.resize(np.roll(np.array(every_value(port), dtype=np.uint32), -offset), count)


def sign_bits(formats: Sequence[Format]) -> NDArray[np.uint32]:
    return np.array([1 << (fmt.bits - 1) for fmt in formats], dtype=np.uint32)


def chosen_formats(columns: Inputs, operand: str, formats: Sequence[Format], count: int) -> NDArray[np.intp]:
    """Return the index into `formats` for each operation, shape (count,)."""
    selects = columns.get(f"{operand}_format", np.zeros(count, np.uint8))
    return np.minimum(selects, len(formats) - 1).astype(np.intp)


def table_columns(unit: Unit, rows: Sequence[tuple[int, ...]]) -> Inputs:
    """Convert operations, with one value for each input port, to columns."""
    table = np.array(rows, dtype=np.uint32).reshape(-1, len(unit.inputs))
    return {port.name: table[:, i] for i, port in enumerate(unit.inputs)}


def concatenated(parts: Sequence[Inputs]) -> Inputs:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def one_of_each(numbers: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """For each distinct nonzero number, return the index of one randomly chosen occurrence."""
    order = rng.permutation(len(numbers))
    found, first = np.unique(numbers[order], return_index=True)
    drawn: NDArray[np.int64] = order[first[found != 0]]
    return drawn


def walking_fractions(fmt: FixedFormat) -> NDArray[np.int64]:
    """Return fraction patterns: a walking one, a walking zero, and masks of leading or trailing ones."""
    full = (1 << fmt.fraction_bits) - 1
    ones = [1 << i for i in range(fmt.fraction_bits)]
    return np.unique(
        [0, full, *ones, *(full ^ one for one in ones), *(one - 1 for one in ones), *(full ^ (one - 1) for one in ones)]
    )


def walking_codes(fmt: FixedFormat) -> NDArray[np.int64]:
    """Combine both signs, every exponent field (also the field of NaN) and every fraction of `walking_fractions`."""
    exponents = np.arange(1 << fmt.exponent_bits) << fmt.fraction_bits
    magnitudes = (exponents[:, None] | walking_fractions(fmt)).reshape(-1) << fmt.padding
    return np.concatenate([magnitudes, magnitudes | fmt.sign_mask])


def beside_special(fmt: FixedFormat) -> NDArray[np.int64]:
    """Return the largest number and all magnitudes one bit flip away from 0, infinity or NaN."""
    specials = np.array([fmt.magnitude_mask, fmt.max_code + fmt.smallest_code, 0])
    near = (specials[:, None] ^ 1 << np.arange(fmt.padding, fmt.bits - 1)).reshape(-1)
    return np.unique(np.append(near[near <= fmt.max_code], fmt.max_code))


@functools.lru_cache(maxsize=64)
def classes(fmt: Format) -> tuple[int, ...]:
    """Return one code of each sign for every operand class, such as zero or NaN."""
    magnitudes = [0, fmt.smallest_code, fmt.max_code]
    normal = int(encode([fmt.smallest_normal], fmt, "rtz")[0])
    magnitudes += [normal, int(encode([1.0], fmt, "rtz")[0])]
    if normal > 1 and fmt.kind_of(normal - 1) is Kind.FINITE:
        magnitudes.append(normal - 1)
    magnitudes += [code for code in (fmt.inf_code(False), fmt.nan_code(False)) if code is not None]
    sign = 1 << (fmt.bits - 1)
    return tuple(sorted({code for m in magnitudes for code in (m, m ^ sign)}))


@functools.lru_cache(maxsize=64)
def finite(fmt: Format) -> NDArray[np.uint32]:
    """Return the codes of all finite numbers except zero."""
    return np.array([c for c in range(1 << fmt.bits) if fmt.kind_of(c) is Kind.FINITE], dtype=np.uint32)


FEW_BITS = 8
"""Maximum width in bits of formats whose codes are all combined with all codes of other operands."""

_CROSSED = 512


@functools.lru_cache(maxsize=64)
def crossed_magnitudes(fmt: Format) -> NDArray[Any]:
    """Return all positive magnitudes in rising order, or a selection for a format wider than 8 bits."""
    every = fmt.ordered_magnitudes()[1:]
    if fmt.bits <= FEW_BITS:
        return every
    fractions = walking_fractions(fixed(fmt))
    fields = np.arange(1 << fixed(fmt).exponent_bits)
    fields = fields[:: -(-len(fields) * len(fractions) // _CROSSED)]
    walking = ((fields[:, None] << fixed(fmt).fraction_bits | fractions).reshape(-1)) << fixed(fmt).padding
    return np.unique(np.concatenate([every[:16], every[-16:], walking[np.isin(walking, every)]]))


@functools.lru_cache(maxsize=64)
def special_codes(fmt: Format) -> NDArray[Any]:
    """Return the codes of infinity and NaN. If the format has more than 8 bits, return only some of the NaN codes."""
    codes = np.arange(1 << fmt.bits)
    special = codes[~np.isfinite(fmt.table)]
    if fmt.bits <= FEW_BITS:
        return special
    few = [code for code in classes(fmt) if not np.isfinite(fmt.table[code])]
    return np.unique(np.concatenate([few, special[:: max(1, len(special) // 8)]]))


def signed_magnitudes(fmt: Format) -> NDArray[Any]:
    if fmt.bits <= FEW_BITS:
        return finite(fmt)
    magnitudes = crossed_magnitudes(fmt)
    return np.concatenate([magnitudes, magnitudes | 1 << (fmt.bits - 1)])


@functools.lru_cache(maxsize=64)
def crossed_codes(fmt: Format) -> NDArray[Any]:
    return np.arange(1 << fmt.bits) if fmt.bits <= FEW_BITS else np.unique(walking_codes(fixed(fmt)))


def addend(
    result: FixedFormat, product: NDArray[np.float64], difference: Codes, fraction: Codes, negative: Codes
) -> NDArray[np.uint32]:
    """Return addends whose exponent exceeds the product's by `difference`, clipped to the result's exponent range."""
    finite = np.where(np.isfinite(product) & (product > 0), product, 1.0)
    field = np.floor(np.log2(finite)).astype(np.int64) + difference + result.bias
    field = np.clip(field, 0, (1 << result.exponent_bits) - 1)
    magnitudes = (field << result.fraction_bits | fraction) << result.padding
    codes = np.where(negative, result.sign_mask, 0) | magnitudes
    return np.asarray(codes, dtype=np.uint32)
