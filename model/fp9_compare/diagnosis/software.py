"""Compare one cast or one decoding function of a library with fp9."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import decode_native, encode
from fp9.formats import FixedFormat, Format, fixed_format
from fp9.formats.dtypes import stored_codes, tensor_numbers
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow
from fp9.units import Unit
from fp9.vectors.sets import VectorSet, from_inputs
from fp9_compare.diagnosis.conversions import Conversion, Reading
from fp9_compare.diagnosis.explain import Explained, explain

# A decoding from codes to numbers, or a cast from numbers to codes or rounded numbers.
Function = Callable[[Any], Any]

SHOWN = 5
_PER_EXPONENT = 64


@dataclass(frozen=True)
class Answer:
    """Result of comparing a library function with a specification."""

    direction: str
    format: Format
    source: str
    checked: int
    # Description of the specification.
    base: str
    explained: Explained
    # Descriptions of the first few wrong results.
    first: tuple[str, ...]

    @property
    def says(self) -> str:
        return "; ".join((self.base, *(each.says for each in self.explained.explanations)))


def check_cast(function: Function, target: Format, source: str = "fp32", overflow: Overflow | None = None) -> Answer:
    """Check a cast of all FP16 or BF16 numbers, or of a stratified sample of FP32.

    If `overflow` is None, the check assumes the overflow policy that leaves the fewest results unexplained.
    """
    fmt = fixed_format(source)
    codes = _strata(target) if fmt.bits > 16 else np.arange(1 << fmt.bits, dtype=fmt.dtype)
    with np.errstate(all="ignore"):
        given = _codes_of(_asked(function, decode_native(codes, fmt)), target)
    policies = [overflow] if overflow else _policies(target)
    found = [_cast_answer(codes, given, fmt, target, policy) for policy in policies]
    return min(found, key=lambda answer: (answer.explained.unexplained, len(answer.explained.explanations)))


def _policies(target: Format) -> list[Overflow]:
    return [Overflow.SATURATE, Overflow.INF] if target.has_nan or target.has_inf else [Overflow.SATURATE]


def _cast_answer(codes: Any, given: Any, source: FixedFormat, target: Format, overflow: Overflow) -> Answer:
    unit = Conversion("cast", source, target, CastPolicy(overflow=overflow))
    rounding = target.default_rounding.words
    beyond = "saturates" if overflow is Overflow.SATURATE else f"overflows to {'infinity' if target.has_inf else 'NaN'}"
    return _answer(
        "cast", unit, {"x": codes}, given, target, source.name, f"{target.name}, {rounding}, {beyond}", False
    )


def check_decode(function: Function, fmt: Format) -> Answer:
    """Check a decoding function on all codes of a format. All NaN count as equal."""
    codes = np.arange(1 << fmt.bits, dtype=fmt.dtype)
    with np.errstate(all="ignore"):
        results = np.asarray(tensor_numbers(_asked(function, codes)))
        if results.dtype.kind not in "fiu":
            raise ValueError(f"results of {results.dtype} given; give numbers")
        numbers = results.astype(np.float32)
    return _answer("decode", Reading("decode", fmt), {"code": codes}, numbers.view(np.uint32), fmt, "-", fmt.name, True)


def _asked(function: Function, array: NDArray[Any]) -> Any:
    try:
        return function(array)
    except Exception as error:
        what = f"{array.dtype.name}, shape {array.shape}"
        raise ValueError(
            f"the function raises {type(error).__name__} for an array of {what}: {error}; give one that takes it"
        ) from error


def _answer(
    direction: str, unit: Unit, inputs: Any, given: Any, fmt: Format, source: str, base: str, any_nan: bool
) -> Answer:
    made = from_inputs(unit, inputs)
    if given.shape != next(iter(inputs.values())).shape:
        raise ValueError(f"results of shape {given.shape} given for {len(made)} operands; give one for each")
    explained = explain(made, {"result": given}, any_nan=any_nan)
    return Answer(direction, fmt, source, len(made), base, explained, tuple(_first(made, given, any_nan)))


def _first(made: VectorSet, given: NDArray[Any], any_nan: bool) -> Iterator[str]:
    differs = given != made.expected["result"]
    if any_nan:
        both = np.isnan(given.view(np.float32)) & np.isnan(made.expected["result"].view(np.float32))
        differs &= ~both
    operands = next(iter(made.inputs.values()))
    for i in np.flatnonzero(differs)[:SHOWN]:
        yield f"{int(operands[i]):#x}: expected {int(made.expected['result'][i]):#x}, got {int(given[i]):#x}"


def _codes_of(results: Any, target: Format) -> NDArray[Any]:
    # Integers are already codes. Numbers must be rounded to the format.
    array = np.asarray(stored_codes(results, target))
    if array.dtype.kind in "iu":
        if array.size and not -(1 << target.bits - 1) <= int(array.min()) <= int(array.max()) < 1 << target.bits:
            raise ValueError(f"codes beyond {target.bits} bits given; give codes of {target.name}, or numbers")
        return np.ascontiguousarray(array).astype(target.dtype, casting="unsafe").reshape(-1)
    if array.dtype.kind != "f":
        raise ValueError(f"results of {array.dtype} given; give codes of {target.name}, or numbers")
    codes = encode(array, target, overflow="inf" if target.has_nan else "saturate")
    return np.asarray(codes).reshape(-1)


def _strata(target: Format) -> NDArray[np.uint32]:
    # All numbers of the format, the midpoints between them, the overflow threshold, FP32 numbers close to these,
    # specials, and random FP32 numbers of every exponent and sign.
    magnitudes = np.array(sorted({abs(float(x)) for x in _numbers(target)}))
    middles = (magnitudes[1:] + magnitudes[:-1]) / 2
    top = magnitudes[-1]
    edges = [top + (top - magnitudes[-2]) * step for step in (0.25, 0.5, 1.0, 2.0)]
    points = np.concatenate([magnitudes, middles, edges]).astype(np.float32).view(np.uint32).astype(np.int64)
    near = (points[:, None] + np.arange(-2, 3)).reshape(-1)
    rng = np.random.default_rng(0)
    exponents = np.repeat(np.arange(256), _PER_EXPONENT) << 23
    drawn = exponents | rng.integers(0, 1 << 23, len(exponents))
    special = np.array([0, 1, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF])
    patterns = np.concatenate([near[near >= 0], drawn, special]).astype(np.uint32)
    return np.unique(np.concatenate([patterns, patterns | np.uint32(1 << 31)]))


def _numbers(target: Format) -> list[float]:
    table = target.table
    return [float(x) for x in table[np.isfinite(table)]]
