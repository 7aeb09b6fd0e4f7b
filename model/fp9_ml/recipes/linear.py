"""Linear layer with operands in narrow formats and bit-accurate matrix products.

The layer computes y = x w^T with x (..., in) and w (out, in), as torch does. From the output gradient g, the backward
pass computes dx = g w and dw = g^T x. Each operand is multiplied by its scale factor before the cast, and the product
is divided by both factors in float64, with one rounding to FP32. If a scale factor is no power of two, the scaled
operand and the inverse factor are also rounded to FP32, as in Transformer Engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fp9.casts.arrays import as_numbers, decode, encode
from fp9.engines import Engine
from fp9.formats import Format
from fp9.sums.operands import Operand as Prepared
from fp9.sums.operands import operand
from fp9.sums.products import matmul
from fp9_ml.recipes.roles import Choices, Product, Role
from fp9_ml.recipes.scaling import Scaler, amax
from fp9_ml.recipes.state import State, check_keys

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


Multiply: TypeAlias = Callable[..., Any]
"""Function with the arguments `a`, `b` and `engine` of `fp9.matmul`."""


class LayerState:
    """Scales of the activations, weights and gradients of one layer."""

    def __init__(self, recipe: Choices) -> None:
        self.scalers: dict[Role, Scaler] = {}
        for role in Role:
            fmt = recipe.format_of(role)
            if fmt is not None:
                self.scalers[role] = recipe.scale.start(fmt)

    @property
    def remembers(self) -> bool:
        """Return whether any scale factor of the layer depends on tensors of earlier training steps."""
        return any(scaler.remembers for scaler in self.scalers.values())

    def state_dict(self) -> State:
        """Return the states of the layer's scalers, in a dictionary that `json.dumps` writes without loss."""
        return {role.value: scaler.state_dict() for role, scaler in self.scalers.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state_dict` returned.

        If the state does not match the layer's scalers, the method raises ValueError and changes nothing.
        """
        check_keys(state, tuple(role.value for role in self.scalers), "a layer's scales")
        before = self.state_dict()
        try:
            for role, scaler in self.scalers.items():
                scaler.load_state_dict(state[role.value])
        except ValueError:
            for role, scaler in self.scalers.items():
                scaler.load_state_dict(before[role.value])
            raise


@dataclass(frozen=True)
class Operand:
    """Operand of a bit-accurate matrix product: codes of a tensor that was multiplied by `factor`.

    If `format` is None, `codes` holds FP32 numbers and `factor` is 1. `prepared` is the operand in the form that
    `fp9.matmul` needs.
    """

    codes: NDArray[Any]
    format: Format | None
    factor: float = 1.0
    prepared: Prepared | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.prepared is None and self.format is not None:
            object.__setattr__(self, "prepared", operand(self.codes, self.format))

    @property
    def transposed(self) -> Operand:
        """Return a copy of the operand with its last two axes swapped."""
        return Operand(self.codes.swapaxes(-1, -2), self.format, self.factor, self.prepared and self.prepared.mT)

    def numbers(self) -> NDArray[np.float32]:
        """Return the FP32 numbers of the tensor: the decoded codes divided by the scale factor."""
        if self.format is None:
            return self.codes
        return unscaled(decode(self.codes, self.format), self.factor)


@dataclass(frozen=True)
class Saved:
    """Data that a forward pass saves for the backward pass: operands x (n, in) and w (out, in).

    `product` (n, out) holds the codes of the forward product, or FP32 numbers if the recipe has no accumulator model
    for the product. `earlier` holds the gradient's scale factor from the first backward pass, which repeated backward
    passes use again.
    """

    recipe: Choices
    state: LayerState
    x: Operand
    w: Operand
    product: NDArray[Any]
    shape: tuple[int, ...]
    training: bool = True
    earlier: dict[Role, float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def factors(self) -> dict[Role, float]:
        """Return the scale factors of the activations and of the weights."""
        return {Role.ACTIVATIONS: self.x.factor, Role.WEIGHTS: self.w.factor}


@dataclass(frozen=True)
class Backward:
    """Result of a layer's backward pass: gradients of the loss with respect to the layer's output, input and weights.

    `gradient` is the output gradient (n, out) after its cast. `dx_product` (n, in) and `dw_product` (out, in) hold the
    codes of the products before the division by the scale factors. If the recipe has no accumulator model for a
    product, the product's array holds FP32 numbers. `dx` and `dw` are FP32 numbers in the shapes of `x` and `w`.
    """

    gradient: Operand
    dx_product: NDArray[Any]
    dw_product: NDArray[Any]
    dx: NDArray[np.float32]
    dw: NDArray[np.float32]


def linear(
    recipe: Choices,
    x: ArrayLike,
    w: ArrayLike,
    state: LayerState | None = None,
    *,
    training: bool = True,
    random: np.random.Generator | None = None,
    earlier: Mapping[Role, float] | None = None,
    multiply: Multiply = matmul,
) -> tuple[NDArray[np.float32], Saved]:
    """Return the FP32 product y = x w^T of activations x and weights w, and a `Saved` for the backward pass.

    The shapes are (..., in) for the activations x, (out, in) for the weights w, and (..., out) for the product y.

    If w has more than two axes, x (..., n, in) and w (..., out, in) are stacks of matrices. Each matrix of x is
    multiplied by the matrix of w with the same index. All matrices of a stack have one common scale factor. For a
    repeated forward pass, `earlier` holds the scale factors (`Saved.factors`) of the first pass. The function
    `multiply` replaces `fp9.matmul`, and must return the same bits.
    """
    many, shape = np.ndim(w) > 2, np.shape(x)
    rows, weights = _matrices(x, "x", many), _matrices(w, "w", many)
    if rows.shape[:-2] != weights.shape[:-2] or rows.shape[-1] != weights.shape[-1]:
        raise ValueError(
            f"x of shape {shape} and w of shape {np.shape(w)} given; give (..., in) and (out, in), or (..., n, in) and "
            "(..., out, in)"
        )
    scales = state or LayerState(recipe)
    a = quantised(recipe, Role.ACTIVATIONS, rows, scales, training, random, earlier)
    b = quantised(recipe, Role.WEIGHTS, weights, scales, training, random, earlier)
    product = multiplied(recipe, Product.FORWARD, a, b.transposed, multiply)
    y = _result(recipe, Product.FORWARD, product, a.factor, b.factor, recipe.output)
    return y.reshape(*shape[:-1], weights.shape[-2]), Saved(recipe, scales, a, b, product, shape, training)


def linear_backward(
    g: ArrayLike, saved: Saved, *, random: np.random.Generator | None = None, multiply: Multiply = matmul
) -> Backward:
    """Return dx = g w and dw = g^T x for the gradient `g` (..., out) with respect to y = x w^T."""
    recipe = saved.recipe
    expected = (*saved.shape[:-1], saved.w.codes.shape[-2])
    if np.shape(g) != expected:
        raise ValueError(f"gradient of shape {np.shape(g)} given; give that of y, {expected}")
    rows = _matrices(g, "gradient", saved.w.codes.ndim > 2)
    e = quantised(recipe, Role.GRADIENTS, rows, saved.state, saved.training, random, saved.earlier)
    saved.earlier.setdefault(Role.GRADIENTS, e.factor)
    dx_product = multiplied(recipe, Product.DGRAD, e, saved.w, multiply)
    dw_product = multiplied(recipe, Product.WGRAD, e.transposed, saved.x, multiply)
    dx = _result(recipe, Product.DGRAD, dx_product, e.factor, saved.w.factor, recipe.output)
    dw = _result(recipe, Product.WGRAD, dw_product, e.factor, saved.x.factor, None)
    if recipe.weight_gradients is not None:
        dw = _rounded(recipe, dw, recipe.weight_gradients, random)
    return Backward(e, dx_product, dw_product, dx.reshape(saved.shape), dw)


def quantised(
    recipe: Choices,
    role: Role,
    x: NDArray[np.float32],
    state: LayerState,
    training: bool = True,
    random: np.random.Generator | None = None,
    earlier: Mapping[Role, float] | None = None,
) -> Operand:
    fmt = recipe.format_of(role)
    if fmt is None:
        return Operand(x, None)
    scaler = state.scalers[role]
    if scaler.remembers and earlier and role in earlier:
        factor = earlier[role]
    else:
        factor = scaler.step(x) if training else scaler.factor(x)
    policy = recipe.policy(role)
    bits = random if policy.rounding_for(fmt).needs_bits else None
    codes = encode_scaled(x, fmt, factor, rounding=policy.rounding, overflow=policy.overflow, rng=bits)
    return Operand(codes, fmt, factor)


def encode_scaled(x: NDArray[np.float32], fmt: Format, factor: float, **policy: Any) -> NDArray[Any]:
    numbers, exponent = taken(x, factor)
    return np.asarray(encode(numbers, fmt, scale=-exponent, **policy))


def taken(x: NDArray[np.float32], factor: float) -> tuple[NDArray[np.float32], int]:
    # The result is an FP32 array and an exponent e, such that x * factor is the array times 2^e.
    fraction, exponent = math.frexp(factor)
    if fraction == 0.5:
        return x, exponent - 1
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return x * np.float32(factor), 0


def multiplied(recipe: Choices, product: Product, a: Operand, b: Operand, multiply: Multiply) -> NDArray[Any]:
    engine = recipe.engine_of(product)
    if engine is None or a.prepared is None or b.prepared is None:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(a.numbers() @ b.numbers())
    return np.asarray(multiply(a.prepared, b.prepared, engine=engine))


def unscaled(numbers: NDArray[Any], *factors: float) -> NDArray[np.float32]:
    """Divide by scale factors in float64, and round once to FP32."""
    # As in Transformer Engine, the inverse of each scale factor is first rounded to FP32.
    scaling = math.prod(float(np.float32(1) / np.float32(factor)) for factor in factors)
    if scaling == 1:
        return np.asarray(numbers, dtype=np.float32)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return (numbers.astype(np.float64) * scaling).astype(np.float32)


def _result(
    recipe: Choices, product: Product, codes: NDArray[Any], left: float, right: float, output: Format | None
) -> NDArray[np.float32]:
    engine: Engine | None = recipe.engine_of(product)
    if engine is None:
        return np.asarray(codes, dtype=np.float32)
    numbers = unscaled(decode(codes, engine.output), left, right)
    if output is None or (output == engine.output and left == right == 1):
        return numbers
    return np.asarray(decode(encode(numbers, output, overflow="inf"), output), dtype=np.float32)


def _rounded(
    recipe: Choices, numbers: NDArray[np.float32], fmt: Format, random: np.random.Generator | None
) -> NDArray[np.float32]:
    policy = recipe.policy(Role.GRADIENTS)
    bits = random if policy.rounding_for(fmt).needs_bits else None
    codes = encode(numbers, fmt, policy.rounding, policy.overflow, rng=bits)
    return np.asarray(decode(codes, fmt), dtype=np.float32)


def _matrices(x: ArrayLike, what: str, many: bool) -> NDArray[np.float32]:
    array = as_numbers(x)
    if array.ndim < 2:
        raise ValueError(f"{what} of shape {array.shape} given; give at least two axes")
    with np.errstate(over="ignore", invalid="ignore"):
        shape = array.shape if many else (math.prod(array.shape[:-1]), array.shape[-1])
        return np.ascontiguousarray(array.reshape(shape), dtype=np.float32)


def gradients_are_finite(*gradients: NDArray[Any]) -> tuple[bool, float]:
    """Return whether all gradients are finite, and the largest gradient magnitude.

    Pass both values to `LossScaler.update`.
    """
    finite = all(bool(np.isfinite(g).all()) for g in gradients)
    return finite, max((amax(g) for g in gradients), default=0.0)
