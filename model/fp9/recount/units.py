"""The one entry to results in fractions: `recounted`, by the kind of unit."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from fp9.recount import operations, sequences
from fp9.recount.choices import Row
from fp9.units import Cast, Decoder, Dot, Fpu, Mac, Quantiser, Unit, Upcast


@functools.singledispatch
def recounted(unit: Unit, rows: Iterable[Row]) -> Iterator[Row]:
    """The codes of all outputs of each operation, from those of all inputs; a unit with state starts at reset.

    Raises TypeError for a kind of unit that has none, ValueError for a bias that an operand does not take.
    """
    raise TypeError(f"{type(unit).__name__} given; give a unit that the model knows")


recounted.register(Decoder, operations.decoder)
recounted.register(Upcast, operations.upcast)
recounted.register(Cast, operations.cast)
recounted.register(Dot, operations.dot)
recounted.register(Fpu, operations.fpu)
recounted.register(Mac, sequences.mac)
recounted.register(Quantiser, sequences.quantiser)
