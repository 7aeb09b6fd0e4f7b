"""A layer's three products: as the papers write them, cast and summed code by code."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

import fp9
from fp9_ml.recipes import RECIPES, Product, Recipe, Role, Saved, gradients_are_finite, recipe
from fp9_ml.recipes.linear import encode_scaled, unscaled

EVERY = list(RECIPES.values())
EXACT = [spec for spec in EVERY if spec.forward is not None]


def tensors(seed: int, rows: int = 6, width: int = 37, outputs: int = 5) -> tuple[NDArray[np.float32], ...]:
    rng = np.random.default_rng(seed)
    shapes = ((rows, width), (outputs, width), (rows, outputs))
    x, w, g = (
        rng.normal(0, size, shape).astype(np.float32) for size, shape in zip((1, 0.3, 0.01), shapes, strict=True)
    )
    return x, w, g


def by_hand(spec: Recipe, role: Role, x: NDArray[np.float32], factor: float) -> NDArray[np.uint8]:
    policy = spec.policy(role)
    exponent = int(np.log2(factor))
    return np.asarray(fp9.encode(x, spec.format_of(role), policy.rounding, policy.overflow, scale=-exponent))


@pytest.mark.parametrize("spec", EXACT, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_three_products_are_those_of_the_engine(spec: Recipe, seed: int) -> None:
    """HFP8 section 2.1: Y = Q(A) Q(W), dA = Q(E) Q(W)^T, dW = Q(A)^T Q(E), each sum by fp9.dot in the order of K."""
    spec = recipe(f"{spec.name}(scale=fixed(exponent=2))")
    x, w, g = tensors(seed)
    y, saved = spec.linear(x, w)
    back = spec.linear_backward(g, saved)
    a, b, e = (by_hand(spec, role, t, 4.0) for role, t in zip(Role, (x, w, g), strict=True))
    for got, left, right, product in (
        (saved.product, a, b, Product.FORWARD),
        (back.dx_product, e, b.T, Product.DGRAD),
        (back.dw_product, e.T, a.T, Product.WGRAD),
    ):
        formats = [spec.format_of(role) for role in product.operands]
        assert np.array_equal(got, fp9.dot(left[:, None, :], right[None, :, :], *formats, spec.engine_of(product)))
    if spec.output is None:
        assert np.array_equal(y, fp9.decode(saved.product, spec.forward.output, scale=-4))  # type: ignore[union-attr]


def test_hfp8_results_are_numbers_of_1_6_9() -> None:
    """HFP8 section 2.3: output precision 1-6-9."""
    spec = recipe("hfp8(scale=current(power_of_two=true))")
    x, w, g = tensors(3)
    y, saved = spec.linear(x, w)
    for numbers in (y, spec.linear_backward(g, saved).dx):
        assert np.array_equal(fp9.decode(fp9.encode(numbers, "dlfloat16"), "dlfloat16"), numbers)


def test_graphcore_rounds_the_gradients_of_the_weights_too() -> None:
    spec = RECIPES["graphcore"]
    x, w, g = tensors(4)
    dw = spec.linear_backward(g * 1e-4, spec.linear(x, w)[1]).dw
    assert dw.any()
    assert np.array_equal(fp9.decode(fp9.encode(dw, "f152(bias=32)"), "f152(bias=32)"), dw)


def test_fp32_is_the_hosts_own() -> None:
    x, w, g = tensors(5)
    y, saved = RECIPES["fp32"].linear(x, w)
    back = RECIPES["fp32"].linear_backward(g, saved)
    assert np.array_equal(y, x @ w.T)
    assert np.array_equal(back.dx, g @ w)
    assert np.array_equal(back.dw, g.T @ x)


@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_leading_axes_are_rows(spec: Recipe) -> None:
    x, w, g = tensors(6)
    y, saved = spec.linear(x, w)
    wide, kept = spec.linear(x.reshape(2, 3, -1), w)
    assert np.array_equal(wide.reshape(y.shape), y)
    plain, back = spec.linear_backward(g, saved), spec.linear_backward(g.reshape(2, 3, -1), kept)
    assert back.dx.shape == (2, 3, x.shape[1])
    assert np.array_equal(back.dx.reshape(x.shape), plain.dx)
    assert np.array_equal(back.dw, plain.dw)


# --- scales ---------------------------------------------------------------------------------------------------------


def test_transformer_engines_factor_is_multiplied_in_fp32() -> None:
    x = np.float32([0.1, 3.0, -7.7])
    factor = float(np.float32(448) / np.float32(7.7))
    assert np.array_equal(encode_scaled(x, fp9.format("e4m3"), factor), fp9.encode(x * np.float32(factor), "e4m3"))
    assert encode_scaled(x, fp9.format("e4m3"), factor).max() == 0xFE  # -448
    inverse = 1 / np.float32(factor)
    expected = np.float32(np.float64(3.5) * np.float64(inverse))
    assert unscaled(np.float32([3.5]), factor).tolist() == [expected]


@pytest.mark.parametrize("name", ["te_delayed", "hif8_pts", "te_current"])
def test_a_layer_goes_on_bit_for_bit_from_its_state(name: str) -> None:
    spec = recipe(name)
    steps = [tensors(seed) for seed in range(13)]

    def run(state: object, some: list[tuple[NDArray[np.float32], ...]]) -> list[list[float]]:
        results = []
        for x, w, g in some:
            y, saved = spec.linear(x, w, state)  # type: ignore[arg-type]
            back = spec.linear_backward(g, saved)
            results.append([*y.ravel().tolist(), *back.dx.ravel().tolist(), *back.dw.ravel().tolist()])
        return results

    whole, first, second = spec.state(), spec.state(), spec.state()
    expected = run(whole, steps)
    begun = run(first, steps[:11])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert begun + run(second, steps[11:]) == expected


def test_an_evaluation_moves_no_scale() -> None:
    spec = recipe("te_delayed")
    state = spec.state()
    x, w, g = tensors(7)
    spec.linear(x, w, state)
    before = state.state_dict()
    _, saved = spec.linear(9 * x, w, state, training=False)
    spec.linear_backward(g, saved)
    assert state.state_dict() == before


@pytest.mark.parametrize("name", ["te_delayed", "hif8_pts", "te_current", "hfp8"])
def test_a_repeated_pass_gives_the_same_and_moves_no_scale(name: str) -> None:
    spec, (x, w, g) = recipe(name), tensors(7)
    state = spec.state()
    for growth in range(11):
        y, saved = spec.linear(x * 2.0**growth, w, state)
        back, before = spec.linear_backward(g * 2.0**-growth, saved), state.state_dict()
        again, _ = spec.linear(x * 2.0**growth, w, state, earlier=saved.factors)
        back_again = spec.linear_backward(g * 2.0**-growth, saved)
        assert np.array_equal(again, y) and np.array_equal(back_again.dw, back.dw)
        assert state.state_dict() == before


def test_a_state_of_another_recipe_changes_nothing() -> None:
    state = recipe("te_delayed(scale=delayed(history=2))").state()
    longer = recipe("te_delayed").state()
    for seed in range(3):
        x, w, _ = tensors(seed)
        recipe("te_delayed").linear(x, w, longer)
    before = state.state_dict()
    for wrong in (longer.state_dict(), recipe("hif8_pts").state().state_dict(), {}):
        with pytest.raises(ValueError, match="given"):
            state.load_state_dict(wrong)
        assert state.state_dict() == before


# --- roundings of the backward pass ---------------------------------------------------------------------------------


def test_gradients_may_be_rounded_by_hybrid_or_stochastically() -> None:
    x, w, g = tensors(8)
    hybrid = recipe("hif8(backward_rounding=hybrid)")
    codes = hybrid.linear_backward(g, hybrid.linear(x, w)[1]).gradient.codes
    assert np.array_equal(codes, fp9.encode(g, "hif8", "hybrid", "inf"))
    drawn = recipe("hif8(backward_rounding=sr)")
    saved = drawn.linear(x, w)[1]
    codes = drawn.linear_backward(g, saved, random=np.random.default_rng(1)).gradient.codes
    assert np.array_equal(codes, fp9.encode(g, "hif8", "sr", "inf", rng=np.random.default_rng(1)))
    with pytest.raises(ValueError, match="needs random bits"):
        drawn.linear_backward(g, saved)


# --- input that is out of the ordinary ------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_tensors_of_zeros_give_zeros(spec: Recipe) -> None:
    state = spec.state()
    for _ in range(12):
        y, saved = spec.linear(np.zeros((3, 4), np.float32), np.zeros((2, 4), np.float32), state)
        back = spec.linear_backward(np.zeros((3, 2), np.float32), saved)
        assert not (y.any() or back.dx.any() or back.dw.any())


@pytest.mark.parametrize("spec", [s for s in EVERY if s.gradient_overflow is fp9.Overflow.INF], ids=str)
def test_a_gradient_that_overflows_is_noticed(spec: Recipe) -> None:
    x, w, g = tensors(9)
    g[0, 0] = 1e30
    finite, _ = gradients_are_finite(spec.linear_backward(g, spec.linear(x, w)[1]).dw)
    assert not finite
    assert gradients_are_finite(x, w) == (True, max(abs(x).max(), abs(w).max()))
    assert gradients_are_finite() == (True, 0.0)


@pytest.mark.parametrize(
    "x, w, sentence",
    [
        (np.ones((2, 3)), np.ones((4, 5)), "give \\(..., in\\) and \\(out, in\\)"),
        (np.ones(3), np.ones((4, 3)), "at least two axes"),
        (np.ones((2, 3)), np.ones((1, 4, 3)), "give \\(..., in\\) and \\(out, in\\)"),
    ],
)
def test_shapes_that_do_not_fit_are_one_sentence(x: object, w: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        RECIPES["hif8"].linear(x, w)  # type: ignore[arg-type]


def test_a_gradient_of_another_shape_is_refused() -> None:
    x, w, g = tensors(10)
    saved: Saved = RECIPES["hif8"].linear(x, w)[1]
    with pytest.raises(ValueError, match="give that of y"):
        RECIPES["hif8"].linear_backward(g.T, saved)
