"""Formats and policies that an operation of a unit selects through select ports and bias ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.formats import HFP8_BIASES, Format, with_bias
from fp9.units import BIAS_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fp9.units import Columns, Dot, Mul

    Where = NDArray[np.bool_] | slice


def chosen(inputs: Columns, port: str, count: int) -> NDArray[Any] | int:
    # A missing port gives 0. A value above the last choice selects the last choice.
    values = inputs.get(port, _NO_CHOICE)
    if values.size and (values == values[0]).all():
        return min(int(values[0]), count - 1)
    return np.minimum(values, np.uint8(count - 1))


_NO_CHOICE = np.zeros(1, dtype=np.uint8)


def places(values: NDArray[Any] | int) -> Iterator[tuple[int, Where]]:
    """Yield each distinct value, with a mask or slice of the operations that use the value."""
    if isinstance(values, int):
        yield values, slice(None)
        return
    for value in np.flatnonzero(np.bincount(values)):
        yield int(value), values == value


def variants(inputs: Columns, operand: str, formats: tuple[Format, ...]) -> Iterator[tuple[Format, Where]]:
    # If the operations have an extra bias, the yielded format includes this bias.
    bias = inputs.get(f"{operand}_bias")
    for i, here in places(chosen(inputs, f"{operand}_format", len(formats))):
        if bias is None or not formats[i].programmable_bias:
            yield formats[i], here
            continue
        for bits, among in places(chosen({"bias": bias[here]}, "bias", 1 << BIAS_BITS)):
            value = int(signed(np.array(bits), BIAS_BITS))
            if value not in HFP8_BIASES:
                raise ValueError(f"{operand}_bias {value} given; hfp8_143 takes -8..8")
            yield with_bias(formats[i], value), _within(here, among)


def _within(here: Where, among: Where) -> Where:
    if isinstance(here, slice) or isinstance(among, slice):
        return among if isinstance(here, slice) else here
    inside = here.copy()
    inside[here] = among
    return inside


def both(one: Where, other: Where) -> Where:
    if isinstance(one, slice) or isinstance(other, slice):
        return other if isinstance(one, slice) else one
    return one & other


def signed(bits: NDArray[Any], width: int) -> NDArray[np.int64]:
    """Interpret `width`-bit words as two's complement integers."""
    half = 1 << (width - 1)
    return (np.asarray(bits, dtype=np.int64) ^ half) - half


def factor_values(unit: Dot | Mul, inputs: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors a and b of all products, shape (n, products)."""
    (a, merged_a), (b, merged_b) = (_numbers(unit, inputs, *o) for o in (("a", unit.a), ("b", unit.b)))
    if unit.engine.nan.zero_bypass:
        bypassed = (np.isnan(a) & merged_a & (b == 0)) | (np.isnan(b) & merged_b & (a == 0))
        a, b = np.where(bypassed, 0.0, a), np.where(bypassed, 0.0, b)
    return a, b


def _numbers(
    unit: Dot | Mul, inputs: Columns, operand: str, formats: tuple[Format, ...]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    lanes = unit.lane_names(operand)
    values = np.empty((len(inputs[lanes[0]]), len(lanes)), dtype=np.float64)
    merged = np.zeros((len(values), 1), dtype=np.bool_)
    for fmt, here in variants(inputs, operand, formats):
        for i, lane in enumerate(lanes):
            values[here, i] = fmt.table[inputs[lane][here] & ((1 << fmt.bits) - 1)]
        merged[here] = fmt.nan_is_inf
    return values, merged


def wide(values: NDArray[Any] | int) -> NDArray[np.int64] | int:
    # Arithmetic with narrower select values could overflow.
    return values if isinstance(values, int) else values.astype(np.int64)
