"""Matrix products on one thread, in multiply-adds, beside packages that model accumulators and beside torch's float32.

mmasim and apytypes take part of the rows: their rate does not depend on how many. torch is the limit, without an order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import fp9
from benchmarks.measure import Contender, Result, measure, peer

SHAPES = ((512, 512, 512), (64, 256, 4096))
FORMATS = (("e4m3", "e4m3"), ("e4m3", "e5m2"))
ENGINES = {
    "fma_fp32": "torch",
    "fma_fp16": "apytypes",
    "dlfloat": "apytypes",
    "fmma": "apytypes",
    "chunked": "apytypes",
    "hopper": "mmasim",
    "ada": "mmasim",
    "blackwell": "mmasim",
    "deepseek": "mmasim",
    "exact": None,
}
"""Each engine's peer."""
PEER_ROWS = 8


def _mmasim(a: np.ndarray, b: np.ndarray, formats: tuple[str, str]) -> Contender | None:
    """Its Hopper instruction of any shape."""
    torch, mmasim = peer("torch"), peer("mmasim.nv_ptx")
    if torch is None or mmasim is None:
        return None
    torch.set_num_threads(1)
    dtypes = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    x, y = (torch.from_numpy(codes).view(dtypes[name]) for codes, name in zip((a, b), formats, strict=True))
    operation = mmasim.WGMMA("Hopper", f"m64n8k32.f32.{formats[0]}.{formats[1]}").arithmetic_op
    start = torch.zeros((a.shape[0], b.shape[1]))
    return Contender("mmasim", lambda: operation(x, y, start))


def _apytypes(a: np.ndarray, b: np.ndarray, formats: tuple[str, str]) -> Contender | None:
    """Its product with a 1.6.9 accumulator."""
    apytypes = peer("apytypes")
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


def _torch(a: np.ndarray, b: np.ndarray, formats: tuple[str, str]) -> Contender | None:
    torch = peer("torch")
    if torch is None:
        return None
    torch.set_num_threads(1)
    x, y = (torch.from_numpy(fp9.decode(codes, name)) for codes, name in zip((a, b), formats, strict=True))
    return Contender("torch", lambda: x @ y)


PEERS = {"mmasim": _mmasim, "apytypes": _apytypes, "torch": _torch}


def _ours(a: np.ndarray, b: np.ndarray, formats: tuple[str, str], engine: str) -> Contender:
    return Contender("fp9", lambda: fp9.matmul(a, b, *formats, engine, threads=1))


SMALL = 64
TIMES = 20
"""Products in a run of the small ones."""


def _small(rng: np.random.Generator) -> list[Result]:
    """Small products, of operands made ready and of codes, beside NumPy's in float32."""
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
    """Small products; all engines on both shapes and pairs of formats, and the exact sum of hif8."""
    results = _small(np.random.default_rng(1))
    rng = np.random.default_rng(0)
    for m, k, n in SHAPES:
        for formats in FORMATS:
            a, b = (fp9.encode(rng.normal(size=s), f) for s, f in zip(((m, k), (k, n)), formats, strict=True))
            theirs: dict[str, list[Result]] = {}
            for name, make in PEERS.items():
                part = a if name == "torch" else a[:PEER_ROWS]
                contender = make(part, b, formats)
                theirs[name] = [] if contender is None else measure("", part.size * n, [contender])
            for engine, name in ENGINES.items():
                operation = f"{engine}, {' x '.join(formats)}, {m} x {k} x {n}"
                results += measure(operation, m * k * n, [_ours(a, b, formats, engine)])
                results += [Result(operation, r.package, r.rate) for r in theirs.get(name or "", [])]
        a, b = fp9.encode(rng.normal(size=(m, k)), "hif8"), fp9.encode(rng.normal(size=(k, n)), "hif8")
        results += measure(f"exact, hif8 x hif8, {m} x {k} x {n}", m * k * n, [_ours(a, b, ("hif8", "hif8"), "exact")])
    return results
