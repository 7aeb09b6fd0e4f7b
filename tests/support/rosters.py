"""Parameters of tests, derived from the catalogues, so that a new catalogue row is tested automatically.

Accepted formats are found by trial, so that a lifted limit of a specification extends the tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from fp9.engines import ENGINES, Engine, Result, engine, format_of_scales
from fp9.formats import FAMILIES, NAMED, Format, Rounding, format
from fp9.formats.blocks import BLOCK_FORMATS, BlockFormat
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow
from fp9.sums.fast import fitting
from fp9.sums.operands import operand
from fp9.sums.strategy import depth_bits
from fp9.sums.tiles import EVERY_STRATEGY
from fp9.units import CATALOGUE, Cast, Decoder, Quantiser, Unit

# --- roundings ------------------------------------------------------------------------------------------------------

DETERMINISTIC = tuple(mode for mode in Rounding if not mode.needs_bits and not mode.reads_source)
"""Rounding modes that depend only on the number and the target format."""

MONOTONE = tuple(mode for mode in Rounding if mode.is_monotone)
"""Rounding modes that keep the order of numbers, so that thresholds describe them completely."""

# --- formats --------------------------------------------------------------------------------------------------------


def taken(formats: Iterable[Format], spec: Callable[[Format], object]) -> tuple[Format, ...]:
    """Return the formats for which a specification can be made without an error."""

    def takes(fmt: Format) -> bool:
        try:
            spec(fmt)
        except ValueError:
            return False
        return True

    return tuple(fmt for fmt in formats if takes(fmt))


EVERY_FORMAT: tuple[Format, ...] = (*NAMED.values(), *(family() for family in FAMILIES.values()))

UNUSUAL = tuple(
    format(name)
    for name in (
        *("hfp8_143(bias=-3)", "hfp8_143(bias=4,reserve_top=False)", "f143(bias=10)", "f152(bias=20)"),
        *("f161(bias=60)", "int8(bias=9)", "1.5.10,b=3", "1.8.10,b=127,specials=ieee"),
        *("binary8p4sf", "binary6p3uf", "binary4p2ue", "binary3p1se"),
    )
)
"""Formats with parameters and descriptions that no catalogue row has."""

TARGETS = EVERY_FORMAT + UNUSUAL
"""Formats that `fp9.encode` takes."""

TABLED = tuple(fmt for fmt in TARGETS if fmt.bits <= 16)
"""Formats that have a table of all codes."""

SMALL = tuple(fmt for fmt in TABLED if fmt.bits <= 9)
"""Formats with so few codes that a test can check each code."""

FACTORS = tuple(fmt for fmt in EVERY_FORMAT if fmt.bits <= 8)
"""Operands of at most 8 bits that `fp9.dot` takes."""

CAST_TARGETS = taken(TARGETS, lambda fmt: Cast("cast", format("fp32"), (fmt,), (Rounding.RNE,)))

WITH_ZERO = tuple(fmt for fmt in SMALL if fmt.signed)
"""Small formats with a zero. In other formats, code 0 is no threshold."""

CIRCUIT_TARGETS = tuple(fmt for fmt in CAST_TARGETS if fmt.signed)
"""Target formats of cast units that have hardware."""

CAST_SOURCES = taken(EVERY_FORMAT, lambda fmt: Cast("cast", fmt, (format("e4m3"),), (Rounding.RNE,)))

OPERANDS = taken(TARGETS, lambda fmt: Decoder("decoder", (fmt,)))
"""Operand formats of all units that multiply. tests/rtl/sums/test_wide_operands.py has wider formats."""


UNSIGNED_P3109 = tuple(
    format(f"binary{bits}p{precision}u{domain}")
    for bits in range(3, 9)
    for precision in range(1, bits + 1)
    for domain in "ef"
)
"""Every unsigned format of P3109."""

UNSIGNED = tuple(fmt for fmt in (*EVERY_FORMAT, *UNSIGNED_P3109) if not fmt.signed)

SCALES = taken(
    UNSIGNED,
    lambda fmt: format_of_scales(ENGINES["mx"], fmt, None),
)
"""Formats of the scales of operands."""

INFINITE_SCALES = tuple(fmt for fmt in UNSIGNED_P3109 if fmt.has_inf)
"""Unsigned formats with an infinity."""


def _quantised(block: BlockFormat) -> bool:
    try:
        return bool(Quantiser("quantiser", format("fp32"), block, (block.rule(None),)))
    except ValueError:
        return False


QUANTISED = tuple(filter(_quantised, BLOCK_FORMATS.values()))

QUANTISER_SOURCES = taken(EVERY_FORMAT, lambda fmt: Quantiser("quantiser", fmt, QUANTISED[0], QUANTISED[0].rules))

ACCUMULATORS = taken((fmt for fmt in EVERY_FORMAT if fmt.bits >= 16), lambda fmt: Engine(result=Result(fmt)))
"""Result formats of units that multiply and add."""


def by_source(formats: Iterable[Format]) -> dict[str, tuple[Format, ...]]:
    """Return the formats of each publication, which a unit offers together, with `UNUSUAL` formats apart."""
    groups: dict[str, tuple[Format, ...]] = {}
    for fmt in formats:
        source = "unusual" if fmt in UNUSUAL else fmt.source
        groups[source] = (*groups.get(source, ()), fmt)
    return groups


def roundings_of(source: Format) -> tuple[Rounding, ...]:
    """Return the rounding modes without random bits that a cast unit offers for a source format."""
    hybrid = taken((source,), lambda fmt: Cast("cast", fmt, (format("hif8"),), (Rounding.HYBRID,)))
    return DETERMINISTIC + ((Rounding.HYBRID,) if hybrid else ())


def overflows(target: Format) -> tuple[Overflow, ...]:
    return tuple(Overflow) if target.has_nan else (Overflow.SATURATE,)


def beyond(target: Format) -> Overflow:
    """Return the overflow policy that gives infinity or NaN, if the target format has such codes."""
    return Overflow.INF if target.has_nan else Overflow.SATURATE


def policy_of(target: Format, rounding: Rounding | None, overflow: Overflow = Overflow.SATURATE) -> CastPolicy:
    """Return a policy that gives a result for every number and NaN."""
    return CastPolicy(rounding, overflow, nan_to_zero=not target.has_nan)


# --- engines and units ----------------------------------------------------------------------------------------------

PRESETS = tuple(name for name in ENGINES if ENGINES[name].step.group is None)

GROUPED = tuple(name for name in ENGINES if ENGINES[name].step.group is not None)
"""Names of the engines that sum groups of narrow products."""


def of_each_kernel(names: Iterable[str]) -> list[ParameterSet]:
    """Return engines as test parameters. All but the first engine of each kernel of matrix products are marked slow.

    Every further kernel takes seconds to compile.
    """
    span, seen, rows = operand(np.zeros(1, np.uint8), "e4m3").span, set(), []
    for name in names:
        found = engine(name)
        joins = found.chunk.length is not None
        kernel = next(iter(fitting(EVERY_STRATEGY, found, span, span, joins, depth_bits(64))), None), joins
        rows.append(pytest.param(name, marks=pytest.mark.slow if kernel in seen else ()))
        seen.add(kernel)
    return rows


def units(kind: type[Unit]) -> list[Unit]:
    return [unit for unit in CATALOGUE.values() if type(unit) is kind]


def one_of_each_kind(stages: bool) -> list[Unit]:
    """Return the first unit of each kind in the catalogue, with or without `stages`."""
    found: dict[str, Unit] = {}
    for unit in CATALOGUE.values():
        if bool(unit.stages) is stages:
            found.setdefault(unit.kind, unit)
    return list(found.values())


# --- samples --------------------------------------------------------------------------------------------------------


def together(*rosters: Iterable[object], times: int = 1) -> list[tuple[object, ...]]:
    """Return combinations of rows, in which every row of each roster occurs at least `times` times.

    All combinations of the rosters would take too long.
    """
    columns = [tuple(roster) for roster in rosters]
    longest = max(len(column) for column in columns)
    return [
        tuple(column[(place + turn * (number > 0)) % len(column)] for number, column in enumerate(columns))
        for turn, place in itertools.product(range(times), range(longest))
    ]


# --- what is left to `make test-slow` and `make test-long` ------------------------------------------------------------


def thinned(rows: Iterable[object], every: int = 3) -> list[ParameterSet]:
    """Return rows as test parameters. All rows but one in `every` rows are marked as long tests."""
    return [_parameters(row, place % every == 0) for place, row in enumerate(rows)]


def each_kind(rows: Iterable[Unit]) -> list[ParameterSet]:
    """Return units as test parameters. All but the first of each kind, with and without stages, are marked long."""
    chosen = list(rows)
    first = _firsts(chosen)
    return [_parameters(unit, unit in first) for unit in chosen]


def every_circuit() -> list[ParameterSet]:
    """Return the catalogue's units as parameters of a test that builds their circuits.

    All units but the first of each kind, with and without stages, are marked slow, because a circuit takes seconds.
    """
    first = _firsts(CATALOGUE.values())
    return [
        pytest.param(unit, marks=() if unit in first else pytest.mark.slow, id=name) for name, unit in CATALOGUE.items()
    ]


def _firsts(rows: Iterable[Unit]) -> list[Unit]:
    first = dict[tuple[str, bool], Unit]()
    for unit in rows:
        first.setdefault((unit.kind, bool(unit.stages)), unit)
    return list(first.values())


def _parameters(row: object, at_once: bool) -> ParameterSet:
    return pytest.param(*row if isinstance(row, tuple) else (row,), marks=() if at_once else pytest.mark.long)
