"""Compares scaled products and layers on a device with the processor, bit for bit.

`PYTHONPATH=model:. python -m tests.ml.torch.device_calls` needs a GPU, PyTorch for CUDA and cuda-bindings. It prints
how many results differ, for every kind of scales and for the layers, and multiply-accumulates a second.
"""

from __future__ import annotations

import copy
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

import fp9
import fp9_ml.torch as ft
from fp9.profiles import PROFILES, Call, Profile
from fp9.profiles.scaled_mm import scaled_codes
from fp9_ml.recipes import RECIPES
from fp9_ml.torch.backend import TYPES, TensorBackend

OPERANDS = {"mx": ("e4m3", "e5m2"), "nvfp4": ("e2m1", "e2m1")}
_SCALES = {"e8m0": torch.float8_e8m0fnu, "ue4m3": torch.float8_e4m3fn}


class Case(NamedTuple):
    """Call of a profile: `square` takes scales of 128 x 128 blocks for b, and operands of many exponents."""

    profile: Profile
    call: Call
    fast: bool
    choice: dict[str, Any]
    square: bool

    @property
    def formats(self) -> tuple[str, str]:
        return OPERANDS.get(self.call.scaling, ("e4m3", "e5m2"))

    def __str__(self) -> str:
        words = (self.profile.name, self.call.scaling, "fast" if self.fast else "slow", *self.choice.values())
        return "-".join(map(str, words)) + "-square" * self.square


def cases() -> Iterator[Case]:
    """Yield every known call, with every order of scales and every known split."""
    for profile in PROFILES.values():
        for call in profile.calls:
            for fast, known in ((True, call.fast), (False, call.slow)):
                for choice in _choices(call) if known else ():
                    yield from (Case(profile, call, fast, choice, square) for square in (False, True))


def _choices(call: Call) -> Iterator[dict[str, Any]]:
    for order in call.epilogue.scale:
        given = {"scale_order": order} if len(call.epilogue.scale) > 1 else {}
        if not call.may_split:
            yield given
            continue
        yield given | {"split_k": 1}
        yield from (given | {"split_k": 3, "split": split} for split in call.splits)


