"""Replacement for torch._scaled_mm, bit-identical to a given GPU, on any device."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch

import fp9
from fp9.formats import format

_TYPES = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


@torch.library.custom_op("fp9::scaled_mm", mutates_args=())
def _scaled_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None,
    scale_result: torch.Tensor | None,
    out_dtype: str,
    use_fast_accum: bool,
    choices: str,
) -> torch.Tensor:
    given: list[Any] = [None if t is None else t.detach().cpu() for t in (a, b, scale_a, scale_b, bias, scale_result)]
    stated = {"out_dtype": out_dtype, "use_fast_accum": use_fast_accum, **json.loads(choices)}
    names = ("a", "b", "scale_a", "scale_b", "bias", "scale_result")
    result = fp9.scaled_mm(**dict(zip(names, given, strict=True)), **stated)
    codes = np.ascontiguousarray(result.codes)
    signed = codes.view(f"i{codes.itemsize}") if codes.itemsize > 1 else codes
    return torch.from_numpy(signed).view(_TYPES[out_dtype]).to(a.device)


@_scaled_mm.register_fake
def _(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None,
    scale_result: torch.Tensor | None,
    out_dtype: str,
    use_fast_accum: bool,
    choices: str,
) -> torch.Tensor:
    return a.new_empty((a.shape[0], b.shape[1]), dtype=_TYPES[out_dtype])


def scaled_mm(
    input: torch.Tensor,
    mat2: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
    *,
    profile: str,
    **choices: Any,
) -> torch.Tensor:
    """Return the same result, bit by bit, as `torch._scaled_mm` on a GPU. `profile` names the GPU.

    The arguments are those of `fp9.scaled_mm`. The result has no gradients, as in torch; `scaled_linear` has gradients.

    Raises ValueError for a missing argument, for arguments that torch refuses, and for settings that were never
    measured on the GPU.
    """
    dtype = input.dtype if out_dtype is None else out_dtype
    if dtype not in _NAMES:
        raise ValueError(f"out_dtype={dtype} given; give one of {', '.join(map(str, _NAMES))}")
    stated = json.dumps({"profile": profile, **choices}, sort_keys=True)
    found: torch.Tensor = _scaled_mm(
        input, mat2, scale_a, scale_b, bias, scale_result, _NAMES[dtype], use_fast_accum, stated
    )
    return found


def _cast(x: torch.Tensor, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    largest = float(format(name).max)
    scale = (x.detach().abs().amax().float() / largest).clamp_min(torch.finfo(torch.float32).tiny)
    scaled = (x.float() / scale).clamp(-largest, largest)
    return scaled.to(_TYPES[name]), scale


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, w: torch.Tensor, fast: bool, choices: dict[str, Any]) -> torch.Tensor:
        (a, scale_a), (b, scale_b) = _cast(x, "e4m3"), _cast(w, "e4m3")
        return scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=x.dtype, use_fast_accum=fast, **choices)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        x, w, _, ctx.choices = inputs
        ctx.save_for_backward(x, w)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        x, w = ctx.saved_tensors
        (g, scale), (a, scale_a), (b, scale_b) = _cast(gradient, "e5m2"), _cast(x, "e4m3"), _cast(w, "e4m3")
        dx = scaled_mm(g, b, scale, scale_b, out_dtype=x.dtype, **ctx.choices)
        dw = scaled_mm(g.t(), a, scale, scale_a, out_dtype=w.dtype, **ctx.choices)
        return dx, dw, None, None


def scaled_linear(
    x: torch.Tensor, weight: torch.Tensor, use_fast_accum: bool = True, *, profile: str, **choices: Any
) -> torch.Tensor:
    """Return x weight^T for x (n, in) and weight (out, in), bit-identical to a GPU. `profile` names the GPU.

    Both operands are cast to E4M3 with one scale for each tensor. In the backward pass, gradients are cast to E5M2, and
    `use_fast_accum` is false, as in torchao and Transformer Engine.
    """
    found: torch.Tensor = _Scaled.apply(x, weight, use_fast_accum, {"profile": profile, **choices})
    return found
