"""Matrix products of a layer as custom torch operators, computed in NumPy."""

from __future__ import annotations

import functools
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias
from weakref import WeakValueDictionary

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray

from fp9.engines import Engine
from fp9.formats import Format
from fp9.sums.operands import Operand as Prepared
from fp9.sums.products import matmul
from fp9_ml.recipes import LayerState, Recipe, Recording, Role, Saved
from fp9_ml.recipes.linear import Operand
from fp9_ml.torch import integers

Numbers: TypeAlias = NDArray[np.float32]

# Number of forward passes whose scale factors are stored.
PASSES = 1024


class Passes:
    """Scale factors of a layer's latest forward passes, for use if a forward pass is repeated."""

    def __init__(self) -> None:
        self._factors: dict[bytes, Mapping[Role, float]] = {}
        self.earlier: dict[float, dict[Role, float]] = {}

    def add(self, x: Numbers, w: Numbers, factors: Mapping[Role, float]) -> None:
        digest = _digest(x, w)
        self._factors.pop(digest, None)
        self._factors[digest] = factors
        _forget(self._factors)

    def find(self, x: Numbers, w: Numbers) -> Mapping[Role, float]:
        found = self._factors.get(_digest(x, w))
        if found is None:
            raise ValueError(
                f"a backward pass got operands that none of the last {PASSES} forward passes had; "
                "let the checkpointed function compute the same numbers again, with preserve_rng_state=True"
            )
        return found

    def first_gradient(self, number: float) -> dict[Role, float]:
        found = self.earlier.setdefault(number, {})
        _forget(self.earlier)
        return found


def _forget(passes: dict[Any, Any]) -> None:
    if len(passes) > PASSES:
        del passes[next(iter(passes))]


def _digest(x: Numbers, w: Numbers) -> bytes:
    return b"".join(xxhash.xxh3_128_digest(np.ascontiguousarray(each).data) for each in (x, w))


@dataclass(frozen=True)
class Use:
    """Data of one layer that the layer's custom torch operators read and update."""

    state: LayerState
    passes: Passes = field(default_factory=Passes)
    recording: Recording | None = None
    name: str = ""


class Layer(Protocol):
    """Layer whose scales the custom operators can read and update."""

    def use(self, group: int) -> Use:
        """Return the scales of one channel group."""


_LAYERS: WeakValueDictionary[int, Layer] = WeakValueDictionary()
_BITS = 62


def register(layer: Layer) -> int:
    """Return a random number by which the custom operators find the layer."""
    handle = secrets.randbits(_BITS)
    _LAYERS[handle] = layer
    return handle


@functools.lru_cache(maxsize=64)
def spelled(recipe: Recipe) -> str:
    """Return JSON text, because an exported graph can contain text but no objects."""
    return json.dumps(recipe.spelled())


@functools.lru_cache(maxsize=64)
def _read(text: str) -> Recipe:
    return Recipe(**json.loads(text))


def _use(recipe: Recipe, handle: int, group: int, training: bool) -> Use:
    layer = _LAYERS.get(handle)
    if layer is not None:
        return layer.use(group)
    use = Use(recipe.state())
    if use.state.remembers:
        raise ValueError(
            f"recipe {recipe.name} given in a graph whose layer does not exist, and its scales depend on earlier "
            "tensors; keep the model, or export one with scale=fixed or scale=current"
        )
    return use


# --- operators --------------------------------------------------------------------------------------------------------

_Tensors: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


