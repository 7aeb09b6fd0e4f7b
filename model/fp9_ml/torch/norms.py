"""Re-tuning of batch norms for inference in 8-bit formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


def retune_bn(model: nn.Module, batches: Iterable[Any]) -> None:
    """Re-tune batch norms: measure their running means and variances again at inference (HFP8, section 3).

    The model is called with each batch, in `eval` mode and without gradients. While the model processes a batch, only
    the batch norms are in training mode. Means and unbiased variances are averaged over the batches, as torch does with
    momentum None. Weights and biases do not change. After an error, the running means and variances are unchanged.

    Raises ValueError if no batch norm has running statistics, if there are no batches, or if a mean or variance is not
    finite.
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]
    if not norms:
        raise ValueError("a model without batch norms that track statistics given; there is nothing to tune")
    modes = {module: module.training for module in model.modules()}
    before = [(norm.momentum, {name: b.clone() for name, b in norm.named_buffers(recurse=False)}) for norm in norms]
    try:
        _collect(model, norms, batches)
    except BaseException:
        for norm, (_, buffers) in zip(norms, before, strict=True):
            for name, buffer in norm.named_buffers(recurse=False):
                buffer.copy_(buffers[name])
        raise
    finally:
        for norm, (momentum, _) in zip(norms, before, strict=True):
            norm.momentum = momentum
        for module, training in modes.items():
            module.training = training


def _collect(model: nn.Module, norms: list[_BatchNorm], batches: Iterable[Any]) -> None:
    model.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
        norm.train()
    seen = False
    with torch.no_grad():
        for batch in batches:
            model(batch)
            seen = True
    if not seen:
        raise ValueError("no batches given; give some of the training data")
    for name, buffer in ((name, b) for norm in norms for name, b in norm.named_buffers(recurse=False)):
        if not torch.isfinite(buffer).all():
            raise ValueError(f"{name} with infinities or NaN found; look for an overflow before a batch norm")
