"""The factors of operations: their codes in the formats that the ports choose, and the exact sum of their products."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fp9.engines import Engine
from fp9.formats import Format, Kind, with_bias
from fp9.golden.selects import signed
from fp9.oracle import sums as dot_oracle
from fp9.units import BIAS_BITS, Columns, with_every_bias
from fp9_sim.coverage.sum import Sum
from fp9_sim.coverage.values import Code, Codes, lowest_place


class Scaled(NamedTuple):
    """What the scales of an operation are, and their product, in units of their last place squared; None for NaN."""

    sizes: tuple[str, ...]
    factor: int | None


class Operation(NamedTuple):
    """The factors of one operation, lane by lane, and the sum of their products, scaled; None where a product is no
    number. `sizes` says what the scales are, where there are such."""

    format_a: str
    format_b: str
    lanes: list[tuple[Code, Code]]
    summed: int | None
    sizes: tuple[str, ...] = ()


_UNSCALED = Scaled((), 1)


def sizes_of(fmt: Format) -> tuple[str, ...]:
    """What scales of a format can be."""
    return (*(("zero",) if fmt.has_zero else ()), "below 1", "1", "above 1", "nan")


def _size(scale: Code, one: int) -> str:
    if not scale.is_number or not scale.units:
        return "zero" if scale.is_number else "nan"
    return "1" if scale.units == one else "below 1" if scale.units < one else "above 1"


def _scales(sum_: Sum, inputs: Columns) -> Iterator[Scaled]:
    """The scales of all operations, without end where there are none."""
    if sum_.scale is None:
        return itertools.repeat(_UNSCALED)
    codes = Codes(sum_.scale)
    one = 1 << -codes.ulp
    pairs = zip(inputs["a_scale"].tolist(), inputs["b_scale"].tolist(), strict=True)
    scales = ((codes[x], codes[y]) for x, y in pairs)
    return (
        Scaled((_size(x, one), _size(y, one)), x.units * y.units if x.is_number and y.is_number else None)
        for x, y in scales
    )


def operations(sum_: Sum, inputs: Columns, lanes: Sequence[tuple[str, str]]) -> Iterator[Operation]:
    """The factors of all operations; `lanes` names the ports of a and b. Sums count the last place of the products."""
    bias_port = any(f"{operand}_bias" in inputs for operand in "ab")
    place_a = min(lowest_place(fmt) for fmt in with_every_bias(sum_.a, bias_port))
    place_b = min(lowest_place(fmt) for fmt in with_every_bias(sum_.b, bias_port))
    formats_a = _formats(inputs, "a", sum_.a, place_a)
    formats_b = _formats(inputs, "b", sum_.b, place_b)
    columns = [(inputs[x].tolist(), inputs[y].tolist()) for x, y in lanes]
    every = zip(formats_a, formats_b, _scales(sum_, inputs), strict=False)
    for i, ((name_a, a), (name_b, b), (sizes, factor)) in enumerate(every):
        codes = [(a[x[i] & a.mask], b[y[i] & b.mask]) for x, y in columns]
        products = [_product(sum_.engine, a.format, x, b.format, y) for x, y in codes]
        summed = None if factor is None or None in products else factor * sum(products)  # type: ignore[arg-type]
        yield Operation(name_a, name_b, codes, summed, sizes)


def _product(engine: Engine, a: Format, x: Code, b: Format, y: Code) -> int | None:
    """The exact product; None for an infinity or NaN."""
    if x.is_number and y.is_number:
        return x.units * y.units
    (term,) = dot_oracle.product_terms(engine, [x.code], [y.code], a, b)
    return 0 if term.value.kind is Kind.ZERO else None


def _formats(inputs: Columns, operand: str, formats: Sequence[Format], place: int) -> list[tuple[str, Codes]]:
    """For each operation the name of an operand's format, and its codes with the extra bias in units of 2^`place`."""
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
