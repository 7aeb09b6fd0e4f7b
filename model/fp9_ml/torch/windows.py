"""Sums in an alignment window, as integers in floating-point tensors.

Every floating-point operation is exact: a product of two operands, a multiplication by a power of two, or a sum of
integers that fits in the significand. A compiler that fuses or reorders exact operations does not change the results.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fp9.engines import Addend, Engine, Truncation
from fp9.formats import Format, floor_log2
from fp9.formats.rounding import Rounding
from fp9.sums.operands import power_table


class _Float(NamedTuple):
    dtype: torch.dtype
    integer: torch.dtype
    fraction: int
    bias: int

    @property
    def exponent_bits(self) -> int:
        return (2 * self.bias + 1) << self.fraction


_SINGLE = _Float(torch.float32, torch.int32, 23, 127)
_DOUBLE = _Float(torch.float64, torch.int64, 52, 1023)
_CUT: dict[Truncation, Any] = {Truncation.ZERO: torch.trunc, Truncation.FLOOR: torch.floor}
_ROUND: dict[Rounding, Any] = {Rounding.RTZ: torch.trunc, Rounding.RNE: torch.round}
# A sum of fewer than 2^40 products of an operand format.
_GROWTH = 40
# Exponents of normal float32 numbers.
_SINGLE_RANGE = (-126, 127)


class Window:
    """Accumulation steps that align the products and the addend, truncate these terms, and add them.

    The operands and the addend are floating-point tensors of `dtype`. The attribute `ends` is true if results can
    overflow, can be subnormal, or are not rounded toward zero.
    """

    def __init__(self, engine: Engine, format_a: Format, format_b: Format) -> None:
        width, result = engine.window.width, engine.result.format
        assert width is not None, "the accumulator model has a window"
        exponents = [_exponents(fmt) for fmt in (format_a, format_b)]
        lowest, highest = (sum(each) for each in zip(*exponents, strict=True))
        self._width, self._cut, self._round = width, _CUT[engine.window.truncation], _ROUND[engine.result.rounding]
        # Alignment exponent below all others. Sums are integer multiples of 2^(floor - width).
        self._floor, self._fraction = lowest - width, result.fraction_bits
        self._lowest, self._limit = result.min_normal_exponent, float(result.max_magnitude)
        zero = engine.window.zero_exponent
        self._zero = None if zero is None or zero <= self._floor else zero
        inside = self._lowest <= self._floor - width and highest + _GROWTH <= floor_log2(result.max_magnitude)
        self.ends = not (inside and engine.result.rounding is Rounding.RTZ)
        normal = _SINGLE_RANGE[0] <= self._floor - width and highest + _GROWTH <= _SINGLE_RANGE[1]
        narrow = normal and _bits(engine) <= _SINGLE.fraction + 1 and (self._zero or 0) <= _SINGLE_RANGE[1] // 2
        self._float = _SINGLE if narrow else _DOUBLE
        self.dtype = self._float.dtype

    def tables(self, fmt: Format) -> tuple[Tensor, Tensor]:
        """Return a table of numbers and a table of powers of two, both indexed by the codes of a format.

        The table of powers of two holds 2^e for a code whose number has the alignment exponent e. For the codes of
        zero, infinity and NaN, the number and the power of two are 0.
        """
        values = np.where(np.isfinite(fmt.table), fmt.table, 0.0)
        found = (torch.from_numpy(each).to(self.dtype) for each in (values, power_table(fmt).copy()))
        return next(found), next(found)

    def add(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...], addend: Tensor) -> Tensor:
        """Add the products of `a` (m, k, 1) and `b` (1, k, n) to the addends (m, n), and return the rounded sums.

        A sum that overflows is an infinity. An infinite addend is returned.
        """
        (x, power_x, *_), (y, power_y, *_) = a, b
        infinite = addend.abs() == torch.inf
        c = torch.where(infinite, 0.0, addend) if self.ends else addend
        top = torch.maximum((power_x * power_y).amax(1), self._power(c))
        if self._zero is not None:
            zero = (power_x == 0).any(1) | (power_y == 0).any(1) | (c == 0)
            top = torch.where(zero, top.clamp(min=2.0**self._zero), top)
        top = top.clamp(min=2.0**self._floor)
        scale = self._inverse(top, self._width)
        total = self._cut((x * y).mul_(scale[:, None])).sum(1) + self._cut(c * scale)
        result = self._rounded(total * (top * 2.0**-self._width))
        return torch.where(infinite, addend, result) if self.ends else result

    def integers(self, c: Tensor) -> tuple[Tensor, Tensor]:
        """Split the floating-point numbers `c` into integers m and exponents e, so that c = m * 2^e."""
        bits = c.double().view(torch.int64)
        exponent = (bits >> _DOUBLE.fraction) & (_DOUBLE.exponent_bits >> _DOUBLE.fraction)
        size = ((bits & ((1 << _DOUBLE.fraction) - 1)) >> (_DOUBLE.fraction - self._fraction)) | (1 << self._fraction)
        last = exponent - _DOUBLE.bias - self._fraction
        subnormal = (self._lowest - self._fraction - last).clamp(0, self._fraction + 1)
        size = size >> subnormal
        return torch.where(bits < 0, -size, size), last + subnormal

    def _power(self, c: Tensor) -> Tensor:
        # The largest power of two in c, and at least the smallest normal number. 0 if c is 0.
        power = (c.view(self._float.integer) & self._float.exponent_bits).view(self.dtype)
        if self._lowest <= self._floor - self._width:
            return power
        return torch.where(c == 0, 0.0, power.clamp(min=2.0**self._lowest))

    def _inverse(self, power: Tensor, exponent: int) -> Tensor:
        bits = ((2 * self._float.bias + exponent) << self._float.fraction) - power.view(self._float.integer)
        return bits.view(self.dtype)

    def _rounded(self, total: Tensor) -> Tensor:
        if not self.ends:
            kept = total.view(self._float.integer) & -(1 << (self._float.fraction - self._fraction))
            return kept.view(self.dtype)
        quantum = self._power(total).clamp(min=2.0**self._lowest)
        rounded = self._round(total * self._inverse(quantum, self._fraction)) * (quantum * 2.0**-self._fraction)
        return torch.where(rounded.abs() > self._limit, rounded * torch.inf, rounded)


def window_of(engine: Engine, format_a: Format, format_b: Format) -> Window | None:
    """Return a `Window` that computes the accumulator model's steps, or None if `Window` does not support the model."""
    window, result = engine.window, engine.result
    fits = (
        window.width is not None
        and window.interleaved is None
        and window.addend is Addend.INSIDE
        and window.truncation in _CUT
        and result.rounding in _ROUND
        and result.format.subnormals
        and _bits(engine) <= _DOUBLE.fraction + 1
    )
    return Window(engine, format_a, format_b) if fits else None


def _bits(engine: Engine) -> int:
    # Bits of the integer to which a step's terms add up. Each product is below 2^(width + 2).
    return (engine.window.width or 0) + 2 + engine.step.products.bit_length()


def _exponents(fmt: Format) -> tuple[int, int]:
    powers = power_table(fmt)
    some = np.log2(powers[powers > 0]).astype(int)
    return int(some.min()), int(some.max()) + 1
