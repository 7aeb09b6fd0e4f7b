"""Functions that check whether an accumulator model accepts a format for its operands."""

from __future__ import annotations

import functools

from fp9.formats import Format

OPERAND_EXPONENTS = (-149, 128)
"""Exponent range of operands, as in FP32. Operands are multiples of 2^-149 with magnitudes below 2^128."""


def check_exponents(where: str, fmt: Format, role: str = " as operand") -> None:
    """Raise ValueError if an operand format has numbers outside `OPERAND_EXPONENTS`.

    The error message starts with the text `where`, and contains the text `role` after the word "given".
    """
    if not _is_operand(fmt):
        lowest, highest = OPERAND_EXPONENTS
        raise ValueError(f"{where}{fmt.name} given{role}; give a format of numbers from 2^{lowest} to 2^{highest}")


@functools.lru_cache(maxsize=256)
def _is_operand(fmt: Format) -> bool:
    return fmt.lies_within(*OPERAND_EXPONENTS)
