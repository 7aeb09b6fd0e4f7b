"""Ways in which an implementation may add differently from its specification."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fp9.casts.arrays import decode_to, encode_numbers
from fp9.engines import ENGINES, Addend, Engine, Truncation
from fp9.formats import FixedFormat
from fp9.formats.rounding import Hybrid
from fp9.golden.selects import factor_values
from fp9.kernels import fused as kernels
from fp9.sums.products import EngineKernel
from fp9.units import Columns, Dot, Results, Unit
from fp9.units.hooks import Hook
from fp9.units.views import stateless_sum_of
from fp9_compare.diagnosis.conversions import Narrowed
from fp9_compare.diagnosis.difference import Difference, Topic
from fp9_compare.diagnosis.specs import engine_of, replaced, with_engine

# Offsets from the correct window width that are tried.
_WINDOW_STEPS = (-3, -2, -1, 1, 2, 3)
# Numbers of window bits below the result's last bit that are tried if the specification adds exactly.
_GUARD_BITS = range(0, 5)


def differences(unit: Unit) -> Iterator[Difference]:
    """Yield mistakes that a unit may make when it adds, such as a narrower alignment window or another order of
    additions.
    """
    yield from early(unit)
    engine = engine_of(unit)
    if engine is None:
        return
    for says, fields in _facts(engine):
        yield Difference(Topic.SUM, says, functools.partial(with_engine, **fields))
    for name, preset in ENGINES.items():
        if preset.step.products == engine.step.products and preset.output == engine.output and preset != engine:
            yield Difference(Topic.SUM, f"it adds as engine {name} does", functools.partial(replaced, engine=preset))
    if (summed := stateless_sum_of(unit)) is not None:
        yield from _orders(summed)


def _facts(engine: Engine) -> Iterator[tuple[str, dict[str, Any]]]:
    if engine.window.width is None:
        precision = engine.result.format.fraction_bits
        for window in (precision + guard for guard in _GUARD_BITS):
            yield (
                f"it truncates its terms to a window of {window} fraction bits; expected exact sums",
                {"window": window},
            )
            sticky = {"window": window, "truncation": Truncation.JAM}
            yield (
                f"it truncates its terms to a window of {window} fraction bits and a sticky bit; expected exact sums",
                sticky,
            )
        return
    yield f"its sums are exact; expected a window of {engine.window.width} fraction bits", _EXACT
    for window in (engine.window.width + step for step in _WINDOW_STEPS):
        yield f"its window has {window} fraction bits, not {engine.window.width}", {"window": window}
    for truncation in Truncation:
        yield f"bits below its window: {_TRUNCATIONS[truncation]}", {"truncation": truncation}
    for addend in Addend:
        yield f"its addend is {addend.value}, not {engine.window.addend.value}", {"addend": addend}
    if engine.window.zero_exponent is not None:
        yield "the exponent of a zero does not move its window", {"zero_exponent": None}


_EXACT: dict[str, Any] = {"window": None, "zero_exponent": None, "interleaved": None, "addend": Addend.INSIDE}
_TRUNCATIONS = {
    Truncation.ZERO: "truncated toward zero",
    Truncation.FLOOR: "truncated toward minus infinity",
    Truncation.JAM: "kept as a sticky bit",
}

# --- orders -----------------------------------------------------------------------------------------------------------


def _orders(unit: Dot) -> Iterator[Difference]:
    name = unit.engine.result.format.name
    if unit.products == 1:
        says = f"double rounding: it rounds the product to {name} before it adds"
        yield Difference(Topic.SUM, says, results=_in_steps(_products_first))
        return
    for words, order in (
        ("it adds its products to the addend one after the other, and rounds each time", _one_by_one),
        (
            "it adds its products to the addend one after the other, from last to first, and rounds each time",
            _from_the_last,
        ),
        ("it adds its products one after the other, the addend last, and rounds each time", _addend_last),
        (f"it rounds its products to {name} and adds them in a tree of pairs, the addend last", _tree),
    ):
        yield Difference(Topic.SUM, words, results=_in_steps(order))


# Returns a * b + c, rounded, for float64 arrays, and records the flags of all steps.
Step = Callable[[Any, Any, Any], Any]


def _in_steps(order: Callable[[Step, Any, Any, Any], Any]) -> Callable[[Unit, Columns, Results], Results]:
    def results(unit: Any, inputs: Columns, golden: Results) -> Results:
        plain = unit.engine.changed("step", products=1, chunk=None, promotion=None, interleave=None, **_EXACT)
        engine = EngineKernel(plain)
        size = len(inputs["c"])
        flags = np.zeros(size, dtype=np.uint8)
        last = np.zeros(size, dtype=plain.output.dtype)

        def step(a: Any, b: Any, c: Any) -> Any:
            codes, raised = engine.outputs(size)
            kernels.fma_array(*engine.rounding, a, b, c, codes, raised)
            flags[...] |= raised
            last[...] = codes
            return decode_to(codes, plain.output, np.float64)

        a, b = factor_values(unit, inputs)
        columns = (np.ascontiguousarray(a.T), np.ascontiguousarray(b.T))
        order(step, *columns, engine.addends(inputs["c"]))
        return {"result": last, "flags": flags} if unit.flags else {"result": last}

    return results


def _rounded(step: Step, a: Any, b: Any) -> Any:
    # Adding -0 preserves the sign of a zero product.
    return step(a, b, np.full(len(a), -0.0))


def _sum(step: Step, x: Any, y: Any) -> Any:
    return step(x, np.ones(len(x)), y)


def _products_first(step: Step, a: Any, b: Any, c: Any) -> Any:
    return _sum(step, _rounded(step, a[0], b[0]), c)


def _one_by_one(step: Step, a: Any, b: Any, c: Any) -> Any:
    return functools.reduce(lambda total, lane: step(a[lane], b[lane], total), range(len(a)), c)


def _from_the_last(step: Step, a: Any, b: Any, c: Any) -> Any:
    return _one_by_one(step, a[::-1], b[::-1], c)


def _addend_last(step: Step, a: Any, b: Any, c: Any) -> Any:
    return _sum(step, _one_by_one(step, a[1:], b[1:], _rounded(step, a[0], b[0])), c)


def _tree(step: Step, a: Any, b: Any, c: Any) -> Any:
    terms = [_rounded(step, a[lane], b[lane]) for lane in range(len(a))]
    while len(terms) > 1:
        pairs = [_sum(step, x, y) for x, y in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return _sum(step, terms[0], c)


# --- sums that are rounded too early ----------------------------------------------------------------------------------


def _too_early(unit: Narrowed) -> Iterator[Difference]:
    # A wrong adder rounds the sum before normalisation, at the last significand bit of the larger operand.
    if unit.inner.products == 1 or not isinstance(unit.target, FixedFormat):
        return
    says = "it rounds at the last place of the larger operand, before it normalises the sum"
    yield Difference(Topic.SUM, says, results=functools.partial(_rounded_early, None))
    for guard in range(1, _MOST_GUARDS + 1):
        cut = f"{says}; it keeps {guard} more bits of the smaller operand"
        yield Difference(Topic.SUM, cut, results=functools.partial(_rounded_early, guard))


_MOST_GUARDS = 4

early: Hook[[], Iterator[Difference]] = Hook(
    "sums rounded before they are normalised", {Narrowed: _too_early}, otherwise=lambda unit: iter(()), every_kind=False
)


def _rounded_early(guard: int | None, unit: Narrowed, inputs: Columns, golden: Results) -> Results:
    # Before the addition, the wrong adder truncates each operand `guard` bits below the rounding position, unless
    # `guard` is None.
    a, b = factor_values(unit.inner, inputs)
    terms = np.column_stack([a * b, decode_to(inputs["c"], unit.inner.engine.output, np.float64)])
    sound = np.isfinite(terms).all(axis=1)
    terms = np.where(sound[:, None], terms, 0.0)
    target = unit.target
    lowest = int(np.log2(target.smallest_normal))
    exponents = np.where(terms == 0, lowest, np.frexp(terms)[1] - 1)
    place = np.exp2(np.maximum(exponents.max(axis=1), lowest) - (target.precision - 1))[:, None]
    if guard is not None:
        terms = np.trunc(terms / place * 2.0**guard) * place / 2.0**guard
    total = terms.sum(axis=1)
    rounded = np.copysign(np.rint(total / place[:, 0]) * place[:, 0], total)
    codes, _ = encode_numbers(rounded, target, unit.policy, Hybrid())
    codes = np.where(sound & (rounded != 0), codes, golden["result"])
    return {"result": codes.astype(golden["result"].dtype)}