@torch.library.custom_op("fp9::linear", mutates_args=(), tags=(torch.Tag.nondeterministic_seeded,))
def _linear(x: torch.Tensor, w: torch.Tensor, recipe: str, training: bool, layer: int, group: int) -> _Tensors:
    chosen, rows, weights = _read(recipe), _numbers(x), _numbers(w)
    use = _use(chosen, layer, group, training)
    moves, repeated = training and use.state.remembers, _is_repeated()
    y, saved = chosen.linear(
        rows,
        weights,
        use.state,
        training=training,
        random=_random(chosen),
        earlier=use.passes.find(rows, weights) if moves and repeated else None,
        multiply=multiply_on(x.device),
    )
    if moves and not repeated:
        use.passes.add(rows, weights, saved.factors)
    if use.recording is not None and not repeated:
        use.recording.forward(use.name, saved, rows, weights)
    number = float(secrets.randbits(_FLOAT_BITS))
    factors = torch.tensor([saved.x.factor, saved.w.factor, number], dtype=torch.float64)
    codes = [_tensor(each, x.device) for each in (saved.x, saved.w)]
    return torch.from_numpy(y).to(x.device, x.dtype), codes[0], codes[1], factors


_FLOAT_BITS = 53


@_linear.register_fake
def _(x: torch.Tensor, w: torch.Tensor, recipe: str, training: bool, layer: int, group: int) -> _Tensors:
    chosen = _read(recipe)
    rows = x if w.dim() > 2 else x.reshape(-1, x.shape[-1])
    codes = [
        each.new_empty(each.shape, dtype=_code_type(chosen.format_of(role)))
        for each, role in ((rows, Role.ACTIVATIONS), (w, Role.WEIGHTS))
    ]
    y = x.new_empty((*x.shape[:-1], w.shape[-2]))
    return y, codes[0], codes[1], x.new_empty((3,), dtype=torch.float64, device="cpu")


@torch.library.custom_op("fp9::linear_backward", mutates_args=(), tags=(torch.Tag.nondeterministic_seeded,))
def _linear_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    w: torch.Tensor,
    factors: torch.Tensor,
    recipe: str,
    training: bool,
    layer: int,
    group: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    chosen = _read(recipe)
    use = _use(chosen, layer, group, training)
    left, right, number = factors.tolist()
    saved = Saved(
        chosen,
        use.state,
        _operand(x, chosen.format_of(Role.ACTIVATIONS), left),
        _operand(w, chosen.format_of(Role.WEIGHTS), right),
        np.empty(0),
        (*g.shape[:-1], x.shape[-1]),
        training,
        use.passes.first_gradient(number),
    )
    arrived = _numbers(g)
    found = chosen.linear_backward(arrived, saved, random=_random(chosen), multiply=multiply_on(g.device))
    if use.recording is not None:
        use.recording.backward(use.name, saved, found, arrived)
    return torch.from_numpy(found.dx).to(g.device), torch.from_numpy(found.dw).to(g.device)


@_linear_backward.register_fake
def _(
    g: torch.Tensor,
    x: torch.Tensor,
    w: torch.Tensor,
    factors: torch.Tensor,
    recipe: str,
    training: bool,
    layer: int,
    group: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    dx = g.new_empty((*g.shape[:-1], x.shape[-1]), dtype=torch.float32)
    return dx, g.new_empty(w.shape, dtype=torch.float32)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: _Tensors) -> None:
    x, w, *settings = inputs
    ctx.settings = settings
    ctx.dtypes = x.dtype, w.dtype
    ctx.save_for_backward(*output[1:])


def _differentiate(ctx: Any, gradient: torch.Tensor, *_: Any) -> tuple[Any, ...]:
    dx, dw = _linear_backward(gradient, *ctx.saved_tensors, *ctx.settings)
    return dx.to(ctx.dtypes[0]), dw.to(ctx.dtypes[1]), None, None, None, None


_linear.register_autograd(_differentiate, setup_context=_setup)


