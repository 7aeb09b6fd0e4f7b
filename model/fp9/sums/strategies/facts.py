"""Facts about engines and ranges of operands that strategies depend on."""

from __future__ import annotations

from fp9.engines import Engine
from fp9.formats.host import BINARY32
from fp9.sums.operands import Span


def product_bits(a: Span, b: Span) -> int:
    return a.precision + b.precision


def is_in_float32(a: Span, b: Span) -> bool:
    """Whether float32 holds every finite product."""
    in_range = a.lowest + b.lowest >= BINARY32.lowest_quantum and a.highest + b.highest + 1 <= BINARY32.bias
    parts = all(x.lowest >= BINARY32.lowest_quantum and x.highest <= BINARY32.bias for x in (a, b))
    return in_range and parts and product_bits(a, b) <= BINARY32.precision


def is_exact(engine: Engine) -> bool:
    """Whether steps sum exactly."""
    return engine.window is None and not engine.exact
