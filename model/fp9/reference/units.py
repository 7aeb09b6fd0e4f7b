"""Entry point of the reference model: `reference_results` computes a unit's results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fp9.reference import multi_fpu, operations, sequences
from fp9.reference.choices import Row
from fp9.units import Cast, Decoder, Dot, Fpu, Mac, Mul, MultiFpu, Quantiser, Upcast
from fp9.units.hooks import Hook

reference_results: Hook[[Iterable[Row]], Iterator[Row]] = Hook(
    "reference model",
    {
        Decoder: operations.decoder,
        Upcast: operations.upcast,
        Cast: operations.cast,
        Mul: operations.mul,
        Dot: operations.dot,
        Fpu: operations.fpu,
        MultiFpu: multi_fpu.multi_fpu,
        Mac: sequences.mac,
        Quantiser: sequences.quantiser,
    },
)
"""Return the output codes of each operation from its input codes. Codes are given by port name.

A unit with state starts from reset. Raises ValueError if units of the given class have no reference model, and for a
bias that an operand does not accept.
"""
