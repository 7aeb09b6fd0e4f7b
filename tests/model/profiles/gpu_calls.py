"""Measures the GPU of this machine: instructions, library calls, and fp9's own kernels.

`PYTHONPATH=model:. python -m tests.model.profiles.gpu_calls RECORD.json [PROFILE]` needs nvcc, PyTorch for CUDA and
cuda-bindings. Each call of the library is compared with `fp9.scaled_mm` or `fp9.matmul`, bit for bit.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.ml.torch import device_calls
from torch.profiler import ProfilerActivity, profile

import fp9
from fp9.cmodel.matrix_products import kernels
from fp9.engines import ENGINES, engine
from fp9.formats import fixed_format
from fp9_compare.identify import Interface, read
from fp9_compare.identify.measured import evidence_of, matching_presets
from fp9_compare.identify.probes.gpu_programs import PROGRAMS
from fp9_ml.torch import cuda
from fp9_ml.torch.integers import Product

TYPES = {
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
SHAPES = [
    (16, 16, 32),
    (64, 64, 128),
    (64, 128, 256),
    (128, 128, 1024),
    (16, 64, 1024),
    (64, 64, 4096),
    (512, 512, 2048),
]
DEEP = [(64, 64, 16384), (1024, 16, 8192)]
"""Shapes for which cuBLASLt divides K."""
PAIRS = [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3")]
MOST_PARTS = 8
"""Largest number of parts of K that is tried for a call that divides K."""
RNG = np.random.default_rng(45)


# --- operands -------------------------------------------------------------------------------------------------------


def codes(name: str, shape: tuple[int, int], kind: str) -> Any:
    """Return codes of finite numbers: of every exponent (`wide`), or of a few exponents (`near`)."""
    fmt = fp9.format(name)
    if kind == "near":
        return np.asarray(fp9.encode(RNG.normal(size=shape) * 4, name))
    exponents = RNG.integers(-9, 7, shape)
    return np.asarray(fp9.encode(np.ldexp(RNG.uniform(-2, 2, shape), exponents), fmt, overflow="saturate"))


def operands(a: str, b: str, shape: tuple[int, int, int], kind: str) -> tuple[Any, Any]:
    """Return codes a (m, k) and b (k, n). With `cancel`, half of the products are the negatives of the other half."""
    m, n, k = shape
    x, y = (
        codes(a, (m, k), "wide" if kind == "cancel" else kind),
        codes(b, (k, n), "wide" if kind == "cancel" else kind),
    )
    if kind == "cancel":
        order = RNG.permutation(k)
        first, second = order[: k // 2], order[k // 2 :]
        x[:, second], y[second] = x[:, first] ^ x.dtype.type(1 << (fp9.format(a).bits - 1)), y[first]
        few = order[: max(4, k // 8)]
        x[:, few] = codes(a, (m, len(few)), "wide")
    return x, y


def tensor(array: Any, name: str) -> Any:
    signed = array.view(np.int16) if array.dtype == np.uint16 else array
    return torch.from_numpy(np.ascontiguousarray(signed)).cuda().view(TYPES[name])


def column_major(array: Any, name: str) -> Any:
    return tensor(array.T, name).t()


def scale(numbers: Any) -> Any:
    return torch.from_numpy(np.asarray(numbers, np.float32)).cuda()


def bits(result: Any) -> Any:
    found = result.contiguous().view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[result.element_size()]).cpu()
    return found.numpy().view(f"u{found.element_size()}")


# --- calls ----------------------------------------------------------------------------------------------------------


class Group:
    """Counts of calls of one kind."""

    def __init__(self) -> None:
        self.calls = self.results = self.differ = self.divided = 0

    def add(self, library: Callable[[], Any], expected: Callable[[int], Any]) -> None:
        """Compare a call with what fp9 computes, for every number of parts of K if the library divides K."""
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            found = library()
            torch.cuda.synchronize()
        divided = any("splitK" in event.name for event in seen.events())
        found = bits(found)
        tried = range(2, MOST_PARTS + 1) if divided else (1,)
        self.differ += min(int((found != expected(parts)).sum()) for parts in tried)
        self.calls, self.results, self.divided = self.calls + 1, self.results + found.size, self.divided + divided

    @property
    def record(self) -> dict[str, int]:
        return {"calls": self.calls, "results": self.results, "divided_calls": self.divided, "differ": self.differ}


def scaled(
    group: Group, profile_name: str, pair: tuple[str, str], x: Any, y: Any, scales: Any, out: str, **more: Any
) -> None:
    """Compare one call of torch._scaled_mm with fp9.scaled_mm."""
    fast, bias, result = more.get("fast", True), more.get("bias"), more.get("result")
    given: dict[str, Any] = {} if bias is None else {"bias": tensor(bias, out if out in ("bf16", "fp16") else "bf16")}
    given |= {} if result is None else {"scale_result": scale(result)}
    on_device = more.get("on_device", [scale(each) for each in scales])

    def library() -> Any:
        return torch._scaled_mm(
            tensor(x, pair[0]), column_major(y, pair[1]), *on_device, out_dtype=TYPES[out], use_fast_accum=fast, **given
        )

    def expected(parts: int) -> Any:
        number = None if bias is None else fp9.decode(bias, out if out in ("bf16", "fp16") else "bf16")
        choice = {"split_k": parts} if more.get("may_split", True) else {}
        return fp9.scaled_mm(
            fp9.Array(x, fp9.format(pair[0])), fp9.Array(y, fp9.format(pair[1])), *scales, number, result, out, fast,
            profile=profile_name, **choice,
        ).codes  # fmt: skip

    group.add(library, expected)


def plain(name: str) -> Group:
    group, one = Group(), np.float32(1)
    for pair in PAIRS:
        for shape in [*SHAPES, *DEEP]:
            for kind in ("wide", "near", "cancel"):
                x, y = operands(*pair, shape, kind)
                for fast in (True, False):
                    scaled(group, name, pair, x, y, (one, one), "fp32", fast=fast)
    return group


def tensor_scales(_shape: tuple[int, int, int]) -> Any:
    return RNG.random(2).astype(np.float32) + np.float32(0.1)


def row_scales(shape: tuple[int, int, int]) -> Any:
    m, n, _ = shape
    return [RNG.random(size).astype(np.float32) + np.float32(0.5) for size in ((m, 1), (1, n))]


def with_scales(
    name: str, scales_of: Callable[[tuple[int, int, int]], Any], outs: tuple[str, ...], biased: bool, **more: Any
) -> Group:
    """Compare calls with random scales, for every pair of formats and every shape. E4M3 results have a scale too."""
    group = Group()
    for pair in PAIRS:
        for shape in SHAPES:
            x, y = operands(*pair, shape, "near")
            scales = scales_of(shape)
            for out in outs:
                fmt = out if out in ("bf16", "fp16") else "bf16"
                bias = np.asarray(fp9.encode(RNG.normal(size=shape[1]) * 64, fmt)) if biased else None
                for fast in (True, False):
                    for result in (None, np.float32(0.37)) if out == "e4m3" else (None,):
                        scaled(group, name, pair, x, y, scales, out, fast=fast, bias=bias, result=result, **more)
    return group


def block_scales(name: str, square: bool) -> Group:
    group, pair = Group(), ("e4m3", "e4m3")
    for m, n, k in ((128, 128, 512), (256, 128, 2048), (128, 256, 1024), (512, 512, 1536)):
        x, y = operands(*pair, (m, n, k), "near")
        a = RNG.random((m, k // 128)).astype(np.float32) + np.float32(0.5)
        b = RNG.random((k // 128, n // 128 if square else n)).astype(np.float32) + np.float32(0.5)
        on_b = scale(b)
        if square:  # cuBLASLt wants columns whose distance is a multiple of 4
            padded = torch.zeros((n // 128, -(-(k // 128) // 4) * 4), device="cuda")
            padded[:, : k // 128] = on_b.t()
            on_b = padded[:, : k // 128].t()
        on_device = [scale(a).t().contiguous().t(), on_b]
        for out in ("bf16", "fp32"):
            scaled(group, name, pair, x, y, (a, b), out, fast=False, may_split=False, on_device=on_device)
    return group


def wide(name: str, accumulate: str) -> Group:
    """Products of FP16 or BF16 by torch.mm, with FP32 results, or with FP16 accumulation."""
    group = Group()
    for shape in [(16, 16, 16), *SHAPES[1:], (128, 128, 4096)]:
        for kind in ("wide", "near"):
            x, y = operands(name, name, shape, kind)

            def library(x: Any = x, y: Any = y) -> Any:
                return torch.mm(tensor(x, name), column_major(y, name), out_dtype=torch.float32)

            def expected(parts: int, x: Any = x, y: Any = y) -> Any:
                depth = x.shape[1]
                tiles = np.arange(-(-depth // 64))
                owner = np.repeat(tiles // -(-len(tiles) // parts), 64)[:depth]
                sums = [
                    fp9.matmul(x[:, owner == p], y[owner == p], name, name, accumulate) for p in range(owner.max() + 1)
                ]
                total = np.asarray(sums[0]).view(np.float32)
                for each in sums[1:]:
                    total = total + np.asarray(each).view(np.float32)
                return total.view(np.uint32)

            group.add(library, expected)
    return group


def many(seconds: float = 15.0) -> dict[str, Any]:
    """Compare fp9's kernel with torch._scaled_mm in products of 4096 x 4096 x 1024, without scales."""
    results = differ = 0
    one, begun = torch.ones((), device="cuda"), datetime.datetime.now()
    while (datetime.datetime.now() - begun).total_seconds() < seconds:
        a, b = (torch.randint(0, 256, (4096, 1024), dtype=torch.int16, device="cuda") for _ in range(2))
        a, b = (torch.where(x & 0x7F == 0x7F, x ^ 1, x).to(torch.uint8) for x in (a, b))
        for fast, name in ((True, "hopper"), (False, "hopper(chunk=128,promotion=fp32)")):
            x, y = (each.view(torch.float8_e4m3fn) for each in (a, b))
            theirs = torch._scaled_mm(x, y.t(), one, one, out_dtype=torch.float32, use_fast_accum=fast)
            differ += int((theirs.view(torch.int32) != cuda.matmul(a, b.t(), "e4m3", "e4m3", name)).sum())
            results += theirs.numel()
    return {"results": results, "products_each": 1024, "differ": differ}