def scales(case: Case, m: int, n: int, k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return random scales: FP32 numbers, or codes of MX and NVFP4 scales."""
    kind, blocks = case.call.scaling, -(-k // 128)
    shapes = {
        "tensor": ((), ()),
        "row": ((m, 1), (1, n)),
        "1x128": ((m, blocks), (blocks, -(-n // 128) if case.square else n)),
        "mx": ((m, k // 32), (k // 32, n)),
        "nvfp4": ((m, k // 16), (k // 16, n)),
    }[kind]
    if kind in OPERANDS:
        name, low, high = ("e8m0", 120, 134) if kind == "mx" else ("ue4m3", 40, 70)
        first, second = (fp9.Array(rng.integers(low, high, shape, np.uint8), fp9.format(name)) for shape in shapes)
    else:
        size = 2.0 ** -rng.integers(0, 30)  # FP16 results become subnormal
        first, second = (np.float32(rng.uniform(0.5, 2, shape) * size) for shape in shapes)
    return first, second


def operands(case: Case, m: int, n: int, k: int, rng: np.random.Generator) -> list[Any]:
    """Return codes a (m, k) and b (k, n). If a format of `a` has NaN, one row has a NaN."""
    found = []
    for name, shape in zip(case.formats, ((m, k), (k, n)), strict=True):
        numbers = rng.normal(size=shape) * (2.0 ** rng.integers(-6, 6, shape) if case.square else 1.0)
        found.append(np.asarray(fp9.encode(numbers, name, overflow="saturate")))
    nan = fp9.format(case.formats[0]).nan_code(False)
    if nan is not None:
        found[0][0, k // 2] = nan
    return found


def differences(case: Case, shape: tuple[int, int, int], device: torch.device, seed: int) -> tuple[int, int]:
    """Return the number of results, and how many differ between the device and the processor."""
    rng, (profile, call, fast, choice, _) = np.random.default_rng(seed), case
    codes, factors = operands(case, *shape, rng), scales(case, *shape, rng)
    arrays = [fp9.Array(each, fp9.format(name)) for each, name in zip(codes, case.formats, strict=True)]
    bias = None if call.epilogue.bias is None else np.float32(rng.normal(size=shape[1]))
    named = choice | dict(zip(("format_a", "format_b"), case.formats, strict=True))
    given = [_tensor(each, device) for each in (*codes, *factors)]
    results = differ = 0
    for out in call.epilogue.outputs:
        if (*case.formats, out) in profile.refused:
            continue
        last = np.float32(0.3) if fp9.format(out).bits == 8 else None
        want = fp9.scaled_mm(*arrays, *factors, bias, last, out, fast, profile=profile, **choice).codes
        optional = [None if each is None else _tensor(each, device) for each in (bias, last)]
        found, _ = scaled_codes(TensorBackend(device), (*given, *optional), out, fast, profile, named)
        results, differ = results + want.size, differ + int((found.cpu().numpy().view(want.dtype) != want).sum())
    return results, differ


def _tensor(array: Any, device: torch.device) -> torch.Tensor:
    if isinstance(array, fp9.Array):
        return torch.from_numpy(array.codes).view(_SCALES[array.format.name])
    return torch.from_numpy(np.array(array)).to(device)


# --- layers ---------------------------------------------------------------------------------------------------------


def layer_differences(layer: torch.nn.Module, x: torch.Tensor, device: torch.device) -> int:
    """Return how many results and gradients of two training steps differ between the device and the processor."""
    found = []
    for place in (torch.device("cpu"), device):
        model, results = copy.deepcopy(layer).to(place), []
        for step in range(2):
            torch.manual_seed(step)
            given = (x * (step + 1)).to(place).detach().requires_grad_()
            model.zero_grad()
            y = model(given)
            y.backward((x.flatten()[0].to(place) * y).detach())
            results += [y.detach(), given.grad, *(p.grad for p in model.parameters())]
        found.append([each.cpu().flatten() for each in results if each is not None])
    return int((torch.cat(found[0]) != torch.cat(found[1])).sum())


class Scaled(torch.nn.Linear):
    """Linear layer without bias by `scaled_linear`."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return ft.scaled_linear(input, self.weight, profile="h200", split_k=1)


def layers() -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield a layer of every recipe. The layers have no bias, because the order of its gradient's sum is torch's."""
    yield "scaled_linear", Scaled(96, 40, bias=False)
    for name in RECIPES:
        yield name, ft.Linear(96, 40, bias=False, recipe=name)


# --- speed ----------------------------------------------------------------------------------------------------------


def seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the smallest time of a call on the device."""
    times = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def speed(case: Case, size: int, device: torch.device) -> float:
    """Return 10^12 multiply-accumulates a second of `scaled_mm` for FP8 tensors with BF16 results."""
    rng = np.random.default_rng(0)
    a, b = (torch.randn((size, size), device=device).to(TYPES["e4m3"]) for _ in range(2))
    given = [_tensor(each, device) for each in scales(case, size, size, size, rng)]
    call = {"out_dtype": torch.bfloat16, "use_fast_accum": case.fast, "profile": case.profile.name, **case.choice}
    return size**3 / seconds(lambda: ft.scaled_mm(a, b.t(), *given, **call)) / 1e12


def compared(shapes: tuple[tuple[int, int, int], ...], device: torch.device) -> dict[str, dict[str, int]]:
    """Return the numbers of results and of differing results, by kind of scales and for the layers."""
    found: dict[str, dict[str, int]] = {}
    for case in cases():
        kind = found.setdefault(f"scales of kind {case.call.scaling}", {"calls": 0, "results": 0, "differ": 0})
        for seed, shape in enumerate(shapes):
            results, differ = differences(case, shape, device, seed)
            kind["calls"], kind["results"], kind["differ"] = (
                kind["calls"] + 1,
                kind["results"] + results,
                kind["differ"] + differ,
            )
            if differ:
                print(f"{case} {shape}: {differ} of {results} differ", flush=True)
    torch.manual_seed(0)
    x = torch.randn(64, 96)
    counts = {name: layer_differences(layer, x, device) for name, layer in layers()}
    print({name: count for name, count in counts.items() if count} or "layers equal", flush=True)
    return found | {"layers": {"calls": len(counts), "differ": sum(counts.values())}}


def record(
    shapes: tuple[tuple[int, int, int], ...] = ((6, 128, 320), (200, 384, 1056)), size: int = 4096
) -> dict[str, Any]:
    """Return the comparisons, and the speed of every call without a split and with other scales than MX and NVFP4."""
    device, speeds = torch.device("cuda"), {}
    for case in cases():
        if case.call.scaling not in OPERANDS and not case.square and case.choice.get("split_k", 1) == 1:
            speeds[str(case)] = round(speed(case, size, device), 3)
    today = datetime.date.today().isoformat()
    return {"date": today, "size": size, "tera_macs": speeds, "compared": compared(shapes, device)}


def main() -> int:
    """Print the record, and return 1 if results differ."""
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    found = record()
    print(json.dumps(found, indent=1))
    return int(any(each["differ"] for each in found["compared"].values()))


if __name__ == "__main__":
    sys.exit(main())
