"""Catalogues of GPU library profiles, of kinds of operand scales, and of ways to split long sums (split-K)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fp9.names import plain, unknown
from fp9.profiles import epilogues
from fp9.profiles.records import Call, Epilogue, Profile, Scaling, Split

_NV = 128
"""Length and width of a block that shares an FP32 scale."""


def _blocks(length: int, size: int) -> int:
    return -(-length // size)


SCALINGS: dict[str, Scaling] = {
    s.name: s
    for s in (
        Scaling("tensor", lambda m, n, k: (((), ()), ((1,), (1,)), ((1, 1), (1, 1)))),
        Scaling("row", lambda m, n, k: (((m, 1), (1, n)),)),
        Scaling(
            "1x128",
            lambda m, n, k: (
                ((m, _blocks(k, _NV)), (_blocks(k, _NV), _blocks(n, _NV))),
                ((m, _blocks(k, _NV)), (_blocks(k, _NV), n)),
            ),
            block=_NV,
        ),
        Scaling("mx", lambda m, n, k: (((m, _blocks(k, 32)), (_blocks(k, 32), n)),), "e8m0", 32),
        Scaling("nvfp4", lambda m, n, k: (((m, _blocks(k, 16)), (_blocks(k, 16), n)),), "ue4m3", 16),
    )
}
"""Kinds of scales by name: per tensor, per row, FP32 scales of 1 x 128 blocks (for b also 128 x 128), MX and NVFP4."""


def _serial(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = epilogues.added(total, part)
    return total


def _pairwise(parts: list[Any]) -> Any:
    """Add partial sums over parts of K in FP32, in the pairwise order of cuBLASLt."""
    # Partial sum i is added to partial sum i + half, where half is half the number of partial sums, rounded up.
    half = -(-len(parts) // 2)
    paired = range(len(parts) - 1 - half)
    slots = [epilogues.added(parts[i], parts[i + half]) if i in paired else parts[i] for i in range(half)]
    # The sums of pairs, and an unpaired partial sum, are added one after another to the last partial sum.
    return _serial([parts[-1], *slots])


SPLITS: dict[str, Split] = {
    s.name: s
    for s in (
        Split("contiguous", 128, lambda tiles, parts: np.arange(tiles) // max(1, -(-tiles // parts)), _serial),
        Split("serial", 64, lambda tiles, parts: np.arange(tiles) % parts, _serial),
        Split("pairwise", 64, lambda tiles, parts: np.arange(tiles) % parts, _pairwise),
    )
}
"""Ways to split K, as measured on cuBLASLt 12.8.3.14 with an H100 PCIe (contiguous) and an RTX 4060 (the others)."""

_FP8_OUT = ("fp32", "bf16", "fp16", "e4m3", "e5m2")
_TENSOR = Epilogue({"ab": epilogues.once}, None, _FP8_OUT)
_ROWS = Epilogue({"ab": epilogues.a_then_b, "ba": epilogues.b_then_a}, epilogues.added)
_ROWS_AB = Epilogue({"ab": epilogues.a_then_b}, epilogues.added)
_INSIDE = Epilogue({"ab": epilogues.unscaled}, None)
_WITH_BIAS = Epilogue({"ab": epilogues.once}, epilogues.added, _FP8_OUT, takes_result_scale=False)
_ROWS_BA = Epilogue({"ba": epilogues.b_then_a}, epilogues.added)
_PROMOTED = "chunk=128,promotion=fp32"
_ONCE = (epilogues.scaled_once, epilogues.scaled_once)
_REFUSED = (("e4m3", "e4m3", "e5m2"), ("e5m2", "e5m2", "*"))
_MMAEMU = "recordings of mmaemu 0.1.0 (2026-10): torch 2.7.1, cuBLASLt 12.8.3.14"
_MEASURED = "measured on an H100 SXM and an H200 (2026-11-26): torch 2.11.0, cuBLASLt 13.1.0.3, driver 580.159.04"
_CUTLASS = "scales by row: PyTorch's RowwiseScaledMM.cu"
_MMA_SIM = "MMA-Sim 2.1.1 for the instruction; epilogue as measured on H100 PCIe and RTX 4060"
_BLACKWELL = (
    Call("tensor", "blackwell", "blackwell", _TENSOR),
    Call("row", "blackwell", "blackwell", _ROWS, may_split=False),
    Call("mx", "blackwell", "blackwell", _INSIDE),
    Call("nvfp4", "blackwell_nvfp4", "blackwell_nvfp4", _INSIDE),
)

PROFILES: dict[str, Profile] = {
    p.name: p
    for p in (
        Profile(
            "h100",
            "NVIDIA H100 PCIe",
            "cuBLASLt 12.8.3.14; rows by CUTLASS",
            f"{_MMAEMU}; {_CUTLASS}",
            (
                Call("tensor", "hopper", f"hopper({_PROMOTED})", _TENSOR, ("contiguous",)),
                Call("row", "hopper", f"hopper({_PROMOTED})", _ROWS, may_split=False),
            ),
            ("hopper", "h100 pcie"),
            _REFUSED,
        ),
        Profile(
            "h200",
            "NVIDIA H200 and H100 SXM",
            "cuBLASLt 13.1.0.3",
            _MEASURED,
            (
                Call("tensor", "hopper", f"hopper({_PROMOTED})", _WITH_BIAS, ("contiguous",)),
                Call("row", "hopper", f"hopper({_PROMOTED})", _ROWS_BA, may_split=False),
                Call(
                    "1x128",
                    None,
                    "hopper(chunk=128)",
                    _INSIDE,
                    may_split=False,
                    chunks=(epilogues.scaled_by_a_first, epilogues.scaled_once),
                ),
            ),
            ("h100 sxm",),
            _REFUSED,
        ),
        Profile(
            "rtx4060",
            "NVIDIA GeForce RTX 4060",
            "cuBLASLt 12.8.3.14",
            _MMAEMU,
            (Call("tensor", "ada", f"ada({_PROMOTED})", _TENSOR, ("serial", "pairwise")),),
            ("ada", "rtx 4060"),
            _REFUSED,
        ),
        Profile(
            "l40s",
            "NVIDIA L40S",
            "cuBLASLt, fast accumulation",
            "instruction measured (MATLAB-tensor-core); epilogue as measured on RTX 4060",
            (Call("tensor", "ada", None, _TENSOR),),
            (),
            _REFUSED,
        ),
        Profile("b200", "NVIDIA B200", "cuBLASLt; rows by CUTLASS", f"{_MMA_SIM}; {_CUTLASS}", _BLACKWELL),
        Profile(
            "rtx5070",
            "NVIDIA GeForce RTX 5070 (sm_120)",
            "cuBLASLt; rows by CUTLASS",
            f"{_MMA_SIM}; {_CUTLASS}",
            (
                Call("tensor", "blackwell", "blackwell", _TENSOR),
                Call("row", "blackwell", "blackwell", _ROWS_AB, may_split=False),
                Call("mx", "blackwell", "blackwell", _INSIDE),
            ),
            ("rtx 5070", "rtx5070ti", "sm_120"),
        ),
        Profile(
            "deepgemm",
            "NVIDIA H100",
            "DeepGEMM",
            "DeepGEMM's sm90_fp8_gemm; the compiler contracts its multiplication and addition",
            (Call("1x128", "hopper(chunk=128)", "hopper(chunk=128)", _INSIDE, may_split=False, chunks=_ONCE),),
            ("deepseek",),
        ),
    )
}
_NAMES = {plain(way): p for p in PROFILES.values() for way in (p.name, *p.names)}


def profile(name: str | Profile) -> Profile:
    """Return the profile (a GPU and a library) with the given name.

    Raises ValueError for an unknown name, and TypeError if `name` is neither a string nor a `Profile`.
    """
    if isinstance(name, Profile):
        return name
    if not isinstance(name, str):
        raise TypeError(f"profile of type {type(name).__name__} given; give a name or a Profile")
    found = _NAMES.get(plain(name))
    if found is None:
        raise ValueError(unknown("profile", name, PROFILES, "`fp9.profiles.profiles()` lists all"))
    return found


def profiles() -> tuple[Profile, ...]:
    """Return the records of all profiles (GPU and library)."""
    return tuple(PROFILES.values())
