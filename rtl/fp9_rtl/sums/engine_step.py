"""Build the datapath of one accumulation step: ports, products, sum, result."""

# | sum                                           | module     |
# |-----------------------------------------------|------------|
# | one product, exact                            | `adder`    |
# | two products, exact, to nearest, no subnormals| `pair`     |
# | several products, exact                       | `fixed`    |
# | truncated to a window                         | `window`   |
# | all steps of a chunk, and the final addition  | `chunks`   |
# | times scales, exact or truncated to a window  | `scaled`   |

from __future__ import annotations

from dataclasses import fields

from amaranth.lib import data

from fp9.units import OPERAND_SIGNIFICAND_BITS, Dot, Fma, significand_bits
from fp9_rtl.operands.addend import flush_addend
from fp9_rtl.parts.condition import Circuits, Condition, is_absent
from fp9_rtl.parts.step import Step
from fp9_rtl.rounding.facts import sum_facts
from fp9_rtl.rounding.rounder import Round
from fp9_rtl.sums import adder, gating, pair, scaled
from fp9_rtl.sums.chunks import chunk_steps
from fp9_rtl.sums.fixed import fixed_sum as fixed_point
from fp9_rtl.sums.multiply import DecodeOperands, Multiply
from fp9_rtl.sums.scaling import scale_names
from fp9_rtl.sums.window import window_sum as window


def _is_one_sum_of_several(unit: Dot) -> bool:
    engine = unit.engine
    return engine.step.products > 1 and engine.window.width is None and not engine.step.exact and unit.scale is None


CIRCUITS = (
    Circuits(
        "a dot or fma",
        Dot,
        (
            Condition(
                "engine.step.exact",
                is_absent,
                "false, or a mac",
                "the fixed-point register of an exact sum over all of K is that of an accumulator",
            ),
        ),
        lambda unit: not unit.has_state,
    ),
    Circuits(
        "an exact sum of several products",
        Dot,
        (
            Condition(
                "engine.nan.zero_bypass",
                lambda unit, value: is_absent(unit, value) or is_pair(unit),
                "false",
                "no preset of exact sums uses it; only the sum of two normal products has a circuit",
            ),
        ),
        _is_one_sum_of_several,
    ),
    *window.CIRCUITS,
    *scaled.CIRCUITS,
)


def is_fixed_point(unit: Dot) -> bool:
    engine = unit.engine.within_chunk
    return engine.step.products > 1 and engine.is_fused and not is_pair(unit)


def has_integers(unit: Dot) -> bool:
    """Return whether an operand format has more significand bits than 8-bit floating-point formats."""
    return significand_bits((*unit.a, *unit.b)) > OPERAND_SIGNIFICAND_BITS


def is_pair(unit: Dot) -> bool:
    """Return whether the module `pair` computes the unit's sum."""
    # The module `pair` supports only rounding to nearest, and only products that are not below the result's normal
    # numbers.
    engine = unit.engine.within_chunk
    return (
        engine.step.products == 2
        and not has_integers(unit)
        and engine.window.width is None
        and engine.nan.infinity_run is None
        and not engine.step.exact
        and engine.result.rounding.is_nearest
        and engine.addend_format == engine.result.format
        and sum_facts(unit).products.start >= engine.result.format.min_normal_exponent
    )


def dot_steps(unit: Dot) -> list[Step]:
    """Return all datapath stages of an `fma` or `dot` unit."""
    if unit.engine.chunk.length is not None:
        return _chunk_steps(unit)
    products = product_steps(unit, ("c",))
    return [*products, *sum_steps(unit, products[-1].o.shape())]


def _chunk_steps(unit: Dot) -> list[Step]:
    kind = Fma if unit.engine.step.products == 1 else Dot
    of_step = {"name": f"{unit.name}_step", "engine": unit.engine.within_chunk}
    step = kind(**{field.name: getattr(unit, field.name) for field in fields(unit)} | of_step)

    def steps_of_one(terms: data.StructLayout) -> list[Step]:
        first = _windowed_products(step, terms, ("c",))
        return [*first, *sum_steps(step, first[-1].o.shape() if first else terms)]

    # Scaled products belong to a single step and enter the step as one term.
    products = _exact_products(unit, ("c",)) if unit.scale is None else product_steps(step, ("c",))
    return [*products, *chunk_steps(unit, products[-1].o.shape(), steps_of_one)]


def product_steps(unit: Dot, passed: tuple[str, ...]) -> list[Step]:
    """Return the datapath stages from the input ports to the exact products, including scales.

    Products are normalised only if the sum uses neither fixed point nor an addition window.
    """
    if unit.scale is not None:
        aligned = unit.engine.window.width is not None and unit.engine.step.group is None
        exact = (_exact_products if aligned else fixed_point.product_steps)(unit, (*scale_names(unit), *passed))
        return [*exact, *scaled.product_steps(unit, exact[-1].o.shape(), passed)]
    products = _exact_products(unit, passed)
    return [*products, *_windowed_products(unit, products[-1].o.shape(), passed)]


def _exact_products(unit: Dot, passed: tuple[str, ...]) -> list[Step]:
    if is_fixed_point(unit):
        return fixed_point.product_steps(unit, passed)
    windowed = unit.engine.window.width is not None
    decode = DecodeOperands(unit, passed, not windowed, aligned=windowed)
    multiply = Multiply(unit, sum_facts(unit), decode.o.shape(), passed, not windowed)
    return gating.product_steps(unit, decode, multiply)


def _windowed_products(unit: Dot, i: data.StructLayout, passed: tuple[str, ...]) -> list[Step]:
    return window.product_steps(unit, i, passed) if unit.engine.window.width is not None else []


def sum_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    """Return the stages that add the products and `c`, round once, and output the flags."""
    return [*flush_addend(unit.engine, i), *_sum_steps(unit, i)]


def _sum_steps(unit: Dot, i: data.StructLayout) -> list[Step]:
    if unit.scale is not None:
        return scaled.sum_steps(unit, i)
    if is_fixed_point(unit):
        return fixed_point.sum_steps(unit, i)
    if unit.engine.window.width is not None:
        return window.sum_steps(unit, i)
    facts = sum_facts(unit)
    added = pair.addition(unit.engine.result.format, i) if is_pair(unit) else adder.addition(unit.engine, facts, i)
    return [*added, Round(unit.engine, facts, added[-1].o.shape())]
