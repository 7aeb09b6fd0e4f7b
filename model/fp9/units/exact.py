"""Width of a fixed-point accumulator that holds dot products exactly (numerics.md, sums)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fp9.formats import Format, floor_log2, pow2
from fp9.units.operands import largest_code, with_every_bias


@dataclass(frozen=True, slots=True)
class ProductRange:
    """Range of the finite products of two operands: multiples of 2^`ulp`, up to `largest` in magnitude."""

    ulp: int
    largest: Fraction

    def signed_bits(self, products: int) -> int:
        """Return the width in bits of a two's complement number that can hold every sum of `products` products.

        The least significant bit of the two's complement number has the weight 2^ulp.

        >>> from fp9.formats import format
        >>> e5m2 = (format("e5m2"),)
        >>> product_range(e5m2, e5m2).signed_bits(4096)
        77
        """
        return int(products * self.largest / pow2(self.ulp)).bit_length() + 1


def product_range(a: Sequence[Format], b: Sequence[Format], bias_port: bool = False) -> ProductRange:
    """Return the range of the products a * b, for operands in the formats `a` and `b`.

    With `bias_port`, the range covers every exponent bias that the port can select for hfp8_143.
    """
    sides = [with_every_bias(formats, bias_port) for formats in (a, b)]
    ulps = [min(f.quantum(floor_log2(f.value_of(f.smallest_code))) for f in side) for side in sides]
    largest = [max(largest_code(f) for f in side) for side in sides]
    return ProductRange(sum(ulps), largest[0] * largest[1])