class _Gradients(torch.autograd.Function):
    """Autograd function of the backward operator. A second differentiation raises an error."""

    @staticmethod
    def forward(*arguments: Any) -> Any:
        return _linear_backward(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        raise RuntimeError("second derivatives requested; a product under a recipe has only first derivatives")


class _Product(torch.autograd.Function):
    """Autograd function of the forward and backward operators, for use under torch.func transforms."""

    @staticmethod
    def forward(x: torch.Tensor, w: torch.Tensor, recipe: str, training: bool, layer: int, group: int) -> _Tensors:
        found: _Tensors = _linear(x, w, recipe, training, layer, group)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: _Tensors) -> None:
        ctx.mark_non_differentiable(*output[1:])
        _setup(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> Any:
        dx, dw = _Gradients.apply(gradient, *ctx.saved_tensors, *ctx.settings)
        return dx.to(ctx.dtypes[0]), dw.to(ctx.dtypes[1]), None, None, None, None


def product(x: torch.Tensor, w: torch.Tensor, recipe: str, training: bool, layer: int, group: int = 0) -> torch.Tensor:
    """Return x w^T for x (..., in) and w (out, in), in x's dtype.

    `recipe` is JSON text, and `layer` is the number that `register` returned. Only the first derivative is supported.
    """
    transformed = not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()
    called = _Product.apply if transformed else _linear
    result: torch.Tensor = called(x, w, recipe, training, layer, group)[0]
    return result


# --- numbers ----------------------------------------------------------------------------------------------------------


def _code_type(fmt: Format | None) -> torch.dtype:
    return torch.float32 if fmt is None else torch.uint8 if fmt.bits <= 8 else torch.int16


def _tensor(operand: Operand, device: torch.device) -> torch.Tensor:
    if operand.format is None:  # the layer's input, which a custom operator must not return
        return torch.tensor(operand.codes, device=device)
    return torch.from_numpy(signed(operand.codes)).to(device)


def _operand(codes: torch.Tensor, fmt: Format | None, factor: float) -> Operand:
    array = codes.detach().cpu().numpy()
    return Operand(array.view(np.uint16) if array.dtype == np.int16 else array, fmt, factor)


def _is_repeated() -> bool:
    # A forward pass during a backward pass is a repetition by activation checkpointing.
    return bool(torch._C._current_graph_task_id() != -1)


def multiply_on(device: torch.device) -> Callable[..., Any]:
    """Return a function with the arguments `a`, `b` and `engine` of `fp9.matmul`."""
    return matmul if device.type == "cpu" else functools.partial(multiply, device)


def multiply(device: torch.device, a: Prepared, b: Prepared, engine: Engine) -> NDArray[Any]:
    """Return the codes of `fp9.matmul`, computed on the device if possible."""
    formats = a.format, b.format
    if not integers.supports(*formats, engine, device):
        return np.asarray(matmul(a, b, engine=engine))
    x, y = (torch.tensor(signed(each.codes), device=device) for each in (a, b))
    pairs = zip(x.reshape(-1, *x.shape[-2:]), y.reshape(-1, *y.shape[-2:]), strict=True)
    codes = torch.stack([integers.matmul(left, right, *formats, engine) for left, right in pairs])
    found = codes.reshape(*x.shape[:-1], y.shape[-1]).cpu().numpy()
    return np.asarray(found.astype(engine.output.dtype))


def signed(codes: NDArray[Any]) -> NDArray[Any]:
    """Return codes of more than 8 bits as signed integers, because torch has few operations on unsigned integers."""
    return codes.view(f"i{codes.itemsize}") if codes.dtype.kind == "u" and codes.itemsize > 1 else codes


def _random(recipe: Recipe) -> np.random.Generator | None:
    formats = [(role, recipe.format_of(role)) for role in Role]
    if not any(fmt is not None and recipe.policy(role).rounding_for(fmt).needs_bits for role, fmt in formats):
        return None
    return generator()


def generator() -> np.random.Generator:
    """Return a generator that is seeded from torch's random generator."""
    return np.random.default_rng(int(torch.randint(2**62, ())))


def _numbers(tensor: torch.Tensor) -> Numbers:
    array: Numbers = tensor.detach().to("cpu", torch.float32).numpy()
    return array


Instead: TypeAlias = Callable[[int, Numbers, Numbers], Numbers]


def replaced(x: torch.Tensor, w: torch.Tensor, instead: Instead, group: int) -> torch.Tensor:
    return torch.from_numpy(instead(group, _numbers(x), _numbers(w))).to(x.device, x.dtype)
