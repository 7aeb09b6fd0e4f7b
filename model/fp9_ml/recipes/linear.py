"""A linear layer under a recipe: operands cast as their roles say, three products, each summed as its engine sums.

y = x w^T with x (..., in) and w (out, in), as torch has it; dx = g w, dw = g^T x. An operand is multiplied by the
factor of its scale before its cast, and a product is divided by both factors after its engine, in float64 with one
rounding to FP32. A factor that is a power of two adds no rounding but that; another one (Transformer Engine's) is
multiplied in FP32 before the cast, one rounding more, and its inverse is rounded to FP32 too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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


class LayerState:
    """The scales of one layer's three operands; every layer of a network has a state of its own."""

    def __init__(self, recipe: Choices) -> None:
        self.scalers: dict[Role, Scaler] = {}
        for role in Role:
            fmt = recipe.format_of(role)
            if fmt is not None:
                self.scalers[role] = recipe.scale.start(fmt)

    @property
    def remembers(self) -> bool:
        """Whether a factor depends on tensors of earlier passes."""
        return any(scaler.remembers for scaler in self.scalers.values())

    def state_dict(self) -> State:
        """A copy of the state, by role; `json.dumps` writes it without loss."""
        return {role.value: scaler.state_dict() for role, scaler in self.scalers.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state that `state_dict` gave. Raises ValueError where it does not fit, and changes nothing."""
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
    """A tensor as an engine takes it: codes of `format` that stand for the tensor times `factor`.

    Without a format `codes` are FP32 numbers, and the factor is 1. `prepared` is what both products that read the
    tensor share (`fp9.operand`).
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
        """The same with its last two axes swapped."""
        return Operand(self.codes.swapaxes(-1, -2), self.format, self.factor, self.prepared and self.prepared.mT)

    def numbers(self) -> NDArray[np.float32]:
        """What the codes stand for, the factor divided out; FP32."""
        if self.format is None:
            return self.codes
        return unscaled(decode(self.codes, self.format), self.factor)


@dataclass(frozen=True)
class Saved:
    """What the backward pass needs of a forward one: operands (n, in) and (out, in), and the shape of x.

    `product` holds the codes of the forward engine's output, (n, out): FP32 numbers where there is no engine. `earlier`
    gets the factor of the first gradient that comes back: a scale that remembers sees no later one of the same product.
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
        """The factors of both operands."""
        return {Role.ACTIVATIONS: self.x.factor, Role.WEIGHTS: self.w.factor}


@dataclass(frozen=True)
class Backward:
    """The backward pass: the gradient's operand (n, out), the codes of both products, and their numbers.

    `dx_product` (n, in) and `dw_product` (out, in) are codes of the engines' outputs (FP32 numbers where there is no
    engine); `dx` and `dw` are FP32 in the shapes of x and w.
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
) -> tuple[NDArray[np.float32], Saved]:
    """y = x w^T, FP32 of shape (..., out), and what the backward pass needs; x (..., in), w (out, in).

    Of w with more axes, (..., out, in), each matrix multiplies its own of x (..., n, in), as in attention; the scales
    are those of whole tensors.

    `state` holds the scales of this layer (None: new ones, as in a first step); with `training` false they are read and
    do not move. `random` draws the bits of stochastic roundings. `earlier` has the factors of an earlier pass of the
    same operands (`Saved.factors`), which this one repeats: scales that remember do not move again.

    Raises ValueError for shapes that do not fit, TypeError for operands that are no numbers.
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
    product = multiplied(recipe, Product.FORWARD, a, b.transposed)
    y = _result(recipe, Product.FORWARD, product, a.factor, b.factor, recipe.output)
    return y.reshape(*shape[:-1], weights.shape[-2]), Saved(recipe, scales, a, b, product, shape, training)


def linear_backward(g: ArrayLike, saved: Saved, *, random: np.random.Generator | None = None) -> Backward:
    """Both backward products of a layer, from the gradient g (..., out) of the loss with respect to y.

    A second pass back through the same forward one has the factor of the first where the gradients' scale remembers.

    Raises ValueError for a g of another shape, TypeError for one that is no numbers.
    """
    recipe = saved.recipe
    expected = (*saved.shape[:-1], saved.w.codes.shape[-2])
    if np.shape(g) != expected:
        raise ValueError(f"gradient of shape {np.shape(g)} given; give that of y, {expected}")
    rows = _matrices(g, "gradient", saved.w.codes.ndim > 2)
    e = quantised(recipe, Role.GRADIENTS, rows, saved.state, saved.training, random, saved.earlier)
    saved.earlier.setdefault(Role.GRADIENTS, e.factor)
    dx_product = multiplied(recipe, Product.DGRAD, e, saved.w)
    dw_product = multiplied(recipe, Product.WGRAD, e.transposed, saved.x)
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
    """FP32 numbers as the operand of a role; the scale of the role sees them where `training`.

    Where `earlier` has a factor of the role, a scale that remembers takes it and sees nothing.
    """
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
    """Codes of x times a factor: rounded once where it is a power of two, else first to FP32 and then to the format."""
    numbers, exponent = taken(x, factor)
    return np.asarray(encode(numbers, fmt, scale=-exponent, **policy))


def taken(x: NDArray[np.float32], factor: float) -> tuple[NDArray[np.float32], int]:
    """What a cast of x times a factor takes: FP32 numbers, and the exponent of two by which it multiplies them."""
    fraction, exponent = math.frexp(factor)
    if fraction == 0.5:
        return x, exponent - 1
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return x * np.float32(factor), 0


def multiplied(recipe: Choices, product: Product, a: Operand, b: Operand) -> NDArray[Any]:
    """Codes of the engine's output for a (M, K) times b (K, N); FP32 numbers where the product is left to the host."""
    engine = recipe.engine_of(product)
    if engine is None or a.prepared is None or b.prepared is None:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(a.numbers() @ b.numbers())
    return np.asarray(matmul(a.prepared, b.prepared, engine=engine))


def unscaled(numbers: NDArray[Any], *factors: float) -> NDArray[np.float32]:
    """Numbers divided by factors, in float64 and rounded once to FP32; inverses that are not exact are FP32 numbers."""
    scaling = math.prod(float(np.float32(1) / np.float32(factor)) for factor in factors)
    if scaling == 1:
        return np.asarray(numbers, dtype=np.float32)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return (numbers.astype(np.float64) * scaling).astype(np.float32)


def _result(
    recipe: Choices, product: Product, codes: NDArray[Any], left: float, right: float, output: Format | None
) -> NDArray[np.float32]:
    """A product's codes as FP32 numbers without scales, rounded to `output` where one is given."""
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
    """Numbers as contiguous FP32: of two axes, all but the last joined, or of the axes that `many` matrices have."""
    array = as_numbers(x)
    if array.ndim < 2:
        raise ValueError(f"{what} of shape {array.shape} given; give at least two axes")
    with np.errstate(over="ignore", invalid="ignore"):
        shape = array.shape if many else (math.prod(array.shape[:-1]), array.shape[-1])
        return np.ascontiguousarray(array.reshape(shape), dtype=np.float32)


def gradients_are_finite(*gradients: NDArray[Any]) -> tuple[bool, float]:
    """Whether all gradients are finite, and the largest magnitude among them: what `LossScaler.update` asks for."""
    finite = all(bool(np.isfinite(g).all()) for g in gradients)
    return finite, max((amax(g) for g in gradients), default=0.0)
