"""Proven error bounds of dot products (proof in docs/explanation/error-bounds.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.arrays.array import Array
from fp9.arrays.stated import required_accumulator
from fp9.casts.arrays import as_codes, decode_to
from fp9.engines import Addend, Engine, Truncation
from fp9.engines import engine as find_engine
from fp9.formats import FixedFormat, Format, format
from fp9.formats.dtypes import carried, tensor_numbers
from fp9.formats.rounding import Rounding
from fp9.sums.operands import as_operand

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# A bound for `any` holds for every order of additions and every number of partial sums. A bound for `k` holds for one
# sum in the accumulator's order.
ORDERS = ("any", "k")
_ELEMENTS = 1 << 22
# Factor that accounts for float64 rounding in the computation of the bound.
_SLACK = 1 + 2.0**-30


@dataclass(frozen=True)
class _Weights:
    """Limits of the rounding errors in a dot product, which determine the error bound."""

    path: float  # sum of the relative errors of all roundings that affect a single product
    total: float  # sum of the relative errors of all roundings
    growth: float  # largest factor by which rounding can increase a sum of magnitudes
    tiny: float  # total absolute error of roundings of very small numbers


def _unit(fmt: FixedFormat, rounding: Rounding) -> float:
    return float(np.ldexp(0.5 if rounding.is_nearest else 1.0, -fmt.fraction_bits))


def _step_unit(engine: Engine) -> float:
    # Relative to the step's largest term, without the effect of truncated products.
    fraction, window = engine.result.format.fraction_bits, engine.window.width
    rounded = _unit(engine.result.format, engine.result.rounding)
    if window is None or engine.window.addend is Addend.OUTSIDE:
        return rounded
    if engine.window.interleaved is not None:
        return rounded + float(2 * np.ldexp(1.0, -window) + 1.5 * np.ldexp(1.0, -engine.window.interleaved))
    return float(np.ldexp(1.0, -min(window, fraction)))


def _step_growth(engine: Engine, unit: float) -> float:
    # Largest relative increase of the sum of magnitudes in one accumulation step.
    window = engine.window
    rounds_in = engine.result.rounding is Rounding.RTZ
    if window.width is None:
        return 0.0 if rounds_in else unit
    if window.truncation is Truncation.ZERO and window.interleaved is None:
        return 0.0 if rounds_in else unit
    return float(unit + (engine.step.products + 4) * np.ldexp(1.0, -window.width))


def _tiny(engine: Engine) -> float:
    # Largest absolute error of underflow, flushing and `zero_exponent` in one rounding.
    result, window = engine.result, engine.window
    lowest = np.ldexp(1.0, result.format.min_normal_exponent)
    cut = lowest if result.flush or result.flush_addend or result.format.flushes else result.format.smallest
    if window.width is not None:
        cut += 4 * max(lowest, _power_of_zero(engine)) * np.ldexp(1.0, -window.width)
    return float(cut + (engine.output.smallest_normal if engine.output.flushes else engine.output.smallest))


def _power_of_zero(engine: Engine) -> float:
    exponent = engine.window.zero_exponent
    return 0.0 if exponent is None else float(np.ldexp(1.0, exponent))


def _weights(engine: Engine, depth: int, order: str) -> _Weights:
    # For the worst split into partial sums, and every order in which the partial sums are added.
    parts = np.arange(1, (depth if order == "any" else 1) + 1, dtype=np.float64)
    products = float(depth) if engine.step.exact else float(engine.step.products)
    longest, length = depth - parts + 1, engine.chunk.length
    step, join = _step_unit(engine), _unit(engine.output, engine.output_rounding)
    part = _unit(engine.addend_format, Rounding.RNE)
    steps, all_steps = np.ceil(longest / products), np.floor((depth + parts * (products - 1)) / products)
    chunks = all_chunks = np.zeros_like(parts)
    if length is not None:
        chunks, all_chunks = np.ceil(longest / length), np.floor((depth + parts * (length - 1)) / length)
        full = float(engine.steps_of_chunk)
        if engine.chunk.interleave is not None:
            all_steps = all_chunks * full
        steps = np.minimum(np.full_like(parts, full), steps if engine.chunk.interleave is None else full)
    growth = steps * np.log1p(_step_growth(engine, step)) + chunks * np.log1p(join) + (parts - 1) * np.log1p(part)
    nodes = all_steps + all_chunks + parts - 1
    return _Weights(
        float((steps * step + chunks * join + (parts - 1) * part).max()),
        float((all_steps * step + all_chunks * join + (parts - 1) * part).max()),
        float(np.exp(growth.max())),
        float(nodes.max()) * _tiny(engine),
    )


# --- losses of products ---------------------------------------------------------------------------------------------


def _lost_by_zero(p: NDArray[Any], q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    size = np.abs(p)
    lost = size - np.floor(size / q) * q
    return np.where(p > 0, lost, 0.0).sum(-1), np.where(p < 0, lost, 0.0).sum(-1)


def _lost_by_floor(p: NDArray[Any], q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    lost = (p - np.floor(p / q) * q).sum(-1)
    return lost, np.zeros_like(lost)


def _lost_by_jam(p: NDArray[Any], q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    lost = np.where(np.floor(p / q) * q != p, q, 0.0).sum(-1)
    return lost, lost


# Bounds for truncation of products p (..., k) to multiples of q (..., 1): the largest decrease and the largest increase
# of the sum.
_LOST: dict[Truncation, Callable[[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]] = {
    Truncation.ZERO: _lost_by_zero,
    Truncation.FLOOR: _lost_by_floor,
    Truncation.JAM: _lost_by_jam,
}


def _lost(engine: Engine, p: NDArray[Any], largest: NDArray[Any]) -> NDArray[Any]:
    if engine.window.width is None:
        return np.zeros(p.shape[:-1])
    top = np.frexp(largest)[1] - 1
    q = np.ldexp(1.0, top - engine.window.width)[..., None]
    down, up = _LOST[engine.window.truncation](p, q)
    return np.asarray(np.maximum(down, up))


def _kept_bits(engine: Engine) -> int:
    bits = [engine.result.format.fraction_bits, engine.output.fraction_bits]
    return min(bits if engine.window.width is None else [*bits, engine.window.width])


def _lowest_sum(engine: Engine) -> float:
    result, output = engine.result, engine.output
    flushes = result.flush or result.flush_addend
    return max(fmt.smallest_normal if flushes or fmt.flushes else fmt.smallest for fmt in (result.format, output))


def _bound(
    engine: Engine, weights: _Weights, p: NDArray[Any], powers: NDArray[Any], lowest: NDArray[Any]
) -> NDArray[Any]:
    # `powers` holds the powers of two that align the products, which are multiples of `lowest`.
    positive, negative = np.where(p > 0, p, 0.0).sum(-1), -np.where(p < 0, p, 0.0).sum(-1)
    terms = np.maximum(np.abs(p), powers).sum(-1) if engine.window.width is not None else positive + negative
    floor = max(_power_of_zero(engine), float(np.ldexp(1.0, engine.result.format.min_normal_exponent)))
    aligned = np.maximum(powers.max(-1, initial=0.0), floor)
    reach = weights.growth * (terms + weights.tiny)
    bound = np.zeros(p.shape[:-1])
    for _ in range(2):  # the first bound limits the magnitude of sums, which gives a tighter second bound
        largest = np.maximum(reach, aligned)
        rounded = np.minimum(weights.path * weights.growth * (terms + weights.tiny), weights.total * largest)
        bound = _lost(engine, p, largest) + rounded + weights.growth * weights.tiny
        last = np.ldexp(1.0, np.frexp(largest)[1] - 1 - _kept_bits(engine))
        bound = np.where(np.maximum(last, _lowest_sum(engine)) <= lowest, 0.0, bound)
        reach = np.minimum(reach, np.maximum(positive, negative) + bound)
    ceiling = min(engine.result.format.max, engine.output.max)
    return np.where(reach * _SLACK > ceiling, np.inf, bound * _SLACK)


def error_bound(
    a: ArrayLike | Array,
    b: ArrayLike | Array,
    engine: Engine | str | None = None,
    order: str = "any",
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
) -> NDArray[np.float64]:
    """Return an upper bound for the absolute error of each element of the matrix product `a @ b`, as an array (M, N).

    The operands have the shapes (M, K) and (K, N). `engine` is the accumulator model. The bound holds for every order
    of the products and every split into partial sums (split-K). With `order="k"`, the bound holds only if one
    accumulator adds all products of a sum, in the order that the accumulator model defines. The bound is infinite if
    the sum can overflow or an operand is not finite.

    >>> import fp9
    >>> a = fp9.array([[448.0, 2.0**-7]], "e4m3")
    >>> error_bound(a, fp9.array([[1.0], [1.0]], "e4m3"), "hopper").round(3).tolist()
    [[0.063]]

    Raises ValueError for operands with scales, and for accumulator models with scaled groups of products.
    """
    chosen, x, y = _operands(a, b, engine, order, (format_a, format_b))
    weights = _weights(chosen, x.shape[1], order)
    left, right = (each.array("float64") for each in (x, y.mT))
    powers = [each.array("powers") for each in (x, y.mT)]
    lowest = [np.ldexp(1.0, each.array("lowest bits").min(-1, initial=127).astype(np.int64)) for each in (x, y.mT)]
    finite = np.isfinite(left).all(-1)[:, None] & np.isfinite(right).all(-1)
    bounds = np.empty((len(left), len(right)))
    left, right = (np.where(np.isfinite(each), each, 0.0) for each in (left, right))
    rows = max(1, _ELEMENTS // max(1, right.size))
    for first in range(0, len(left), rows):
        some = slice(first, first + rows)
        p, aligned = left[some, None] * right, powers[0][some, None] * powers[1]
        bounds[some] = _bound(chosen, weights, p, aligned, lowest[0][some, None] * lowest[1])
    return np.where(finite, bounds, np.inf)


def _operands(a: Any, b: Any, engine: Engine | str | None, order: str, formats: tuple[Any, Any]) -> tuple[Any, ...]:
    if order not in ORDERS:
        raise ValueError(f"order={order!r} given; give 'any' or 'k'")
    owners = [each.accumulator for each in (a, b) if isinstance(each, Array)]
    chosen = required_accumulator(*owners) if engine is None else find_engine(engine)
    for name, each in (("a", a), ("b", b)):
        if isinstance(each, Array) and each.scales is not None:
            raise ValueError(
                f"{name} with scales given; give its codes as an array, and multiply the bound by the scale"
            )
    if chosen.step.group is not None:
        raise ValueError(f"engine {chosen.name} given, which scales groups of products; give one without groups")
    x, y = (as_operand(name, each, fmt) for name, each, fmt in zip("ab", (a, b), formats, strict=True))
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise ValueError(f"shapes {x.shape} and {y.shape} given; give (M, K) and (K, N)")
    return chosen, x, y


def assert_within_bound(
    actual: ArrayLike,
    a: ArrayLike | Array,
    b: ArrayLike | Array,
    engine: Engine | str | None = None,
    order: str = "any",
    *,
    scale: float = 1.0,
    output: Format | str | None = None,
    format_a: Format | str | None = None,
    format_b: Format | str | None = None,
) -> None:
    """Raise AssertionError if `actual` differs from the exact product a x b by more than `error_bound`.

    `actual` (M, N) holds numbers, or is an array that states its format. `scale` is the factor by which the tested
    kernel multiplies its sums in FP32. `output` is the format to which the kernel rounds the result, in any rounding
    mode. The other arguments are those of `error_bound`.

    >>> import fp9
    >>> a = fp9.array([[448.0, 2.0**-7]], "e4m3")
    >>> b = fp9.array([[1.0], [1.0]], "e4m3")
    >>> assert_within_bound([[448.0]], a, b, "hopper")
    >>> assert_within_bound([[447.9]], a, b, "hopper")
    Traceback (most recent call last):
    AssertionError: 1 of 1 results is outside the bound of hopper
      [0, 0] is 447.9, the exact sum 448.0078125, the bound 0.06253
      no order of additions gives this result: compare operands, scales and layout, or name the kernel's accumulator

    Raises ValueError in the same cases as `error_bound`, and if `actual` does not have the shape (M, N).
    """
    chosen, x, y = _operands(a, b, engine, order, (format_a, format_b))
    numbers = _numbers(actual)
    left, right = (np.where(np.isfinite(each), each, 0.0) for each in (x.array("float64"), y.array("float64")))
    exact = (left @ right) * scale
    own = (np.abs(left) @ np.abs(right)) * abs(scale) * x.shape[1] * 2.0**-52
    bound = error_bound(a, b, chosen, order, format_a, format_b) * abs(scale) + own
    for fmt in ([format("fp32")] if scale != 1 else []) + ([] if output is None else [format(output)]):
        bound = bound + (np.abs(exact) + bound) * fmt.eps + fmt.smallest_normal
        bound = np.where(np.abs(exact) + bound > fmt.max, np.inf, bound)
    if numbers.shape != exact.shape:
        raise ValueError(f"actual of shape {numbers.shape} given; give the result's shape {exact.shape}")
    wrong = ~((np.abs(numbers - exact) <= bound) | np.isinf(bound))
    if not wrong.any():
        return
    with np.errstate(invalid="ignore"):
        excess = np.where(wrong, np.nan_to_num(np.abs(numbers - exact) / bound, nan=np.inf), 0.0)
    worst = np.unravel_index(int(excess.argmax()), exact.shape)
    count, index = int(wrong.sum()), [int(i) for i in worst]
    raise AssertionError(
        f"{count} of {wrong.size} results {'is' if count == 1 else 'are'} outside the bound of {chosen.name}\n"
        f"  {index} is {numbers[worst]}, the exact sum {exact[worst]}, the bound {bound[worst]:.4g}\n"
        "  no order of additions gives this result: compare operands, scales and layout, or name the kernel's "
        "accumulator"
    )


def _numbers(given: Any) -> NDArray[np.float64]:
    fmt = carried(given)
    if fmt is not None and fmt.bits <= 32:
        return np.asarray(decode_to(as_codes(given, fmt), fmt, np.float64))
    return np.asarray(tensor_numbers(given), dtype=np.float64)
