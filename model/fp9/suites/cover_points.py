"""Rare cover points that the smoke suite of a unit must hit.

Each family of cover points has an array (n,), in which element i is the number of the cover point that operation i
hits. In the array of a family, the number 0 means that an operation hits no cover point of the family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode, decode_native
from fp9.formats import FixedFormat, Format
from fp9.golden import evaluate
from fp9.golden.selects import signed
from fp9.suites.columns import Codes, Inputs, chosen_formats, fixed, one_of_each
from fp9.suites.rounded_products import product_cover_points
from fp9.units import SCALE_BITS, Cast, Dot, Fma, Mac, MacOp, Mul, Unit, code_tables
from fp9.units.hooks import Hook

Numbers = NDArray[np.int64]

_ORDINARY, _ZERO, _SUBNORMAL, _SMALLEST_NORMAL, _LARGEST, _INFINITE, _NAN = range(7)
_MOST = 1 << 8


def cover_point_indices(unit: Unit, columns: Inputs, rng: np.random.Generator) -> NDArray[np.intp]:
    """Select random operations that together hit every cover point."""
    taken: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
    for numbers in _families(unit, columns):
        missing = np.where(np.isin(numbers, numbers[taken]), 0, numbers)
        taken = np.union1d(taken, one_of_each(missing, rng))
    return taken


# --- sums -----------------------------------------------------------------------------------------------------------


def _special_codes(unit: Fma, columns: Inputs) -> Iterator[Numbers]:
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        chosen = chosen_formats(columns, operand, formats, len(columns[operand]))
        finite = np.isfinite(code_tables(formats)[chosen, columns[operand]])
        yield np.where(finite, 0, 1 + chosen * _MOST + columns[operand])


def _ways(unit: Dot, columns: Inputs) -> Numbers:
    # LOAD and ACCUMULATE have separate cover points. With several kinds of special operands, an operation with several
    # products hits no cover point.
    output = fixed(unit.engine.output)
    codes = evaluate(unit, columns)["result"]
    result = _classes(output, codes)
    operation = np.broadcast_to(columns.get("op", np.int64(MacOp.LOAD)), codes.shape)
    which = (operation != MacOp.LOAD).astype(np.int64)
    specials = np.zeros(codes.shape, dtype=np.int64)
    for kinds in _kinds(unit, columns):
        which = which * (_NAN - _LARGEST + 1) + kinds
        specials += kinds > 0
    negative = ((codes & output.sign_mask) != 0) & (result != _NAN)
    none = (result == _ORDINARY) | ~np.isin(operation, [MacOp.LOAD, MacOp.ACCUMULATE])
    none |= (specials > 1) & (unit.products > 1)
    return np.where(none, 0, (which * 2 + negative) * (_NAN + 1) + result)


def _kinds(unit: Dot, columns: Inputs) -> Iterator[Numbers]:
    # 0 if all values are finite, 1 for an infinity, 2 for a NaN. In an accumulator with chunks, earlier operations also
    # decide the result.
    if unit.has_state and unit.engine.chunk.length:
        return
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        lanes = unit.lane_names(operand)
        chosen = chosen_formats(columns, operand, formats, len(columns[lanes[0]]))
        yield _most_special([code_tables(formats)[chosen, columns[lane]] for lane in lanes])
        if unit.scale is not None:
            numbers = np.asarray(unit.scale.table, dtype=np.float64)
            yield _most_special([numbers[columns[name]] for name in unit.scale_names(operand)])
    if "c" in columns:
        kinds = np.maximum(_classes(fixed(unit.engine.output), columns["c"]), _LARGEST) - _LARGEST
        yield np.where(_reads_addend(columns), kinds, 0)


def _most_special(values: Sequence[NDArray[np.float64]]) -> Numbers:
    return np.asarray(np.max([_specials(value) for value in values], axis=0), dtype=np.int64)


def _specials(values: NDArray[np.float64]) -> Numbers:
    return np.asarray(np.isinf(values) + 2 * np.isnan(values), dtype=np.int64)


def _reads_addend(columns: Inputs) -> NDArray[np.bool_]:
    return np.asarray(np.asarray(columns.get("op", MacOp.LOAD)) == MacOp.LOAD, dtype=np.bool_)


def _classes(fmt: FixedFormat, codes: Codes) -> Numbers:
    magnitudes = codes.astype(np.int64) & fmt.magnitude_mask
    normal = fmt.code_of(Fraction(fmt.smallest_normal))
    is_class = {
        _ZERO: magnitudes == 0,
        _SUBNORMAL: (magnitudes > 0) & (magnitudes < normal),
        _SMALLEST_NORMAL: magnitudes == normal,
        _LARGEST: magnitudes == fmt.max_code,
        _INFINITE: magnitudes == fmt.inf_code(False),
        _NAN: (magnitudes > fmt.max_code) & (magnitudes != fmt.inf_code(False)),
    }
    return np.select([*is_class.values()], [*is_class], _ORDINARY)


# --- several products ----------------------------------------------------------------------------------------------


def _of_several_products(unit: Dot, columns: Inputs) -> NDArray[np.int64]:
    # A single special operand gives its lane and class. If all products are zero, addends are zero, or negative with a
    # single bit set.
    count = len(columns[unit.lane_names("a")[0]])
    alone: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
    number: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
    for operand, formats in (("a", unit.a), ("b", unit.b)):
        tables = code_tables(formats)
        chosen = chosen_formats(columns, operand, formats, count)
        for place, lane in enumerate(unit.lane_names(operand)):
            special = _specials(tables[chosen, columns[lane]])
            number += np.where(special > 0, 256 * (place + 1) + 4 * (operand == "b") + special, 0)
            alone += special > 0
    lone: NDArray[np.int64] = np.where(alone == 1, number, 0)
    if "c" not in columns:
        return lone
    zero = np.where(_reads_addend(columns), all_zero(unit, columns), 0)
    code = columns["c"].astype(np.int64)
    magnitude = code & (fixed(unit.engine.output).sign_mask - 1)
    single = (magnitude & (magnitude - 1)) == 0
    telling = (magnitude == 0) | single & (code != magnitude)
    beside: NDArray[np.int64] = np.where(magnitude == 0, zero << 32, 0) | code
    return np.asarray(np.where(telling & (zero > 0), -1 - beside, lone), dtype=np.int64)


def _cancelled(unit: Dot, columns: Inputs) -> Numbers:
    """Count the leading bits that cancel when each operation adds its addend to the sum of its products."""
    output, total = fixed(unit.engine.output), fixed(unit.engine.addend_format)
    addend = columns["c"] & ~np.uint32((1 << output.padding) - 1)
    products, left = (evaluate(unit, columns | other)["result"] for other in ({"c": np.zeros_like(addend)}, {}))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        terms = np.abs([decode(codes, total).astype(np.float64) for codes in (products, addend, left)])
    counts = np.all(np.isfinite(terms) & (terms > 0), axis=0) & _reads_addend(columns)
    exponents = np.frexp(np.where(counts, terms, 1.0))[1].astype(np.int64)
    return np.where(counts, np.maximum(0, exponents[:2].max(axis=0) - exponents[2]), 0)


def all_zero(unit: Dot, columns: Inputs) -> NDArray[np.int64]:
    """Return 2 if all products are -0, else 1 if all products are zero, else 0."""
    sign = 1 << (unit.a[0].bits - 1)
    zero = np.ones(len(columns[unit.lane_names("a")[0]]), dtype=np.bool_)
    negative = zero.copy()
    for a, b in zip(unit.lane_names("a"), unit.lane_names("b"), strict=True):
        # A code with only zero bits below the sign bit counts as zero, even if the code means NaN.
        zero &= ((columns[a] & (sign - 1)) == 0) | ((columns[b] & (sign - 1)) == 0)
        negative &= ((columns[a] ^ columns[b]) & sign) != 0
    return zero.astype(np.int64) + (zero & negative)


# --- casts ----------------------------------------------------------------------------------------------------------


def _of_casts(unit: Cast, columns: Inputs) -> Iterator[Numbers]:
    source, count = fixed(unit.source), len(columns[unit.lane_names("x")[0]])
    target, rounding, overflow = (
        np.minimum(columns.get(select, np.zeros(count, np.uint8)), len(choices) - 1).astype(np.int64)
        for select, choices in (("target", unit.targets), ("rounding", unit.roundings), ("overflow", unit.overflow))
    )
    scale = signed(columns["scale"], SCALE_BITS) if unit.scale else np.zeros(count, np.int64)
    for x in unit.lane_names("x"):
        classes = _classes(source, columns[x])
        finite = np.where(classes < _INFINITE, columns[x] & source.magnitude_mask, 0).astype(source.dtype)
        values = np.ldexp(decode_native(finite, source).astype(np.float64), scale)
        for family in (_sides, _ties):
            numbers = np.select(
                [target == index for index in range(len(unit.targets))], [family(fmt, values) for fmt in unit.targets]
            )
            yield _told_apart(numbers, target, rounding)
        yield _told_apart(classes, target, overflow)


def _told_apart(numbers: Numbers, *selects: Numbers) -> Numbers:
    combined = numbers
    for select in selects:
        combined = combined * _MOST + select
    return np.where(numbers == 0, 0, combined)


def _sides(fmt: Format, values: NDArray[np.float64]) -> Numbers:
    # Distances are in steps next to the point: 1 and 2 around the largest number, 3 the binade above it, 4 and 5 below
    # the smallest normal number, 6 and 7 below the smallest number. Class 4 rounds up even with unbounded exponent,
    # class 5 only on the subnormal grid. Ties belong to no class.
    magnitudes = np.array([fmt.to_float(int(code)) for code in fmt.ordered_magnitudes()])
    below, largest = magnitudes[-2:]
    below_normal = magnitudes[np.searchsorted(magnitudes, fmt.smallest_normal) - 1]
    sides = []
    for point, step, places in (
        (largest, largest - below, ((-1 / 2, 1 / 2), (1 / 2, 1))),
        (np.exp2(np.floor(np.log2(largest)) + 1), largest, ((0, 1),)),
        (fmt.smallest_normal, fmt.smallest_normal - below_normal, ((-1 / 4, 0), (-1 / 2, -1 / 4))),
        (fmt.smallest, fmt.smallest, ((-1 / 2, 0), (-7 / 8, -1 / 2))),
    ):
        steps = (values - point) / step
        sides += [(steps > low) & (steps < high) for low, high in places]
    return np.select(sides, np.arange(1, len(sides) + 1), 0)


def _ties(fmt: Format, values: NDArray[np.float64]) -> Numbers:
    # 1 for a tie above an even target code, 2 for a tie above an odd code.
    magnitudes = np.array([fmt.to_float(int(code)) for code in fmt.ordered_magnitudes()])
    middles = (magnitudes[1:] + magnitudes[:-1]) / 2
    place = np.minimum(np.searchsorted(middles, values), len(middles) - 1)
    return np.where(middles[place] == values, 1 + place % 2, 0)


def _of_sums(unit: Dot, columns: Inputs) -> Iterator[Numbers]:
    if unit.products > 1:
        yield _of_several_products(unit, columns)
    yield _ways(unit, columns)


def _of_multiply_adds(unit: Fma, columns: Inputs) -> Iterator[Numbers]:
    yield from _special_codes(unit, columns)
    yield _ways(unit, columns)


def _of_accumulations(unit: Mac, columns: Inputs) -> Iterator[Numbers]:
    if unit.products > 1:
        yield _of_several_products(unit, columns)
    if unit.scale is not None:
        yield _cancelled(unit, columns)
    yield _ways(unit, columns)


_families: Hook[[Inputs], Iterator[Numbers]] = Hook(
    "cover points of smoke suites",
    {
        Cast: _of_casts,
        Mul: product_cover_points,
        Dot: _of_sums,
        Fma: _of_multiply_adds,
        Mac: _of_accumulations,
    },
    otherwise=lambda unit, columns: iter(()),
)
