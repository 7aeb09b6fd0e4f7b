"""The units that a recipe names compute it, bit for bit: products step by step, casts number by number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fp9
from fp9.formats import Format
from fp9.golden import evaluate
from fp9.units import Cast, Dot, Mac, MacOp, unit
from fp9_ml.recipes import RECIPES, Operand, Product, Recipe, Role, recipe

BIASED = recipe("hfp8(activations=hfp8_143(bias=-2),weights=hfp8_143(bias=3))")
SPECS = [spec for spec in [*RECIPES.values(), BIASED] if spec.units()]
NAMED = [(spec, what, name) for spec in SPECS for what, names in spec.units().items() for name in names]
SUMS = [row for row in NAMED if row[1] in {product.value for product in Product}]
CASTS = [row for row in NAMED if row[1] in {role.value for role in Role}]


def names_of(row: tuple[Recipe, str, str]) -> str:
    return f"{row[0].name}-{row[1]}-{row[2]}"


# --- products -------------------------------------------------------------------------------------------------------


def select(spec: Dot, operand: str, fmt: Format, count: int) -> dict[str, NDArray[Any]]:
    """The columns that say an operand's format, and its bias where there is a port."""
    ports = {port.name: port for port in spec.inputs}
    columns = {}
    if f"{operand}_format" in ports:
        families = [str(f).partition("(")[0] for f in getattr(spec, operand)]
        columns[f"{operand}_format"] = np.full(count, families.index(str(fmt).partition("(")[0]))
    if f"{operand}_bias" in ports and fmt.programmable_bias:
        bias = int(str(fmt).partition("bias=")[2].rstrip(")"))
        columns[f"{operand}_bias"] = np.full(count, bias & ((1 << ports[f"{operand}_bias"].width) - 1))
    elif f"{operand}_bias" in ports:
        columns[f"{operand}_bias"] = np.zeros(count, dtype=np.int64)
    return columns


def summed(spec: Dot, a: Operand, b: Operand) -> NDArray[Any]:
    """Codes of a (M, K) times b (K, N) by the unit, one operation a product."""
    assert a.format is not None and b.format is not None
    (rows, depth), columns = a.codes.shape, b.codes.shape[1]
    left, right = (np.repeat(a.codes, columns, axis=0), np.tile(b.codes.T, (rows, 1)))
    if isinstance(spec, Mac):
        ops = [MacOp.LOAD, *[MacOp.ACCUMULATE] * (depth - 1), *([MacOp.FOLD] if spec.engine.chunk.length else [])]
        idle = np.zeros((len(left), len(ops) - depth), dtype=np.uint8)
        flat = [np.concatenate([side, idle], axis=1).ravel() for side in (left, right)]
        inputs = {"op": np.tile(np.array(ops), len(left)), "a": flat[0], "b": flat[1], "c": np.zeros_like(flat[0])}
        count = flat[0].size
        selects = select(spec, "a", a.format, count) | select(spec, "b", b.format, count)
        return evaluate(spec, inputs | selects)["result"][len(ops) - 1 :: len(ops)].reshape(rows, columns)
    total = np.zeros(len(left), dtype=spec.engine.output.dtype)
    selects = select(spec, "a", a.format, len(left)) | select(spec, "b", b.format, len(left))
    for k in range(depth):
        total = evaluate(spec, {"a": left[:, k], "b": right[:, k], "c": total} | selects)["result"]
    return total.reshape(rows, columns)


@pytest.mark.parametrize("row", SUMS, ids=names_of)
def test_a_product_is_that_of_the_unit(row: tuple[Recipe, str, str]) -> None:
    spec, what, name = row
    rng = np.random.default_rng(len(names_of(row)))
    x, w, g = (rng.normal(0, 1, shape).astype(np.float32) for shape in ((70, 67), (66, 67), (70, 66)))
    rows = slice(0, 3)
    saved = spec.linear(x, w)[1]
    back = spec.linear_backward(g, saved)
    left, right, product = {
        "forward": (saved.x, saved.w.transposed, saved.product),
        "dgrad": (back.gradient, saved.w, back.dx_product),
        "wgrad": (back.gradient.transposed, saved.x, back.dw_product),
    }[what]
    few = Operand(left.codes[rows], left.format), Operand(right.codes[:, rows], right.format)
    chosen = unit(name)
    assert isinstance(chosen, Dot)
    assert np.array_equal(summed(chosen, *few), product[rows, rows])


# --- casts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", CASTS, ids=names_of)
def test_a_cast_is_that_of_the_unit(row: tuple[Recipe, str, str]) -> None:
    """Of numbers that every source format holds; factors that are no powers of two are multiplied before the cast."""
    spec, what, name = row
    chosen, role = unit(name), Role(what)
    assert isinstance(chosen, Cast)
    fmt = spec.format_of(role)
    assert fmt is not None
    x = np.ldexp(np.random.default_rng(3).integers(-255, 256, (40, 16)), -9).astype(np.float32)
    state = spec.state()
    for _ in range(11):
        state.scalers[role].observe(x)
    y, saved = spec.linear(x, x, state, training=False)
    back = spec.linear_backward(np.resize(x, y.shape), saved)
    cast = {Role.ACTIVATIONS: saved.x, Role.WEIGHTS: saved.w, Role.GRADIENTS: back.gradient}[role]
    numbers = np.resize(x, y.shape) if role is Role.GRADIENTS else x
    factor = np.float32(cast.factor) if not chosen.scale else np.float32(1)
    given = fp9.encode((numbers * factor).ravel(), chosen.source)
    policy = spec.policy(role)
    exponent = int(math.log2(cast.factor)) if chosen.scale and spec.scale.is_exact else 0
    known = {
        "target": chosen.targets.index(fmt),
        "rounding": chosen.roundings.index(policy.rounding_for(fmt)),
        "overflow": chosen.overflow.index(policy.overflow),
        "scale": exponent & 0xFF,
    }
    inputs = {port.name: np.full(given.size, known.get(port.name, 0)) for port in chosen.inputs}
    for lane in chosen.lane_names("x"):
        inputs[lane] = given
    results = evaluate(chosen, inputs)
    for lane in chosen.lane_names("result"):
        assert np.array_equal(results[lane], cast.codes.ravel())


def test_there_are_units_to_compare() -> None:
    assert len(SUMS) > 30
    assert len(CASTS) > 20
