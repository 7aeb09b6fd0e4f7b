"""Replace the layers of a PyTorch model by layers that follow a training recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from fp9_ml.recipes import Place, Recipe
from fp9_ml.recipes import recipe as find_recipe
from fp9_ml.torch.attention import MultiheadAttention
from fp9_ml.torch.layers import Conv2d, Linear

# A subclass is not replaced, because a subclass may compute something else.
_CONVERTED: dict[type[nn.Module], type[Any]] = {nn.Linear: Linear, nn.Conv2d: Conv2d}

# Each setting is both an attribute and a constructor argument.
_SETTINGS: dict[type[nn.Module], tuple[str, ...]] = {
    nn.Linear: ("in_features", "out_features"),
    nn.Conv2d: (
        *("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"),
    ),
}


def convert(
    model: nn.Module,
    recipe: Recipe | str,
    only: Callable[[str, nn.Module], bool] | None = None,
    attention: bool = False,
) -> nn.Module:
    """Replace the Linear and Conv2d layers of a model by layers that follow a training recipe.

    The new layers share the parameters of the old layers, so that an existing optimiser continues to work. Hooks of a
    replaced layer are lost. If `only` is given, only layers for which `only(name, module)` is true are replaced. The
    first layer, the last layer and depthwise convolutions have the formats `first`, `last` and `depthwise` of the
    recipe. The first and the last layer are the layers that the model registered first and last, even if `only`
    excludes them. The model is changed in place and returned. If the model itself is a Linear or Conv2d layer, a new
    layer is returned. If `attention` is true, MultiheadAttention modules are also replaced, but never count as the
    first or last layer.

    Raises ValueError if there is no layer to replace, or if a layer's weight is computed from other parameters. The
    model is then unchanged.
    """
    chosen = find_recipe(recipe)
    layers = {name: module for name, module in model.named_modules() if type(module) in _CONVERTED}
    ends = list(layers)
    if attention:
        layers |= {name: module for name, module in model.named_modules() if type(module) is nn.MultiheadAttention}
    wanted = [name for name, module in layers.items() if only is None or only(name, module)]
    if not wanted:
        found = f"{len(layers)} Linear and Conv2d layers, of which `only` takes none" if layers else "none such"
        raise ValueError(f"a model with {found} given; give one with a layer to convert")
    for name in wanted:
        if type(layers[name]) in _CONVERTED and not {"weight"} <= set(layers[name]._parameters) <= {"weight", "bias"}:
            raise ValueError(f"layer {name!r} computes its weight from other parameters; remove that, or leave it out")
    new = {
        id(layers[name]): _by_recipe(layers[name], chosen.layer(_place(name, layers[name], ends))) for name in wanted
    }
    for path, child in list(model.named_modules(remove_duplicate=False)):
        if path and id(child) in new:
            parent, _, name = path.rpartition(".")
            setattr(model.get_submodule(parent), name, new[id(child)])
    return new.get(id(model), model)


def _place(name: str, module: nn.Module, names: list[str]) -> Place:
    # A depthwise layer is never the first or last layer. The only layer of a model counts as the last layer.
    if isinstance(module, nn.Conv2d) and module.groups == module.in_channels > 1:
        return Place.DEPTHWISE
    if names and name == names[-1]:
        return Place.LAST
    return Place.FIRST if names and name == names[0] else Place.INNER


def _by_recipe(module: Any, chosen: Recipe) -> nn.Module:
    if isinstance(module, nn.MultiheadAttention):
        return _attention(module, chosen)
    settings: dict[str, Any] = {name: getattr(module, name) for name in _SETTINGS[type(module)]}
    converted: nn.Module = _CONVERTED[type(module)](
        **settings, bias=module.bias is not None, recipe=chosen, device="meta"
    )
    converted.weight, converted.bias = module.weight, module.bias
    converted.train(module.training)
    return converted


def _attention(module: nn.MultiheadAttention, chosen: Recipe) -> nn.Module:
    converted = MultiheadAttention(
        module.embed_dim,
        module.num_heads,
        module.dropout,
        module.in_proj_bias is not None,
        module.bias_k is not None,
        module.add_zero_attn,
        module.kdim,
        module.vdim,
        module.batch_first,
        device="meta",
        recipe=chosen,
    )
    converted.in_proj_weight, converted.in_proj_bias = module.in_proj_weight, module.in_proj_bias
    converted.out_proj = module.out_proj
    converted.train(module.training)
    return converted
