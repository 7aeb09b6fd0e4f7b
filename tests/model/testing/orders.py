"""Sums of products in random orders and splits, compared with `fp9.testing.error_bound`.

    python tests/model/testing/orders.py --sums 100000000

prints a table of the largest error over the bound, for each engine and kind of data.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.casts.arrays import decode_to
from fp9.testing import error_bound

ENGINES = (
    *("hopper", "ada", "blackwell", "hopper_mma", "hopper_fp16", "blackwell_mma_fp16", "cdna3", "deepseek"),
    *(
        "fma_fp32",
        "fma_fp16",
        "fma_bf16",
        "dlfloat",
        "fmma",
        "chunked",
        "rvbna16",
        "arm_fdot4",
        "amx_fp8",
        "ace_top4mx",
    ),
    *("mx", "exact", "hopper(truncation=floor)", "ada(truncation=jam,addend=outside)", "fmma(K=12,rounding=rtz)"),
)


def normal(rng: np.random.Generator, *shape: int) -> NDArray[Any]:
    """Return numbers of both signs."""
    return rng.normal(size=shape)


def positive(rng: np.random.Generator, *shape: int) -> NDArray[Any]:
    """Return numbers of one sign, whose truncation errors add up."""
    return np.abs(rng.normal(size=shape)) + 0.5


def swamped(rng: np.random.Generator, *shape: int) -> NDArray[Any]:
    """Return one large number a row, beside numbers that are lost next to it."""
    numbers = rng.uniform(1, 2, size=shape) * 2.0**-5
    numbers[..., 0] = 15.5
    return numbers


def wide(rng: np.random.Generator, *shape: int) -> NDArray[Any]:
    """Return numbers of all exponents, subnormal ones included, and zeros."""
    return rng.normal(size=shape) * 2.0 ** rng.integers(-12, 7, size=shape) * (rng.random(shape) < 0.9)


KINDS = (normal, positive, swamped, wide)


@dataclass(frozen=True)
class Trial:
    """Sums of one computation (M, N), their exact values and their bounds."""

    engine: str
    kind: str
    error: NDArray[Any]
    bound: NDArray[Any]


def trials(rng: np.random.Generator, engine: str, depth: int, side: int, orders: int) -> Iterator[Trial]:
    """Yield `orders` computations of the same products for each kind of data."""
    for kind in KINDS:
        a, b = fp9.array(kind(rng, side, depth), "e4m3"), fp9.array(kind(rng, side, depth).T, "e4m3")
        bound, own = error_bound(a, b, engine), error_bound(a, b, engine, "k")
        exact = _numbers(a) @ _numbers(b)
        assert (own <= bound * (1 + 1e-12)).all()
        for order in range(orders):
            parts = 1 if order == 0 else int(rng.integers(1, min(depth, 9)))
            sums = computed(rng, a, b, engine, shuffled(rng, b, order), parts)
            yield Trial(engine, kind.__name__, np.abs(sums - exact), own if order == 0 else bound)


def shuffled(rng: np.random.Generator, b: Any, order: int) -> NDArray[np.intp]:
    """Return an order of K: the given one, by rising or falling magnitude, or a random one."""
    size = np.abs(_numbers(b)).sum(1)
    return (np.arange(len(size)), np.argsort(size), np.argsort(-size), rng.permutation(len(size)))[min(order, 3)]


def computed(rng: np.random.Generator, a: Any, b: Any, engine: str, order: Any, parts: int) -> NDArray[Any]:
    """Return a x b computed in an order of K, in parts that are added two by two in a random tree."""
    cuts = np.sort(rng.choice(np.arange(1, len(order)), parts - 1, replace=False))
    partial = []
    for some in np.split(order, cuts):
        result = fp9.matmul(fp9.Array(a.codes[:, some], a.format), fp9.Array(b.codes[some], b.format), engine=engine)
        partial.append(_numbers(result))
    total = fp9.engine(engine).addend_format
    while len(partial) > 1:
        x, y = (partial.pop(int(rng.integers(len(partial)))) for _ in range(2))
        partial.append(decode_to(fp9.encode(x + y, total, "rne", overflow="inf"), total, np.float64))
    return partial[0]


def _numbers(x: Any) -> NDArray[Any]:
    return decode_to(x.codes, x.format, np.float64)


def main() -> None:
    """Print the largest error over the bound, and how many sums exceeded it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sums", type=float, default=1e6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, done, exceeded = np.random.default_rng(options.seed), 0, 0
    worst: dict[tuple[str, str], float] = {}
    engines = cycle(ENGINES)
    while done < options.sums:
        engine, depth = next(engines), int(rng.integers(2, 97))
        for trial in trials(rng, engine, depth, 128, 24):
            done += trial.error.size
            exceeded += int((~(trial.error <= trial.bound)).sum())
            with np.errstate(invalid="ignore", divide="ignore"):
                share = float(np.nan_to_num(trial.error / trial.bound).max())
            worst[trial.engine, trial.kind] = max(worst.get((trial.engine, trial.kind), 0.0), share)
    print(f"{done} sums, {exceeded} above the bound; the largest error over the bound:")
    for name in ENGINES:
        print(f"{name:36}", *(f"{kind.__name__} {worst.get((name, kind.__name__), 0.0):.3f}" for kind in KINDS))


if __name__ == "__main__":
    main()
