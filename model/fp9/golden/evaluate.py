"""Entry point of the golden model: `evaluate` computes a unit's expected results."""

from __future__ import annotations

from fp9.golden import accumulators, multi_fpu, quantisers, stateless
from fp9.units import Cast, Columns, Decoder, Dot, Fpu, Mac, Mul, MultiFpu, Quantiser, Results, Upcast
from fp9.units.hooks import Hook

evaluate: Hook[[Columns], Results] = Hook(
    "golden model",
    {
        Decoder: stateless.decoder,
        Upcast: stateless.upcast,
        Cast: stateless.cast,
        Quantiser: quantisers.quantiser,
        Mul: stateless.mul,
        Dot: stateless.step,
        Fpu: stateless.fpu,
        MultiFpu: multi_fpu.multi_fpu,
        Mac: accumulators.mac,
    },
)
"""Return the golden results of a unit, with one array (n,) per output. `inputs` has one array (n,) per input.

A unit with state processes the operations in order, from reset. Raises ValueError if units of the given class have no
golden model.
"""
