"""The one entry to golden results: `evaluate`, by the kind of unit."""

from __future__ import annotations

import functools

from fp9.golden import accumulators, quantisers, stateless
from fp9.units import Cast, Columns, Decoder, Dot, Fpu, Mac, Quantiser, Results, Unit, Upcast


@functools.singledispatch
def evaluate(unit: Unit, inputs: Columns) -> Results:
    """Golden results: one array of shape (n,) for each output, from one of shape (n,) for each input.

    Element i is operation i; a unit with state sees the operations in order, from reset. Raises TypeError for a kind of
    unit that has no golden model.
    """
    raise TypeError(f"{type(unit).__name__} given; give a unit that the model knows")


evaluate.register(Decoder, stateless.decoder)
evaluate.register(Upcast, stateless.upcast)
evaluate.register(Cast, stateless.cast)
evaluate.register(Quantiser, quantisers.quantiser)
evaluate.register(Dot, stateless.step)
evaluate.register(Fpu, stateless.fpu)
evaluate.register(Mac, accumulators.mac)
