"""Corner-case operations for exact sums and for fixed-point (Kulisch) registers.

Operands are finite, because an infinity or NaN in one product would decide the whole sum.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.formats import Format, Kind, floor_log2, pow2
from fp9.golden import stateless as golden
from fp9.suites.columns import (
    Inputs,
    chosen_formats,
    concatenated,
    drawn_port,
    fixed,
    sign_bits,
    walking_fractions,
)
from fp9.suites.sums.scale_columns import drawn_scales
from fp9.units import Dot, Mac, MacOp, code_tables, product_range

COUNT = 4000
"""Number of random operations for each corner case."""


def finite_factors(unit: Dot, count: int, rng: np.random.Generator) -> Inputs:
    """Return random values for all input ports except `c` and `op`. All factors are finite."""
    columns = {port.name: drawn_port(port, count, rng) for port in unit.inputs if port.name not in ("c", "op")}
    columns |= drawn_scales(unit, count, rng)
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        special = ~np.isfinite(code_tables(formats))
        chosen = chosen_formats(columns, operand, formats, count)
        middle = sign_bits(formats)[chosen] >> 1
        for lane in unit.lane_names(operand):
            columns[lane] = columns[lane] ^ np.where(special[chosen, columns[lane]], middle, 0).astype(np.uint32)
    return columns


def exact_corner(unit: Dot, rng: np.random.Generator) -> Inputs:
    cancelling = _cancelling(unit, rng)
    small = smallest_factors(unit, COUNT, rng)
    drawn = finite_factors(unit, COUNT, rng)
    parts = [
        cancelling | {"c": _anywhere(unit, rng)},
        drawn | {"c": _anywhere(unit, rng)},
        small | {"c": _anywhere(unit, rng, 4)},
        *(factors | {"c": opposite(unit, factors, rng)} for factors in (cancelling, small, drawn)),
    ]
    columns = concatenated(parts)
    return {port.name: columns[port.name] for port in unit.inputs if port.name in columns}


def _cancelling(unit: Dot, rng: np.random.Generator) -> Inputs:
    columns = finite_factors(unit, COUNT, rng)
    sign = sign_bits(unit.a)[chosen_formats(columns, "a", unit.a, COUNT)]
    lanes = list(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))
    for (a, b), (x, y) in zip(lanes[::2], lanes[1::2], strict=False):
        columns[x], columns[y] = columns[a] ^ sign, columns[b]
    if len(lanes) % 2:
        columns[lanes[-1][0]] = np.zeros(COUNT, dtype=np.uint32)
    last = lanes[-1][1]
    columns[last] = columns[last] ^ (np.arange(COUNT) % 3 == 0)
    return columns


def smallest_factors(unit: Dot, count: int, rng: np.random.Generator) -> Inputs:
    columns = finite_factors(unit, count, rng)
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        kept = sign_bits(formats)[chosen_formats(columns, operand, formats, count)] | 3
        for lane in unit.lane_names(operand):
            columns[lane] = columns[lane] & kept
    return columns


def _anywhere(unit: Dot, rng: np.random.Generator, fields: int | None = None) -> NDArray[np.uint32]:
    fmt = fixed(unit.engine.output)
    field = rng.integers(0, fields or 1 << fmt.exponent_bits, COUNT)
    fraction = rng.choice(walking_fractions(fmt), COUNT)
    codes = rng.choice([0, fmt.sign_mask], COUNT) | field << fmt.fraction_bits | fraction
    return np.asarray(codes, dtype=np.uint32)


def opposite(unit: Dot, factors: Inputs, rng: np.random.Generator) -> NDArray[np.uint32]:
    """Return addends that cancel the rounded sum of the products, exactly or up to one ulp."""
    fmt = fixed(unit.engine.output)
    nothing = np.zeros(len(next(iter(factors.values()))), dtype=np.uint32)
    sums = golden.step(unit, factors | {"c": nothing})["result"].astype(np.int64)
    beside = (sums & fmt.magnitude_mask) + rng.integers(-1, 2, len(sums))
    codes = np.clip(beside, 0, fmt.max_code) | (sums & fmt.sign_mask) ^ fmt.sign_mask
    return np.asarray(codes, dtype=np.uint32)


# --- the fixed-point register ---------------------------------------------------------------------------------------


def random_kulisch(unit: Mac, count: int, rng: np.random.Generator) -> Inputs:
    """Return random operations that form long sums, in which factors are rarely infinite or NaN."""
    columns = {"op": rng.choice(len(unit.operations), count, p=(0.9, 0.05, 0.02, 0.03)).astype(np.uint8)}
    columns |= finite_factors(unit, count, rng)
    rare = rng.random(count) < 0.01
    for lane in unit.lane_names("a"):
        columns[lane] = np.where(rare, drawn_port(unit.inputs[1], count, rng), columns[lane]).astype(np.uint32)
    repeated = np.flatnonzero(rng.random(count) < 0.2)
    repeated = repeated[repeated > 0]
    for name in columns.keys() - {"op"}:
        columns[name][repeated] = columns[name][repeated - 1]
    sign = sign_bits(unit.a)[chosen_formats(columns, "a", unit.a, count)]
    for lane in unit.lane_names("a"):
        columns[lane][repeated] ^= sign[repeated]
    return {port.name: columns[port.name] for port in unit.inputs}


def kulisch_corner(unit: Mac, rng: np.random.Generator) -> Inputs:
    """Return corner-case sequences, which each begin with a LOAD."""
    parts = [
        _places(unit),
        _specials(unit, rng),
        _zeros(unit, rng),
        *(_beyond(unit, negative) for negative in (False, True)),
    ]
    parts += [random_kulisch(unit, COUNT, rng), _restarted(unit), *_filled(unit), _lowest_sum(unit)]
    return concatenated(parts)


# Codes of a and b, and the indices of the formats of a and b.
Product = tuple[int, int, int, int]


def sequence(unit: Mac, rows: Sequence[tuple[MacOp, Product | None]], lanes: int = 1) -> Inputs:
    """Put the same product into each of the first `lanes` lanes, and zeros into other lanes."""
    table = np.array([product or (0, 0, 0, 0) for _, product in rows], dtype=np.uint32)
    columns: Inputs = {port.name: np.zeros(len(rows), dtype=np.uint32) for port in unit.inputs}
    columns["op"] = np.array([operation for operation, _ in rows], dtype=np.uint8)
    for place, operand in enumerate(("a", "b")):
        for lane in unit.lane_names(operand)[:lanes]:
            columns[lane] = table[:, place]
        if f"{operand}_format" in columns:
            columns[f"{operand}_format"] = table[:, 2 + place]
    return columns


def negated(unit: Mac, product: Product) -> Product:
    return product[0] ^ int(sign_bits(unit.a)[product[2]]), *product[1:]


def power_products(unit: Mac) -> dict[int, Product]:
    """Return a dictionary that maps each possible exponent e to two factors whose product is 2^e."""
    found: dict[int, Product] = {}
    for i, a in enumerate(unit.a):
        for j, b in enumerate(unit.b):
            for (x, of_x), (y, of_y) in itertools.product(_powers_of_two(a), _powers_of_two(b)):
                found.setdefault(of_x + of_y, (x, y, i, j))
    return found


@functools.lru_cache(maxsize=64)  # a 16-bit format has 32,768 codes to search
def _powers_of_two(fmt: Format) -> list[tuple[int, int]]:
    # The code and the exponent of each positive power of two.
    found = []
    for code in range(1 << (fmt.bits - 1)):
        if fmt.kind_of(code) is Kind.FINITE:
            number = fmt.value_of(code)
            if number == pow2(exponent := floor_log2(number)):
                found.append((code, exponent))
    return found


def _places(unit: Mac) -> Inputs:
    # The subtraction of the smallest product makes a borrow ripple through the register. Half an ulp of the result
    # makes a tie.
    powers = power_products(unit)
    smallest = powers[min(powers)]
    tie = fixed(unit.engine.result.format).fraction_bits + 1
    rows: list[tuple[MacOp, Product | None]] = []
    for exponent, power in powers.items():
        half = powers.get(exponent - tie, smallest)
        for first, beside in ((power, half), (negated(unit, power), negated(unit, half))):
            for one, other in ((first, smallest), (first, negated(unit, smallest))):
                rows += [(MacOp.LOAD, one), (MacOp.ACCUMULATE, other), (MacOp.ACCUMULATE, beside), (MacOp.HOLD, None)]
                rows += [(MacOp.LOAD, one), (MacOp.ACCUMULATE, beside), (MacOp.ACCUMULATE, other)]
                rows += [(MacOp.ACCUMULATE, negated(unit, one))]
    return sequence(unit, rows)


def _specials(unit: Mac, rng: np.random.Generator) -> Inputs:
    # Each sequence loads the tested product, holds the sum, adds another product, adds the negated product, and clears.
    first = _in_first_lane(unit, rng)
    parts = [first]
    for lane in range(1, unit.products):
        moved = {name: np.zeros_like(column) if name[0] in "ab" else column for name, column in first.items()}
        beside = finite_factors(unit, len(first["op"]), rng)
        some = np.arange(len(first["op"])) // 6 % 3 == 0
        moved |= {n: np.where(some, beside[n], 0).astype(np.uint32) for n in beside if not n.endswith("_format")}
        moved |= {name: first[name] for name in first if name.endswith("_format")}
        moved |= {unit.lane_names(operand)[lane]: first[unit.lane_names(operand)[0]] for operand in "ab"}
        parts.append(moved)
    return concatenated(parts)


def _in_first_lane(unit: Mac, rng: np.random.Generator) -> Inputs:
    rows: list[tuple[MacOp, Product | None]] = []
    for i, a in enumerate(unit.a):
        for j, b in enumerate(unit.b):
            products = [(x, y, i, j) for x in _kinds(a) for y in _kinds(b)]
            for product, other in zip(products, rng.permutation(len(products)), strict=True):
                rows += [(MacOp.LOAD, product), (MacOp.HOLD, None), (MacOp.ACCUMULATE, products[other])]
                rows += [(MacOp.ACCUMULATE, negated(unit, product)), (MacOp.CLEAR, product), (MacOp.HOLD, product)]
    return sequence(unit, rows)


def _zeros(unit: Mac, rng: np.random.Generator) -> Inputs:
    lanes = unit.products
    patterns = rng.permutation(np.arange(1 << lanes)) if lanes <= 8 else rng.integers(0, 1 << lanes, 256)
    parts = [sequence(unit, [(MacOp.LOAD, None)] * 4) for _ in patterns]
    columns = concatenated(parts)
    columns["op"] = np.resize([MacOp.LOAD, MacOp.ACCUMULATE, MacOp.CLEAR, MacOp.ACCUMULATE], 4 * len(patterns))
    following = np.stack([np.roll(patterns, place) for place in range(4)], axis=1).reshape(-1)
    for i, lane in enumerate(unit.lane_names("a")):
        columns[lane] = (following >> i & 1).astype(np.uint32) * sign_bits(unit.a)[0]
    return columns | {"op": columns["op"].astype(np.uint8)}


def _kinds(fmt: Format) -> list[int]:
    normal = fmt.code_of(Fraction(fmt.smallest_normal))
    magnitudes = [0, fmt.smallest_code, normal, fmt.max_code, fmt.inf_code(False), fmt.nan_code(False)]
    return sorted({code for m in magnitudes if m is not None for code in (m, m ^ int(sign_bits((fmt,))[0]))})


def _restarted(unit: Mac) -> Inputs:
    rows: list[tuple[MacOp, Product | None]] = []
    for i, fmt in enumerate(unit.a):
        products = [(code, unit.b[0].max_code, i, 0) for code in _kinds(fmt)]
        rows += [row for product in products for row in ((MacOp.LOAD, product), (MacOp.LOAD, _largest(unit)))]
    return sequence(unit, rows)


def _filled(unit: Mac) -> list[Inputs]:
    largest = _largest(unit)
    rows: list[tuple[MacOp, Product | None]] = [(MacOp.LOAD, largest), (MacOp.LOAD, negated(unit, largest))]
    return [sequence(unit, rows, lanes) for lanes in range(1, unit.products + 1)]


def _largest(unit: Mac) -> Product:
    (i, a), (j, b) = (max(enumerate(formats), key=lambda f: f[1].max_magnitude) for formats in (unit.a, unit.b))
    return a.max_code, b.max_code, i, j


def _beyond(unit: Mac, negative: bool) -> Inputs:
    # Products of one sign wrap the register around, and then negated products bring the sum back into range.
    largest = negated(unit, _largest(unit)) if negative else _largest(unit)
    steps = int(_end(unit) / _largest_step(unit)) + 7
    rows: list[tuple[MacOp, Product | None]] = [(MacOp.LOAD, largest), *[(MacOp.ACCUMULATE, largest)] * steps]
    rows += [(MacOp.ACCUMULATE, negated(unit, largest))] * 14
    return sequence(unit, rows + [(MacOp.HOLD, None)] * (len(rows) % 2), unit.products)


def _end(unit: Mac) -> Fraction:
    # The smallest positive sum that overflows the register.
    return pow2(unit.sum_bits - 1 + product_range(unit.a, unit.b, unit.bias_port).ulp)


def _largest_step(unit: Mac) -> Fraction:
    a, b, i, j = _largest(unit)
    return unit.products * unit.a[i].value_of(a) * unit.b[j].value_of(b)


def _lowest_sum(unit: Mac) -> Inputs:
    # The negative of the register's lowest sum does not fit into the register.
    steps, lacks = divmod(_end(unit), _largest_step(unit))
    largest, powers = negated(unit, _largest(unit)), power_products(unit)
    full = [(MacOp.ACCUMULATE if place else MacOp.LOAD, largest) for place in range(steps)]
    rows: list[tuple[MacOp, Product | None]] = []
    while lacks:
        exponent = min(floor_log2(lacks), max(powers))
        rows.append((MacOp.ACCUMULATE, negated(unit, powers[exponent])))
        lacks -= pow2(exponent)
    rows += [(MacOp.HOLD, None), (MacOp.ACCUMULATE, powers[min(powers)])]
    rows += [(MacOp.HOLD, None)] * ((len(full) + len(rows)) % 2)
    return concatenated([sequence(unit, full, unit.products), sequence(unit, rows)])
