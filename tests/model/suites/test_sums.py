"""Families of sums whose operations do what they are made for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import units

import fp9
from fp9.engines import Truncation
from fp9.formats import pow2
from fp9.formats.rounding import Flags, Rounding
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.suites.columns import Inputs, chosen_formats, classes, concatenated, fixed, walking_codes
from fp9.suites.sums.alignment_loss import (
    alignment_loss_corner,
    alignment_loss_of_addend_corner,
    alignment_loss_of_sum_corner,
)
from fp9.suites.sums.cancellation_in_steps import cancellation_in_steps_corner
from fp9.suites.sums.cancelled_infinity import cancelled_infinity_corner
from fp9.suites.sums.carry_into_normal import carry_into_normal_corner
from fp9.suites.sums.carry_out import carry_out_corner
from fp9.suites.sums.loss_before_last_step import loss_before_last_step_corner
from fp9.suites.sums.overflowing_products import overflowing_products_corner
from fp9.suites.sums.product_and_addend import nans
from fp9.suites.sums.residue_of_cancellation import residue_corner
from fp9.suites.sums.rounded_up_to_normal import rounded_up_to_normal_corner
from fp9.suites.sums.second_block_after_cancellation import second_block_corner
from fp9.suites.sums.sum_corner import operand_pairs
from fp9.suites.sums.underflowed_chunk import underflowed_chunk_corner
from fp9.units import CATALOGUE, Dot, Mac, MacOp, code_tables, product_range

Family = Callable[[Dot, np.random.Generator], Iterator[Inputs]]


DOTS = [unit for unit in CATALOGUE.values() if type(unit) is Dot]


@functools.cache
def operations(family: Family, unit: Dot) -> Inputs:
    """The operations of a family, or no columns where a unit has none."""
    parts = [*family(unit, np.random.default_rng(0))]
    return concatenated(parts) if parts else {}


def units_of(family: Family) -> list[Dot]:
    return [unit for unit in DOTS if operations(family, unit)]


def exact_products(unit: Dot, made: Inputs) -> NDArray[np.float64]:
    """Shape (products, n), without scales."""
    a, b = (
        [code_tables(formats)[chosen_formats(made, name, formats, len(made[lane])), made[lane]] for lane in lanes]
        for name, formats, lanes in (("a", unit.a, unit.lane_names("a")), ("b", unit.b, unit.lane_names("b")))
    )
    return np.multiply(a, b)


def test_families_have_units() -> None:
    lost = (alignment_loss_corner, alignment_loss_of_addend_corner, alignment_loss_of_sum_corner)
    families = (
        loss_before_last_step_corner,
        overflowing_products_corner,
        cancelled_infinity_corner,
        *lost,
        residue_corner,
        underflowed_chunk_corner,
        rounded_up_to_normal_corner,
    )
    assert all(
        units_of(family)
        for family in (
            *families,
            carry_out_corner,
            cancellation_in_steps_corner,
            carry_into_normal_corner,
            second_block_corner,
        )
    )
    assert all(unit.engine.steps_of_chunk > 1 for unit in units_of(loss_before_last_step_corner))


def test_every_chunk_of_one_step_meets_infinities_whose_bits_cancel() -> None:
    """However many products the step has."""
    one_step, infinite = [unit for unit in DOTS if unit.engine.steps_of_chunk == 1], units_of(cancelled_infinity_corner)
    assert [unit for unit in one_step if any(fmt.has_inf for fmt in (*unit.a, *unit.b))] == infinite
    assert len({unit.products for unit in infinite}) > 1


def test_products_beyond_the_largest_result_come_back_and_do_not() -> None:
    for unit in units_of(overflowing_products_corner):
        results = evaluate(unit, operations(overflowing_products_corner, unit))
        overflows = (results["flags"] & Flags.OVERFLOW) != 0
        finite = np.isfinite(fp9.decode(results["result"], unit.engine.output))
        assert overflows.mean() > 0.05, unit.name
        assert (finite & (results["result"] != 0)).mean() > 0.05, unit.name


CHANGES: list[dict[str, Any]] = [
    {"window": 24},
    {"window": 26},
    {"truncation": Truncation.JAM},
    {"truncation": Truncation.FLOOR},
    {"rounding": Rounding.RNA},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_last_bits_of_every_step_are_seen(change: dict[str, Any]) -> None:
    """An engine that differs behind a step's last bit gives other results, or other flags."""
    for unit in units_of(loss_before_last_step_corner):
        made = operations(loss_before_last_step_corner, unit)
        other = replace(unit, engine=unit.engine.changed(**change))
        right, changed = evaluate(unit, made), evaluate(other, made)
        assert np.any([right[name] != changed[name] for name in right], axis=0).sum() > 10, unit.name


