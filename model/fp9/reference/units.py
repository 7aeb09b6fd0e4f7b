"""Dispatches `reference_results` on the kind of unit."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from fp9.reference import operations, sequences
from fp9.reference.choices import Row
from fp9.units import Cast, Decoder, Dot, Fpu, Mac, Quantiser, Unit, Upcast


@functools.singledispatch
def reference_results(unit: Unit, rows: Iterable[Row]) -> Iterator[Row]:
    """Return the output codes of each operation, given the input codes of each operation by port name.

    A unit with state starts from reset. Raises TypeError for a kind of unit that the model does not know, and
    ValueError for a bias that an operand does not accept.
    """
    raise TypeError(f"{type(unit).__name__} given; give a unit that the model knows")


reference_results.register(Decoder, operations.decoder)
reference_results.register(Upcast, operations.upcast)
reference_results.register(Cast, operations.cast)
reference_results.register(Dot, operations.dot)
reference_results.register(Fpu, operations.fpu)
reference_results.register(Mac, sequences.mac)
reference_results.register(Quantiser, sequences.quantiser)