# --- instructions ---------------------------------------------------------------------------------------------------

ROWS = [
    ("e4m3", "fp32"),
    ("e5m2", "fp32"),
    ("e4m3", "fp16"),
    ("fp16", "fp32"),
    ("fp16", "fp16"),
    ("bf16", "fp32"),
    ("tf32", "fp32"),
]
BUILD = {"cuda": ["-arch=native"], "wgmma": ["-gencode=arch=compute_90a,code=sm_90a"]}


def instructions() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the presets that explain the rows of every program, by program, operands and result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program, operand, result in [
            *((p, *row) for p in BUILD for row in ROWS),
            *(("torch", a, "fp32") for a, r in ROWS if r == "fp32"),
        ]:
            source = folder / ("unit.py" if program == "torch" else "unit.cu")
            depth = 128 if program == "torch" else 64
            other = "e4m3" if program == "torch" and operand == "e5m2" else operand  # torch refuses e5m2 x e5m2
            source.write_text(PROGRAMS[program](Interface(operand, other, fixed_format(result), depth)))
            run = [sys.executable, str(source)]
            if program != "torch":
                subprocess.run(["nvcc", *BUILD[program], "-o", folder / "unit", source], check=True)
                run = [str(folder / "unit")]
            (folder / "unit.rows").write_text(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
            rows = read(folder / "unit.rows", any_nan=True)
            found = [name for name in matching_presets(evidence_of(rows)) if ENGINES[name].step.group is None]
            yield f"{program} {operand} x {other} to {result}", {"rows": len(rows.results), "presets": found}


# --- speed ----------------------------------------------------------------------------------------------------------


def seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median time of a call on the device."""
    call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return sorted(times)[repeats // 2]


def speed(size: int = 4096) -> dict[str, Any]:
    """Return multiply-accumulates a second of every preset for E4M3 operands, with registers and spills."""
    found = {}
    major, minor = torch.cuda.get_device_capability()
    for name, record in [
        *ENGINES.items(),
        ("hopper(chunk=128,promotion=fp32)", engine("hopper(chunk=128,promotion=fp32)")),
    ]:
        if record.step.group is not None:
            continue
        made = kernels("e4m3", "e4m3", record)
        log = cuda.compiled(made.source, f"sm_{major}{minor}", ("--ptxas-options=--verbose", "--no-cache"))[1]
        entries = re.findall(r"entry function '(\w+)'.*?(\d+) bytes spill loads.*?Used (\d+) registers", log, re.DOTALL)
        n = size if made.tiled else size // 4
        x, y = (torch.from_numpy(codes("e4m3", (n, n), "near")).cuda() for _ in range(2))
        time = seconds(lambda x=x, y=y, name=name: cuda.matmul(x, y.t(), "e4m3", "e4m3", name), 3)
        found[name] = {
            "size": n,
            "seconds": round(time, 6),
            "tera_macs": round(n**3 / time / 1e12, 4),
            "kernels": {
                kernel: {"registers": int(used), "spill_bytes": int(spilled)} for kernel, spilled, used in entries
            },
        }
    return found


def integers(size: int = 1024, depth: int = 128) -> dict[str, Any]:
    """Return multiply-accumulates a second of torch's integer operations, with and without torch.compile."""
    x, y = (torch.from_numpy(codes("e4m3", (size, depth), "near")).cuda() for _ in range(2))
    product = Product("e4m3", "e4m3", "hopper").cuda()
    wanted = cuda.matmul(x, y.t(), "e4m3", "e4m3", "hopper").to(torch.int64) & 0xFFFFFFFF
    found: dict[str, Any] = {"size": [size, size, depth]}
    for name, call in (("eager", product), ("compiled", torch.compile(product))):
        try:
            with torch.no_grad():
                found[name] = {
                    "differ": int((call(x, y.t()) != wanted).sum()),
                    "tera_macs": round(size * size * depth / seconds(lambda call=call: call(x, y.t())) / 1e12, 5),
                }
        except Exception as error:  # a compiler that fails is a result
            found[name] = {"error": str(error)[-1500:]}
    return found


# --- record ---------------------------------------------------------------------------------------------------------


def machine() -> dict[str, str]:
    said = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=True,
    )
    name, driver = said.stdout.strip().split(", ")
    return {
        "device": name,
        "driver": driver,
        "torch": torch.__version__,
        "cuda": str(torch.version.cuda),
        "cublas": importlib.metadata.version("nvidia-cublas"),
        "date": datetime.date.today().isoformat(),
        "command": "PYTHONPATH=model:. python -m tests.model.profiles.gpu_calls RECORD.json",
    }


