"""Hypothesis strategies for formats with given fields, bias, special codes and subnormal numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from fp9.formats import FixedFormat, Specials, fixed_format

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

ACCUMULATOR_SPECIALS = (Specials.IEEE, Specials.MERGED)
"""Special codes of the formats in which an engine accumulates."""


@st.composite
def formats(draw: st.DrawFn, bits: range, specials: Iterable[Specials] = Specials) -> FixedFormat:
    """Return a format with a width in `bits`, at most 32, and one of the kinds of special codes."""
    special = draw(st.sampled_from(list(specials)))
    least = special is Specials.IEEE
    fields = [(e, p) for e in range(1 + least, 9) for p in range(least, 24) if 1 + e + p in bits]
    exponent_bits, fraction_bits = draw(st.sampled_from(fields))
    middle = 1 << (exponent_bits - 1)
    bias = draw(st.sampled_from([middle - 1, middle, 2 * middle + 3, -5]) | st.integers(-200, 200))
    subnormals = draw(st.booleans())
    rest = f"specials={special.name.lower()}" + ("" if subnormals else ",subnormals=false")
    return fixed_format(f"1.{exponent_bits}.{fraction_bits},b={bias},{rest}")


def codes(fmt: FixedFormat, count: int, rng: np.random.Generator) -> NDArray[np.unsignedinteger]:
    """Return codes of a format, shape (count,): many at the edges of the number range, others at random."""
    size = 1 << fmt.bits
    edges = [edge + step for edge in (0, size >> 1, size, fmt.max_code, fmt.smallest_code) for step in (-1, 0, 1, 2)]
    edges += [edge | fmt.sign_mask for edge in (fmt.max_code, fmt.smallest_code)]
    some = rng.integers(0, size, count)
    at_edges = rng.random(count) < 0.4
    some[at_edges] = rng.choice(np.array(edges), int(at_edges.sum())) % size
    return some.astype(fmt.dtype)