def test_an_infinity_counts_although_another_product_cancels_its_bits() -> None:
    """With the number that an infinity would be in its place, the products of every operation cancel."""
    for unit in units_of(cancelled_infinity_corner):
        made = operations(cancelled_infinity_corner, unit)
        sums = np.zeros(len(made["c"]))
        infinite = np.zeros(len(sums), dtype=np.int64)
        for lanes in zip(unit.lane_names("a"), unit.lane_names("b"), strict=True):
            product = np.ones(len(sums))
            for operand, formats, lane in zip("ab", (unit.a, unit.b), lanes, strict=True):
                chosen = np.minimum(made[f"{operand}_format"], len(formats) - 1)
                value = np.array([fp9.decode(np.arange(256), fmt) for fmt in formats])[chosen, made[lane]]
                behind = np.array([2.0 ** (fixed(fmt).highest_exponent + 1) for fmt in formats])[chosen]
                infinite += np.isinf(value)
                product *= np.where(np.isinf(value), np.copysign(behind, value), value)
            sums += product
        assert np.all(sums == 0) and np.all(infinite == 1), unit.name
        results = fp9.decode(evaluate(unit, made)["result"], unit.engine.output)
        assert not np.isfinite(results).any(), unit.name
        assert {*results[np.isinf(results)].tolist()} == {-np.inf, np.inf}, unit.name


def test_in_every_lane_what_one_product_loses_decides_inexact_alone() -> None:
    """Where the lane is zero instead, nothing is lost."""
    for unit in units_of(alignment_loss_corner):
        made = operations(alignment_loss_corner, unit)
        inexact = (evaluate(unit, made)["flags"] & Flags.INEXACT) != 0
        decides = np.zeros((unit.products, len(inexact)), dtype=np.bool_)
        for place, lane in enumerate(unit.lane_names("a")):
            without = evaluate(unit, made | {lane: np.zeros_like(made[lane])})
            decides[place] = inexact & (without["flags"] & Flags.INEXACT == 0)
        assert np.all(decides.any(axis=0) == inexact) and 0.5 < inexact.mean() < 0.9, unit.name
        formats = made["a_format"] * 2 + made["b_format"]
        assert all(decides[:, formats == pair].sum(axis=1).min() > 50 for pair in np.unique(formats)), unit.name


def test_every_lost_bit_of_an_addend_decides_inexact_alone() -> None:
    """Without it, its lowest bit, nothing is lost."""
    for unit in units_of(alignment_loss_of_addend_corner):
        made = operations(alignment_loss_of_addend_corner, unit)
        lowest = made["c"] & -made["c"]
        without = made | {"c": made["c"] ^ lowest}
        decides = np.not_equal(*(evaluate(unit, columns)["flags"] & Flags.INEXACT for columns in (made, without)))
        below = range(fixed(unit.engine.output).padding)
        assert all(np.any(decides & (lowest == 1 << place)) for place in below), unit.name


def test_of_a_sum_of_products_the_lower_bit_alone_is_lost() -> None:
    """It has two bits, of which the upper one is in the result; the addend has none below that."""
    for unit in units_of(alignment_loss_of_sum_corner):
        made, result = operations(alignment_loss_of_sum_corner, unit), fixed(unit.engine.output)
        sums = np.abs(exact_products(unit, made).sum(axis=0))
        upper = np.exp2(np.floor(np.log2(sums)))
        lower = sums - upper
        assert np.all(np.frexp(lower)[0] == 0.5), unit.name
        c = np.abs(fp9.decode(made["c"], result).astype(np.float64))
        last = np.exp2(np.floor(np.log2(np.maximum(c, result.smallest_normal))) - result.fraction_bits)
        alone = (lower < last) & (last <= upper)
        inexact = (evaluate(unit, made)["flags"] & Flags.INEXACT) != 0
        # A sum that falls by a binade has one more place.
        assert alone.mean() > 0.2 and inexact[alone].mean() > 0.9, unit.name


def test_what_is_left_of_large_products_is_normal_subnormal_or_too_small() -> None:
    """The smallest product of a sum alone decides result or flags: these are others where it is zero instead."""
    for unit in units_of(residue_corner):
        made, result = operations(residue_corner, unit), fixed(unit.engine.output)
        rows, products = np.arange(len(made["c"])), np.abs(exact_products(unit, made))
        smallest = np.where(products > 0, products, np.inf).argmin(axis=0)
        without = dict(made)
        for place, lane in enumerate(unit.lane_names("a")):
            without[lane] = np.where(smallest == place, 0, made[lane])
        right, other = evaluate(unit, made), evaluate(unit, without)
        decides = (right["result"] != other["result"]) | (right["flags"] != other["flags"])
        alone = products[smallest, rows] == products.sum(axis=0)
        size = np.abs(fp9.decode(right["result"], result).astype(np.float64))
        beside = np.isfinite(size) & decides & ~alone
        assert decides.mean() > 0.4, unit.name
        for kind in (size >= result.smallest_normal, size < result.smallest_normal):
            assert (beside & kind).mean() > 0.03, unit.name
        assert (decides & alone & (right["flags"] == Flags.INEXACT)).any(), unit.name


