"""Operands of a multi-format FPU, decoded to numbers, with properties of the operand formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.arrays import decode_to
from fp9.formats import FixedFormat, Specials

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.golden.selects import Where
    from fp9.units.multi_fpu import MultiFpu

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.uint32]


class Operand(NamedTuple):
    """Operands of n operations of a multi-format FPU, as arrays (n,). The operands may have different formats.

    `signaling` masks signalling NaN. `sign` is the format's sign bit. `nan_code` is the canonical NaN. The mask
    `one_zero` marks operands whose format has only one zero. The mask `one_nan` marks operands whose format has only
    one NaN. `normal` is the smallest normal magnitude.
    """

    codes: Codes
    numbers: NDArray[np.float64]
    signaling: Bools
    sign: Codes
    nan_code: Codes
    one_zero: Bools
    one_nan: Bools
    normal: NDArray[np.float64]

    @property
    def nan(self) -> Bools:
        return np.isnan(self.numbers)

    def at(self, here: Where) -> Operand:
        return Operand._make(column[here] for column in self)


def operand_of(unit: MultiFpu, column: NDArray[Any], formats: NDArray[Any]) -> Operand:
    """Return the operands in words, shape (n,). `formats` indexes `unit.formats`."""
    count, words = len(column), column.astype(np.uint32)
    codes, numbers, signaling = words.copy(), np.zeros(count), np.zeros(count, np.bool_)
    for index in np.unique(formats):
        fmt, here = unit.formats[index], formats == index
        mask = np.uint32((1 << fmt.bits) - 1)
        mine = words[here] & mask
        if unit.nan_boxing:
            boxed = words[here] | mask == (1 << unit.word) - 1
            mine = np.where(boxed, mine, np.uint32(fmt.nan_code(False) or 0))
        codes[here], numbers[here] = mine, decode_to(mine.astype(fmt.dtype), fmt, np.float64)
        if isinstance(fmt, FixedFormat) and fmt.specials is Specials.IEEE:
            signaling[here] = np.isnan(numbers[here]) & (mine & np.uint32(1 << fmt.fraction_bits - 1) == 0)
    facts = [
        np.array([1 << fmt.bits - 1 for fmt in unit.formats], np.uint32),
        np.array([fmt.nan_code(False) or 0 for fmt in unit.formats], np.uint32),
        np.array([not fmt.signed_zero for fmt in unit.formats]),
        np.array([fmt.nan_code(True) == fmt.nan_code(False) for fmt in unit.formats]),
        np.array([2.0**fmt.min_normal_exponent for fmt in unit.formats]),
    ]
    return Operand(codes, numbers, signaling, *(fact[formats] for fact in facts))
