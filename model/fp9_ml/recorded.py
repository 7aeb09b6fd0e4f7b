"""Converts the recording of a training step to golden vectors for a hardware unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import encode
from fp9.engines import MacOp
from fp9.formats import HFP8_BIASES, Format, with_bias
from fp9.formats.policy import CastPolicy
from fp9.golden import evaluate
from fp9.units import SCALE_BITS, Cast, Dot, Unit
from fp9.units.operands import BIAS_BITS
from fp9.units.views import cast_of, sum_of
from fp9.vectors.sets import VectorSet, from_inputs
from fp9_ml.recipes import Operand, Recorded, RecordedCast, read_recording

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = dict[str, "NDArray[Any]"]

SUMS = 16
NUMBERS = 256


def from_recording(unit: Unit, path: Path | str, count: int | None = None, seed: int = 0) -> VectorSet:
    """Return golden vectors for a `cast`, `dot`, `fma` or `mac` unit from a file that `Recording.save` wrote.

    For each recorded cast, the function returns `count` vectors, whose operands are random elements of the recorded
    tensor. For each recorded matrix product, the function randomly selects `count` elements of the result. For each
    selected element of the result, the function returns one golden vector per accumulation step. Raises ValueError if
    the unit computes none of the recorded operations.
    """
    recording, generator = read_recording(path), np.random.default_rng(seed)
    if (cast := cast_of(unit)) is not None:
        numbers = count or NUMBERS
        columns = of_casts(cast, recording.casts, generator, numbers)
        return from_inputs(unit, columns, _origin(seed, casts=len(recording.casts), operations=numbers))
    sums = count or SUMS
    columns = of_products(unit, recording.products, generator, sums)
    return from_inputs(unit, columns, _origin(seed, products=len(recording.products), sums=sums))


def _origin(seed: int, **counts: int) -> dict[str, Any]:
    return {"suite": "recorded", **counts, "seed": seed}


def of_casts(unit: Cast, casts: Sequence[RecordedCast], generator: np.random.Generator, count: int) -> Columns:
    # The recorded numbers are FP32, so the unit must cast from FP32.
    fitting = [cast for cast in casts if _casts(unit, cast)]
    if not fitting:
        asked = "; ".join(sorted({f"FP32 to {c.format}, {c.rounding.value}, {c.overflow.value}" for c in casts}))
        raise ValueError(
            f"{unit.name} can do none of the recorded casts, {asked or 'for there are none'}: give a unit of their "
            "source, format and rounding, and a recording whose layers were given their tensors"
        )
    parts = []
    for cast in fitting:
        lanes = unit.lane_names("x")
        places = generator.integers(cast.numbers.size, size=(len(lanes), count))
        patterns = cast.numbers.view(np.uint32)[places]
        said = {
            "target": unit.targets.index(cast.format),
            "rounding": unit.roundings.index(cast.rounding),
            "overflow": unit.overflow.index(cast.overflow),
            "scale": cast.exponent % (1 << SCALE_BITS),
        }
        part = {port.name: np.full(count, said.get(port.name, 0)) for port in unit.inputs}
        parts.append(part | dict(zip(lanes, patterns, strict=True)))
    return {port.name: np.concatenate([part[port.name] for part in parts]) for port in unit.inputs}


def _casts(unit: Cast, cast: RecordedCast) -> bool:
    policy = CastPolicy(cast.rounding, cast.overflow)
    return (
        cast.format in unit.targets
        and cast.rounding in unit.roundings
        and cast.overflow in unit.overflow
        and unit.policy(cast.format, cast.rounding, cast.overflow) == policy
        and unit.source.native_dtype == "float32"
        and (unit.scale or cast.exponent == 0)
    )


def of_products(unit: Unit, products: Sequence[Recorded], generator: np.random.Generator, sums: int = SUMS) -> Columns:
    summed = sum_of(unit)
    if summed is None:
        raise ValueError(
            f"{unit.name} is a {unit.kind}; give a cast, a dot, an fma or a mac to run what was recorded on"
        )
    ordered = (next((o for o in _orders(product) if _fits(summed, o)), None) for product in products)
    fitting = [product for product in ordered if product is not None]
    if not fitting:
        asked = "; ".join(sorted({f"{p.a.format} x {p.b.format} in {p.engine.name}" for p in products}))
        raise ValueError(
            f"{unit.name} can compute none of the products, {asked}: give a unit of their formats and engine"
        )
    parts = [_sums(summed, product, generator, sums) for product in fitting]
    return {port.name: np.concatenate([part[port.name] for part in parts]) for port in unit.inputs}


def _orders(product: Recorded) -> tuple[Recorded, ...]:
    if product.a.format == product.b.format:
        return (product,)
    turned = replace(product, a=product.b.transposed, b=product.a.transposed, result=product.result.T)
    return product, turned


def _fits(unit: Dot, product: Recorded) -> bool:
    same_engine = unit.engine.changed(name="") == product.engine.changed(name="")
    sides = (("a", unit.a, product.a), ("b", unit.b, product.b))
    return same_engine and all(_selects(unit, side, offered, o) is not None for side, offered, o in sides)


def _selects(unit: Dot, side: str, offered: Sequence[Format], operand: Operand) -> dict[str, int] | None:
    for index, fmt in enumerate(offered):
        biases: Sequence[int | None] = HFP8_BIASES if unit.bias_port and fmt.programmable_bias else (None,)
        for bias in biases:
            if operand.format == (fmt if bias is None else with_bias(fmt, bias)):
                return {f"{side}_format": index, f"{side}_bias": (bias or 0) % (1 << BIAS_BITS)}
    return None


def _sums(unit: Dot, product: Recorded, generator: np.random.Generator, sums: int) -> Columns:
    rows = generator.integers(product.a.codes.shape[0], size=sums)
    columns = generator.integers(product.b.codes.shape[1], size=sums)
    steps = _lanes(unit, "a", product.a.codes[rows]) | _lanes(unit, "b", product.b.codes[:, columns].T)
    shape = next(iter(steps.values())).shape
    for side, offered, operand in (("a", unit.a, product.a), ("b", unit.b, product.b)):
        for name, value in (_selects(unit, side, offered, operand) or {}).items():
            steps[name] = np.full(shape, value, np.uint8)
        if unit.scale is not None:
            # The products leave out the tensor's power-of-two scale, so every step has the scale 1.
            one = np.full(shape, encode(1.0, unit.scale), np.uint8)
            steps |= dict.fromkeys(unit.scale_names(side), one)
    ports = [port.name for port in unit.inputs]
    steps = {name: column for name, column in steps.items() if name in ports}
    chain = _accumulated(steps, unit, shape) if unit.has_state else chained(steps, unit, shape)
    return {name: np.ascontiguousarray(chain[name]).reshape(-1) for name in ports}


def _lanes(unit: Dot, side: str, codes: NDArray[Any]) -> Columns:
    lanes = unit.lane_names(side)
    filled = np.pad(codes, ((0, 0), (0, -codes.shape[1] % len(lanes))))
    return {name: filled[:, lane :: len(lanes)] for lane, name in enumerate(lanes)}


def chained(steps: Columns, unit: Dot, shape: tuple[int, ...]) -> Columns:
    sums = np.zeros(shape, unit.engine.output.dtype)
    for k in range(shape[1] - 1):
        step = {name: np.ascontiguousarray(column[:, k]) for name, column in steps.items()}
        sums[:, k + 1] = evaluate(unit, {**step, "c": np.ascontiguousarray(sums[:, k])})["result"]
    return {**steps, "c": sums}


def _accumulated(steps: Columns, unit: Dot, shape: tuple[int, ...]) -> Columns:
    widened = {name: np.pad(column, ((0, 0), (0, 1))) for name, column in steps.items()}
    op = np.full((shape[0], shape[1] + 1), MacOp.ACCUMULATE, np.uint8)
    op[:, 0], op[:, -1] = MacOp.LOAD, MacOp.FOLD if unit.engine.steps_of_chunk else MacOp.HOLD
    return {**widened, "op": op, "c": np.zeros(op.shape, unit.engine.output.dtype)}


__all__ = ["NUMBERS", "SUMS", "chained", "from_recording", "of_casts", "of_products"]