def test_a_chunk_that_comes_to_nothing_leaves_a_flag_with_every_class_of_addend() -> None:
    """The result is the one of no products, and inexact; these are not zero."""
    for unit in units_of(underflowed_chunk_corner):
        made, result = operations(underflowed_chunk_corner, unit), unit.engine.output
        alone = evaluate(unit, made | {"c": np.zeros_like(made["c"])})
        assert np.all(np.abs(fp9.decode(alone["result"], result)) == 0), unit.name
        inexact = (alone["flags"] & Flags.INEXACT) != 0
        assert inexact.mean() > 0.9, unit.name
        ours = evaluate(unit, made)
        none = evaluate(unit, made | {name: np.zeros_like(made[name]) for name in unit.lane_names("a")})
        addend = fp9.decode(none["result"], result)
        counts = np.isfinite(addend) & (addend != 0)
        assert np.array_equal(ours["result"][counts], none["result"][counts]), unit.name
        assert np.array_equal((ours["flags"] & Flags.INEXACT)[counts] != 0, inexact[counts]), unit.name
        assert {*made["c"][inexact].tolist()} == {*classes(result)}, unit.name


def test_sums_are_rounded_up_to_the_smallest_normal_number_of_either_sign() -> None:
    """Beside an addend of zero the result is that number, and says that it underflows."""
    for unit in units_of(rounded_up_to_normal_corner):
        made, result = operations(rounded_up_to_normal_corner, unit), unit.engine.output
        ours = evaluate(unit, made)
        underflows = (ours["flags"] & Flags.UNDERFLOW) != 0
        size = fp9.decode(ours["result"][underflows], result).astype(np.float64)
        for sign in (-1, 1):
            assert (size == sign * result.smallest_normal).mean() > 0.2, unit.name


@pytest.mark.parametrize("unit", units(Dot), ids=lambda unit: unit.name)
def test_addends_are_nan_with_every_walking_payload(unit: Dot) -> None:
    result = fixed(unit.engine.output)
    codes = walking_codes(result)
    payloads = {*codes[(codes & result.magnitude_mask) > result.max_code].tolist()}
    pairs = [*operand_pairs(unit)]
    made = (nans(a.format, b.format, result, 1000, number, len(pairs)) for number, (a, b) in enumerate(pairs))
    assert payloads == {code for *_, c in made for code in c.tolist()}


def test_only_the_addend_lifts_full_sums_over_a_power_of_two() -> None:
    for unit in units_of(carry_out_corner):
        made = operations(carry_out_corner, unit)
        products = np.abs(exact_products(unit, made)[: unit.engine.step.products].sum(axis=0))
        together = products + np.abs(fp9.decode(made["c"], unit.engine.output).astype(np.float64))
        above = np.exp2(np.floor(np.log2(products)) + 1)
        assert (together >= above).mean() > 0.5, unit.name


def test_products_of_several_steps_cancel_and_leave_smaller_ones() -> None:
    for unit in units_of(cancellation_in_steps_corner):
        products = exact_products(unit, operations(cancellation_in_steps_corner, unit))
        cancel = (products[:, None] == -products) & (products != 0)
        assert np.all(cancel.any(axis=(0, 1))), unit.name
        assert (np.abs(products.sum(axis=0)) < np.abs(products).max(axis=0) / 4).mean() > 0.2, unit.name


def test_low_sums_just_carry_into_places_of_normal_and_subnormal_numbers() -> None:
    """Most sums are a power of two and at most an eighth of it."""
    for unit in units_of(carry_into_normal_corner):
        sums = np.abs(exact_products(unit, operations(carry_into_normal_corner, unit)).sum(axis=0))
        carried = np.frexp(sums)[0] < (1 + 1 / 7) / 2
        assert carried.mean() > 0.6, unit.name
        normal = sums >= fixed(unit.engine.result.format).smallest_normal
        assert (carried & normal).mean() > 0.1 and (carried & ~normal).mean() > 0.1, unit.name


def test_sums_of_blocks_lose_every_number_of_leading_bits_that_a_window_holds() -> None:
    """Of the larger one, which the addend takes away, nothing is left but where the other one stands; its lowest places
    are what a truncated product keeps."""
    for unit in units_of(second_block_corner):
        made, output = operations(second_block_corner, unit), unit.engine.output
        assert unit.engine.window.width is not None
        addend, left = (fp9.decode(codes, output) for codes in (made["c"], evaluate(unit, made)["result"]))
        both = np.isfinite(addend) & np.isfinite(left) & (addend != 0) & (left != 0)
        lost = np.frexp(addend[both])[1] - np.frexp(left[both])[1]
        assert {*range(1, unit.engine.window.width - 2)} <= {*lost.tolist()}, unit.name


@pytest.mark.parametrize("unit", [u for u in units(Mac) if u.engine.step.exact], ids=lambda unit: unit.name)
def test_a_register_of_fixed_point_gets_to_its_lowest_sum(unit: Mac) -> None:
    """Minus a power of two, which it holds, and whose opposite is too large for it."""
    corner = inputs_of(unit, "corner", None, 0)
    lowest = -pow2(unit.sum_bits - 1 + product_range(unit.a, unit.b, unit.bias_port).ulp)
    results = evaluate(unit, corner)
    held = (corner["op"] == MacOp.HOLD) & (fp9.decode(results["result"], unit.engine.output) == float(lowest))
    assert np.any(held & (results["flags"] == 0))
