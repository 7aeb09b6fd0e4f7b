"""Which formats are operands of sums."""

from __future__ import annotations

from fp9.formats import Format

OPERAND_EXPONENTS = (-149, 128)
"""Numbers of operands are multiples of two to the first and below two to the second: FP32's exponents."""


def check_exponents(where: str, fmt: Format, role: str = " as operand") -> None:
    """Raise ValueError for an operand whose numbers are beyond `OPERAND_EXPONENTS`.

    The sentence begins with `where`; `role` follows the word "given".
    """
    lowest, highest = OPERAND_EXPONENTS
    if not fmt.lies_within(lowest, highest):
        raise ValueError(f"{where}{fmt.name} given{role}; give a format of numbers from 2^{lowest} to 2^{highest}")
