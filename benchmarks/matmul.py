"""Measure matrix products on one thread beside NumPy's float32 product and accumulator models.

mmasim and apytypes compute only some of the rows, because their rate does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fp9
from benchmarks.measure import Contender, Result, baseline, measure

SHAPES = ((512, 512, 512), (64, 256, 4096))
FORMATS = (
    ("e4m3", "e4m3"),
    ("e4m3", "e5m2"),
    ("hif8", "hif8"),
    ("hfp8_143", "hfp8_152"),
    ("fp16", "fp16"),
    ("bf16", "bf16"),
    ("dlfloat16", "dlfloat16"),
)
ENGINES = {
    "fma_fp32": None,
    "fma_bf16": None,
    "fma_fp16": "apytypes",
    "dlfloat": "apytypes",
    "fmma": "apytypes",
    "chunked": "apytypes",
    "hopper": "mmasim",
    "ada": "mmasim",
    "blackwell": "mmasim",
    "deepseek": "mmasim",
    "hopper_fp16": None,
    "hopper_mma": None,
    "cdna3": None,
    "rvbna4": None,
    "amx_fp8": None,
    "ace_top4mx": None,
    "mx": None,
    "exact": None,
}
"""The package to compare with, for each engine."""
BASELINE_ROWS = 8


def _mmasim(a: np.ndarray, b: np.ndarray, formats: tuple[str, str]) -> Contender | None:
    """Return mmasim's Hopper instruction for any shape."""
    torch, mmasim = baseline("torch"), baseline("mmasim.nv_ptx")
    if torch is None or mmasim is None:
        return None
    torch.set_num_threads(1)
    dtypes = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    x, y = (torch.from_numpy(codes).view(dtypes[name]) for codes, name in zip((a, b), formats, strict=True))
    operation = mmasim.WGMMA("Hopper", f"m64n8k32.f32.{formats[0]}.{formats[1]}").arithmetic_op
    start = torch.zeros((a.shape[0], b.shape[1]))
    return Contender("mmasim", lambda: operation(x, y, start))


def _apytypes(a: np.ndarray, b: np.ndarray, formats: tuple[str, str]) -> Contender | None:
    """Return apytypes' product with a 1.6.9 accumulator."""
    apytypes = baseline("apytypes")
    if apytypes is None:
        return None
    bits = {"e4m3": (4, 3), "e5m2": (5, 2)}
    x, y = (
        apytypes.APyFloatArray.from_float(fp9.decode(codes, name), *bits[name])
        for codes, name in zip((a, b), formats, strict=True)
    )

    def multiply() -> object:
        with apytypes.APyFloatAccumulatorContext(exp_bits=6, man_bits=9):
            return x @ y

    return Contender("apytypes", multiply)


OTHERS = {"mmasim": _mmasim, "apytypes": _apytypes}
THEIRS = {"e4m3", "e5m2"}
"""Formats that the compared packages support."""


def _ours(a: np.ndarray, b: np.ndarray, formats: tuple[str, str], engine: str) -> Contender:
    return Contender("fp9", lambda: fp9.matmul(a, b, *formats, engine, threads=1))


SMALL = 64
TIMES = 20
"""Number of small products in a run."""


def _small(rng: np.random.Generator) -> list[Result]:
    """Measure small products of prepared operands and of codes, beside NumPy's product in float32."""
    results: list[Result] = []
    x, y = rng.normal(size=(2, SMALL, SMALL)).astype(np.float32)
    a, b = fp9.encode(x, "e4m3"), fp9.encode(y, "e4m3")
    left, right = fp9.operand(a, "e4m3"), fp9.operand(b, "e4m3")
    for engine in ENGINES:
        ways = {
            "operands": lambda engine=engine: fp9.matmul(left, right, engine=engine),
            "codes": lambda engine=engine: fp9.matmul(a, b, "e4m3", "e4m3", engine),
        }
        for way, multiply in ways.items():
            contenders = [Contender("fp9", _often(multiply)), Contender("NumPy", _often(lambda: x @ y))]
            operation = f"{engine}, e4m3 {way}, {SMALL} x {SMALL} x {SMALL}"
            results += measure(operation, TIMES * SMALL**3, contenders)
    return results


def _often(multiply: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        for _ in range(TIMES):
            multiply()

    return run


def run() -> list[Result]:
    results = _small(np.random.default_rng(1))
    rng = np.random.default_rng(0)
    for m, k, n in SHAPES:
        for formats in FORMATS:
            a, b = (fp9.encode(rng.normal(size=s), f) for s, f in zip(((m, k), (k, n)), formats, strict=True))
            theirs: dict[str, list[Result]] = {}
            for name, make in OTHERS.items() if set(formats) <= THEIRS else ():
                part = a[:BASELINE_ROWS]
                contender = make(part, b, formats)
                theirs[name] = [] if contender is None else measure("", part.size * n, [contender])
            x, y = (fp9.decode(codes, name).astype(np.float32) for codes, name in zip((a, b), formats, strict=True))
            limit = Contender("NumPy float32", lambda x=x, y=y: x @ y)  # type: ignore[misc]
            for engine, name in ENGINES.items():
                operation = f"{engine}, {' x '.join(formats)}, {m} x {k} x {n}"
                results += measure(operation, m * k * n, [_ours(a, b, formats, engine), limit])
                results += [Result(operation, r.package, r.rate) for r in theirs.get(name or "", [])]
    return results
