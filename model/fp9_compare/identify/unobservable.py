"""Fields of an accumulator model that have no effect on any sum of the given operand formats."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fp9.engines import PARAMETERS, Addend, Engine, Truncation
from fp9.formats import FixedFormat, floor_log2
from fp9.formats.rounding import Overflow, Rounding
from fp9.sums.operands import bit_range
from fp9_compare.identify.fields import with_values
from fp9_compare.identify.interface import Interface


def _unused(engine: Engine, interface: Interface) -> set[str]:
    # The tested operands have no scales. `zero_bypass` only matters for formats that use one code for NaN and infinity,
    # `truncation` and `addend` for an alignment window, `products` for inexact additions, and `interleave` for chunks
    # of several steps.
    unobservable = {"scaling"}
    if not (interface.a.nan_is_inf or interface.b.nan_is_inf):
        unobservable.add("zero_bypass")
    if engine.window.width is None:
        unobservable |= {"truncation", "addend"}
    if engine.step.exact:
        unobservable.add("products")
    filled = engine.chunk.length is not None and interface.depth % engine.chunk.length == 0
    if (
        filled
        and engine.chunk.length == engine.step.products
        and engine.window.interleaved is None
        and engine.nan.infinity_run is None
    ):
        unobservable.add("interleave")
    return unobservable


def is_plain(engine: Engine, interface: Interface) -> bool:
    return all(p.of(engine) == p.default for p in map(PARAMETERS.__getitem__, _unused(engine, interface)))


def plain(engine: Engine, interface: Interface) -> Engine:
    """Return an equivalent model in which fields without effect have their default values."""
    engine = engine.changed(**{name: PARAMETERS[name].default for name in _unused(engine, interface)})
    for rule in (_without_zeros, _one_overflow, _without_overflow, _shortest, _fewest, _without_addend):
        engine = with_values(engine, rule(engine, interface)) or engine
    return engine.changed(**{name: PARAMETERS[name].default for name in _unused(engine, interface)})


# Returns field values of an accumulator model that do not change any sum.
Rule = Callable[[Engine, Interface], dict[str, Any]]


def _lowest_product(interface: Interface) -> int:
    return bit_range(interface.a)[0] + bit_range(interface.b)[0]


def _without_zeros(engine: Engine, interface: Interface) -> dict[str, Any]:
    # The field has an effect only if an alignment window at this exponent truncates a product or an addend.
    if engine.window.zero_exponent is None or engine.window.width is None or engine.step.group is not None:
        return {}
    lowest = _lowest_product(interface)
    if engine.chunk.length is None and engine.window.addend is not Addend.OUTSIDE:
        lowest = min(lowest, bit_range(engine.addend_format)[0])
    return {"zero_exponent": None} if engine.window.zero_exponent - engine.window.width <= lowest else {}


def _one_overflow(engine: Engine, _: Interface) -> dict[str, Any]:
    # `inf`, `directed` and `sat_none` give equal results if the formats have infinities and all rounding is to nearest.
    nearest = engine.result.rounding.is_nearest and engine.output_rounding.is_nearest
    if engine.result.overflow is Overflow.PROPAGATE:
        return {"overflow": Overflow.SATURATE}
    if nearest and _has_infinities(engine) and engine.result.overflow in (Overflow.DIRECTED, Overflow.SAT_NONE):
        return {"overflow": Overflow.INF}
    return {}


def _has_infinities(engine: Engine) -> bool:
    return all(isinstance(fmt, FixedFormat) and fmt.has_inf for fmt in (engine.result.format, engine.output))


def _without_overflow(engine: Engine, interface: Interface) -> dict[str, Any]:
    # No sum overflows if the sum of the largest possible products, with a safety factor, is less than half an ulp of
    # the largest result. A chunk's sum must also be less than the largest number of the chunk format.
    to_total = engine.output_rounding if engine.chunk.length is not None else engine.result.rounding
    never_up = to_total.is_nearest or to_total is Rounding.RTZ
    cut_down = (
        engine.window.width is None or engine.window.truncation is Truncation.ZERO or engine.chunk.length is not None
    )
    if not (never_up and cut_down) or engine.window.interleaved is not None or engine.addend_format != engine.output:
        return {}
    products = _CUT_UPWARD * interface.depth * Fraction(_largest(interface.a)) * Fraction(_largest(interface.b))
    half = Fraction(2) ** (floor_log2(engine.output.max_magnitude) - engine.output.precision)
    fits = products < half and (engine.chunk.length is None or products < engine.result.format.max_magnitude)
    return {"overflow": Overflow.INF} if fits else {}


# Generous upper bound on the factor by which truncation and rounding increase a sum.
_CUT_UPWARD = 8


def _largest(fmt: Any) -> Fraction:
    return Fraction(2) ** (bit_range(fmt)[1] + 1)


def _shortest(engine: Engine, interface: Interface) -> dict[str, Any]:
    if (
        engine.chunk.interleave is not None
        or engine.step.group is not None
        or engine.window.interleaved is not None
        or engine.step.exact
    ):
        return {}
    products = min(engine.step.products, interface.depth)
    chunk = engine.chunk.length and min(engine.chunk.length, -(-interface.depth // products) * products)
    return {"products": products, "chunk": chunk}


def _fewest(engine: Engine, interface: Interface) -> dict[str, Any]:
    run, steps = engine.chunk.interleave, engine.steps_of_chunk
    if run is None or engine.chunk.length is None or engine.chunk.length < interface.depth:
        return {}
    turns = -(-interface.depth // (steps * run)) + (engine.window.zero_exponent is not None)
    products = min(engine.step.products, turns * run)
    return {"products": products, "chunk": products * steps}


def _without_addend(engine: Engine, _: Interface) -> dict[str, Any]:
    # The addend alignment has no effect if every chunk is a single addition step that starts at +0.
    alone = engine.chunk.length == engine.step.products and engine.window.zero_exponent is None
    return (
        {"addend": PARAMETERS["addend"].default}
        if alone and engine.window.interleaved is None and engine.step.group is None
        else {}
    )
