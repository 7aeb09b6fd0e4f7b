"""Exception flags with the bits of Berkeley TestFloat and RISC-V `fflags`."""

from __future__ import annotations

from enum import IntFlag


class Flags(IntFlag):
    """IEEE 754-2019 section 7 exceptions; tininess is detected after rounding. Division by zero cannot occur."""

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    DIVIDE_BY_ZERO = 8
    INVALID = 16


FLAG_BITS = 5
"""Width of a flags field."""
