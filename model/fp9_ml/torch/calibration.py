"""Find power-of-two scales for every layer of a torch model by HiFloat8's Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from fp9_ml.recipes import Calibrated, Product, Role, Scaler, SearchedScaler
from fp9_ml.recipes.calibration import EXPONENTS, best_pair, pairs_of
from fp9_ml.torch.layers import ByRecipe
from fp9_ml.torch.products import Numbers


def calibrate(
    model: nn.Module,
    batches: Iterable[Any],
    activations: Iterable[int] = EXPONENTS,
    weights: Iterable[int] = EXPONENTS,
) -> dict[str, Calibrated]:
    """Find power-of-two scales for a model whose training recipe has `scale=searched` (HiFloat8's Algorithm 1).

    The model is called twice with all batches, in `eval` mode and without gradients. In the first pass over the
    batches, the layers compute their products in FP32. In the second pass, each layer chooses the two scale exponents
    with which the layer's quantised product is nearest to its FP32 product. The quantised product determines the input
    of the next layer. The model's `state_dict` includes the chosen exponents. The returned dictionary maps the name of
    each layer to the layer's scale exponents and error. Channel groups have the names NAME.0, NAME.1 and so on. Source:
    Luo et al. (arXiv 2409.16626), section 4.2.

    Raises ValueError if no layer's recipe has `scale=searched`, if a layer is called twice in a pass, or if a product
    is not finite. Raises ValueError if `batches`, `activations` or `weights` is empty. After an error, the scales are
    unchanged.
    """
    layers = {name: m for name, m in model.named_modules() if isinstance(m, ByRecipe) and _is_searched(m)}
    pairs, data = pairs_of(activations, weights), list(batches)
    if not layers or not pairs or not data:
        raise ValueError(
            f"{len(layers)} layers with scales to search, {len(pairs)} pairs of exponents, {len(data)} batches given; "
            'give one or more of each, and convert the model by a recipe such as "hif8(scale=searched)"'
        )
    search = _Search(pairs)
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with torch.no_grad():
            for phase in (search.exact, search.searched):
                for name, layer in layers.items():
                    layer.instead = partial(phase, name, layer)
                model(torch.cat(data))
    finally:
        for layer in layers.values():
            layer.instead = None
        for module, training in modes.items():
            module.training = training
    for (name, group), found in search.found.items():
        _set_scales(layers[name].scales[group].scalers, found)
    grouped = {name: len(layer.scales) > 1 for name, layer in layers.items()}
    return {f"{name}.{group}" if grouped[name] else name: found for (name, group), found in search.found.items()}


def _set_scales(scalers: Mapping[Role, Scaler], found: Calibrated) -> None:
    for role, exponent in ((Role.ACTIVATIONS, found.activation), (Role.WEIGHTS, found.weight)):
        scaler = scalers[role]
        assert isinstance(scaler, SearchedScaler)
        scaler.set(exponent)


def _is_searched(layer: ByRecipe) -> bool:
    scalers = [scaler for state in layer.scales for scaler in state.scalers.values()]
    return layer.recipe.forward is not None and all(isinstance(scaler, SearchedScaler) for scaler in scalers)


class _Search:
    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        self._pairs = pairs
        self._wanted: dict[tuple[str, int], Numbers] = {}
        self.found: dict[tuple[str, int], Calibrated] = {}

    def exact(self, name: str, layer: ByRecipe, group: int, x: Numbers, w: Numbers) -> Numbers:
        if (name, group) in self._wanted:
            raise ValueError(f"layer {name!r} is called twice; a pair of exponents is searched for one call")
        with np.errstate(over="ignore", invalid="ignore"):
            y: Numbers = x @ w.T
        if not np.isfinite(y).all():
            raise ValueError(f"layer {name!r}: its product has infinities or NaN; give finite data and weights")
        self._wanted[name, group] = y
        return y

    def searched(self, name: str, layer: ByRecipe, group: int, x: Numbers, w: Numbers) -> Numbers:
        recipe = layer.recipe
        a, b, engine = recipe.activations, recipe.weights, recipe.engine_of(Product.FORWARD)
        assert a is not None and b is not None and engine is not None
        rounding = recipe.rounding and recipe.rounding.value
        wanted = self._wanted[name, group]
        self.found[name, group], product = best_pair(x, w, wanted, (a, b), engine, self._pairs, rounding)
        return product
