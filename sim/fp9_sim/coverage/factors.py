"""Operand codes of dot products, and the exact sums of the products."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fp9.engines import Engine
from fp9.formats import Format, Kind, with_bias
from fp9.golden.selects import signed
from fp9.oracle import sums as dot_oracle
from fp9.units import BIAS_BITS, Columns, with_every_bias
from fp9_sim.coverage.computed_sum import Sum
from fp9_sim.coverage.values import Code, Codes, lowest_place


class Scaled(NamedTuple):
    """Two block scales: the class of each scale (such as "below 1"), their product, and the sum of their exponents."""

    sizes: tuple[str, ...]
    # Product in units of u * u, where u is the smallest ulp of the scale format. None if a scale is NaN.
    factor: int | None
    exponent: int


# Exponent at which the window aligns a nonzero term, and whether the term is negative.
Aligned = tuple[int, bool]


class Operation(NamedTuple):
    """Operands of one dot product, and the exact scaled sum of its products."""

    format_a: str
    format_b: str
    lanes: list[tuple[Code, Code]]
    # Exact scaled sum of the products, or None if a product or a scale is infinite or NaN.
    summed: int | None
    # One entry for each product or group of products that the alignment window aligns. The entry of zero is None.
    terms: list[Aligned | None]
    # Class of the scales of each block: "zero", "below 1", "1", "above 1" or "nan".
    sizes: list[tuple[str, ...]]


_UNSCALED = Scaled((), 1, 0)


def sizes_of(fmt: Format) -> tuple[str, ...]:
    return (*(("zero",) if fmt.has_zero else ()), "below 1", "1", "above 1", "nan")


def _size(scale: Code, one: int) -> str:
    if not scale.is_number or not scale.units:
        return "zero" if scale.is_number else "nan"
    return "1" if scale.units == one else "below 1" if scale.units < one else "above 1"


def _scales(sum_: Sum, inputs: Columns) -> Iterator[tuple[Scaled, ...]]:
    if sum_.scale is None:
        return itertools.repeat((_UNSCALED,))
    codes = Codes(sum_.scale)
    blocks = [zip(inputs[x].tolist(), inputs[y].tolist(), strict=True) for x, y in sum_.scales]
    return zip(*([_scaled(codes[x], codes[y], 1 << -codes.ulp) for x, y in pairs] for pairs in blocks), strict=True)


def _scaled(x: Code, y: Code, one: int) -> Scaled:
    factor = x.units * y.units if x.is_number and y.is_number else None
    return Scaled((_size(x, one), _size(y, one)), factor, x.exponent + y.exponent)


def operations(sum_: Sum, inputs: Columns, lanes: Sequence[tuple[str, str]]) -> Iterator[Operation]:
    """Yield the operands of each operation. `lanes` names the two operand ports of each lane.

    Each exact sum is an integer multiple of the smallest ulp that a scaled product can have.
    """
    bias_port = any(f"{operand}_bias" in inputs for operand in "ab")
    place_a = min(lowest_place(fmt) for fmt in with_every_bias(sum_.a, bias_port))
    place_b = min(lowest_place(fmt) for fmt in with_every_bias(sum_.b, bias_port))
    formats_a = _formats(inputs, "a", sum_.a, place_a)
    formats_b = _formats(inputs, "b", sum_.b, place_b)
    columns = [(inputs[x].tolist(), inputs[y].tolist()) for x, y in lanes]
    every = zip(formats_a, formats_b, _scales(sum_, inputs), strict=False)
    for i, ((name_a, a), (name_b, b), blocks) in enumerate(every):
        codes = [(a[x[i] & a.mask], b[y[i] & b.mask]) for x, y in columns]
        products = [_product(sum_.engine, a.format, x, b.format, y) for x, y in codes]
        scales = [scale for scale in blocks for _ in range(len(codes) // len(blocks))]
        factors = [scale.factor for scale in scales]
        numbers = [product for product in products if product is not None]
        known = [factor for factor in factors if factor is not None]
        if len(numbers) + len(known) < 2 * len(codes):
            summed, terms = None, list[Aligned | None]()
        else:
            summed = sum(product * factor for product, factor in zip(numbers, known, strict=True))
            terms = _terms(sum_.engine, codes, numbers, scales)
        yield Operation(name_a, name_b, codes, summed, terms, [scale.sizes for scale in blocks])


def _terms(
    engine: Engine, codes: list[tuple[Code, Code]], products: list[int], scales: list[Scaled]
) -> list[Aligned | None]:
    # With grouped products, each group is one term, whose exponent comes from the scales. Otherwise each product is a
    # term.
    if engine.window.width is None:
        return []
    if engine.step.group is None:
        return [
            (x.exponent + y.exponent + scale.exponent, product < 0) if product and scale.factor else None
            for (x, y), product, scale in zip(codes, products, scales, strict=True)
        ]
    starts = range(0, len(products), engine.step.group)
    groups = [(products[start : start + engine.step.group], scales[start]) for start in starts]
    return [(scale.exponent, sum(some) < 0) if any(some) and scale.factor else None for some, scale in groups]


def _product(engine: Engine, a: Format, x: Code, b: Format, y: Code) -> int | None:
    if x.is_number and y.is_number:
        return x.units * y.units
    (term,) = dot_oracle.product_terms(engine, [x.code], [y.code], a, b)
    return 0 if term.value.kind is Kind.ZERO else None


def _formats(inputs: Columns, operand: str, formats: Sequence[Format], place: int) -> list[tuple[str, Codes]]:
    count = len(next(iter(inputs.values())))
    chosen = inputs[f"{operand}_format"].tolist() if f"{operand}_format" in inputs else [0] * count
    name = f"{operand}_bias"
    biases = signed(inputs[name], BIAS_BITS).tolist() if name in inputs else [None] * count
    known: dict[tuple[int, int | None], tuple[str, Codes]] = {}
    for key in set(zip(chosen, biases, strict=True)):
        fmt = formats[min(key[0], len(formats) - 1)]
        has_bias = key[1] is not None and fmt.programmable_bias
        known[key] = fmt.name, Codes(with_bias(fmt, key[1]) if has_bias else fmt, place)
    return [known[key] for key in zip(chosen, biases, strict=True)]
