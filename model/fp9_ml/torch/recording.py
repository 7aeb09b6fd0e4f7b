"""Record the matrix products of a PyTorch model during training, to test hardware with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import nn

from fp9_ml.recipes import Recording
from fp9_ml.torch.layers import ByRecipe


@contextmanager
def record(model: nn.Module, only: Callable[[str, nn.Module], bool] | None = None) -> Iterator[Recording]:
    """Context manager: records the matrix products and casts of a model that follows a training recipe.

    If `only` is given, only layers for which `only(name, module)` is true are recorded. `Recording.save` writes a file
    for `fp9 vectors export UNIT --from run.npz`. The channel groups of a convolution are recorded as layers NAME.0,
    NAME.1 and so on.

    Raises ValueError if the model has no layer to record, or if the model is already being recorded.
    """
    layers = {n: m for n, m in model.named_modules() if isinstance(m, ByRecipe) and (only is None or only(n, m))}
    if not layers:
        raise ValueError("a model without layers under a recipe given, or `only` takes none; convert it first")
    if any(layer.kept_in for layer in layers.values()):
        raise ValueError("a model that is being recorded given; leave the block of the other recording first")
    recording = Recording()
    for name, layer in layers.items():
        layer.kept_in = recording, name or "model"
    try:
        yield recording
    finally:
        for layer in layers.values():
            layer.kept_in = None
