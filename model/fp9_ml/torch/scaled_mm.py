"""Replacement for torch._scaled_mm, bit-identical to a given GPU, on any device."""

from __future__ import annotations

import json
from typing import Any

import torch

from fp9.casts.sources import check_switches
from fp9.formats import Format, format
from fp9.profiles import PROFILES, Profile
from fp9.profiles import profile as find_profile
from fp9.profiles.backends import NumpyBackend
from fp9.profiles.scaled_mm import scaled_codes
from fp9_ml.torch.backend import TYPES, TensorBackend

_NAMES = {dtype: name for name, dtype in TYPES.items()}


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
    given = (a, b, scale_a, scale_b, bias, scale_result)
    moved = tuple(None if tensor is None else tensor.detach().to(a.device) for tensor in given)
    on = NumpyBackend() if a.device.type == "cpu" else TensorBackend(a.device)
    codes, _ = scaled_codes(on, moved, out_dtype, use_fast_accum, **json.loads(choices))
    found = codes if isinstance(codes, torch.Tensor) else torch.from_numpy(codes.view(f"i{codes.itemsize}"))
    return found.view(TYPES[out_dtype])


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
    return a.new_empty((a.shape[0], b.shape[1]), dtype=TYPES[out_dtype])


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
    profile: str | Profile,
    **choices: Any,
) -> torch.Tensor:
    """Return the same result, bit by bit, as `torch._scaled_mm` on a GPU. `profile` names the GPU.

    The function takes the arguments of `fp9.scaled_mm`, as tensors. Operands of dtype `float4_e2m1fn_x2` hold two codes
    along K in a byte. Like `torch._scaled_mm`, this function has no gradients; the function `scaled_linear` has
    gradients. The tensors' device computes the result, and the result is bit-identical on all devices. Products with MX
    or NVFP4 scales are computed on the CPU, even if the tensors are on a GPU.

    Raises ValueError for a missing argument, for arguments that torch refuses, and for settings that were never
    measured on the GPU.
    """
    _check_tensors({"input": input, "mat2": mat2, "scale_a": scale_a, "scale_b": scale_b}, optional=False)
    _check_tensors({"bias": bias, "scale_result": scale_result}, optional=True)
    check_switches(use_fast_accum=use_fast_accum)
    dtype = input.dtype if out_dtype is None else out_dtype
    if dtype not in _NAMES:
        raise ValueError(f"out_dtype={dtype} given; give one of {', '.join(map(str, _NAMES))}")
    packed = {f"format_{side}": "e2m1" for side, x in (("a", input), ("b", mat2)) if x.dtype == _PACKED}
    stated = json.dumps({"profile": _profile_name(profile), "choices": packed | _spelled(choices)}, sort_keys=True)
    a, b = _unpacked(input, 1), _unpacked(mat2, 0)
    found: torch.Tensor = _scaled_mm(a, b, scale_a, scale_b, bias, scale_result, _NAMES[dtype], use_fast_accum, stated)
    return found


_PACKED = torch.float4_e2m1fn_x2


def _check_tensors(given: dict[str, Any], optional: bool) -> None:
    for name, value in given.items():
        if not isinstance(value, torch.Tensor) and not (optional and value is None):
            raise TypeError(f"{name} of type {type(value).__name__} given; give a tensor")


def _unpacked(x: torch.Tensor, axis: int) -> torch.Tensor:
    # A byte holds two FP4 codes of neighbours along K. The low half is the first code.
    if x.dtype != _PACKED:
        return x
    codes = x.view(torch.uint8)
    return torch.stack((codes & 15, codes >> 4), axis + 1).flatten(axis, axis + 1)


def _profile_name(profile: str | Profile) -> str:
    found = find_profile(profile)
    if PROFILES.get(found.name) is not found:
        raise ValueError(f"profile {found.name} given, which is not in the catalogue; give it to fp9.scaled_mm instead")
    return found.name


def _spelled(choices: dict[str, Any]) -> dict[str, Any]:
    return {name: value.name if isinstance(value, Format) else value for name, value in choices.items()}


@torch.library.custom_op("fp9::scaled_cast", mutates_args=())
def _cast(x: torch.Tensor, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    # For a divisor that is a Python number, torch multiplies by the reciprocal on a GPU.
    largest = torch.full((), float(format(name).max), device=x.device)
    scale = (x.abs().amax().float() / largest).clamp_min(torch.finfo(torch.float32).tiny)
    return (x.float() / scale).clamp(-largest, largest).to(TYPES[name]), scale


@_cast.register_fake
def _(x: torch.Tensor, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    return x.new_empty(x.shape, dtype=TYPES[name]), x.new_empty((), dtype=torch.float32)


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
    """Return the product of `x` (n, in) and the transposed `weight` (out, in), bit-identical to a GPU.

    `profile` names the GPU. Both operands are cast to E4M3 with one scale for each tensor. In the backward pass,
    gradients are cast to E5M2, and `use_fast_accum` is false, as in torchao and Transformer Engine.
    """
    found: torch.Tensor = _Scaled.apply(x, weight, use_fast_accum, {"profile": profile, **choices})
    return found