def main(out: str, name: str = "h200") -> None:
    """Write the record after each part. Parts that the file has are not measured again."""
    record: dict[str, Any] = json.loads(Path(out).read_text()) if Path(out).exists() else {**machine(), "profile": name}
    parts: dict[str, Callable[[], Any]] = {
        "many": many,
        "calls": lambda: {
            "scales of 1, FP32 results": plain(name).record,
            "scales of tensors": with_scales(name, tensor_scales, ("bf16", "fp16", "e4m3", "fp32"), False).record,
            "scales of tensors, bias": with_scales(name, tensor_scales, ("bf16", "fp16", "e4m3"), True).record,
            "scales of rows": with_scales(name, row_scales, ("bf16", "fp16", "fp32"), False, may_split=False).record,
            "scales of rows, bias": with_scales(name, row_scales, ("bf16",), True, may_split=False).record,
            "scales of 1 x 128 and 1 x 128": block_scales(name, False).record,
            "scales of 1 x 128 and 128 x 128": block_scales(name, True).record,
            "FP16, FP32 results": wide("fp16", "hopper_16bit").record,
            "BF16, FP32 results": wide("bf16", "hopper_16bit").record,
        },
        "speed": speed,
        "instructions": lambda: dict(instructions()),
        "integers": integers,
        "tensors": device_calls.record,
    }
    for part, measure in parts.items():
        if part in record:
            continue
        record[part] = measure()
        print(part, json.dumps(record[part]), flush=True)
        Path(out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
