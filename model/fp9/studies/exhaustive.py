"""Exhaustive check of casts on all 2^32 float32 patterns.

`python -m fp9.studies.exhaustive` divides the work into shards of 2^26 patterns. Finished shards are recorded in a
file, so that an interrupted run can be resumed.
"""

from __future__ import annotations

import functools
import importlib
import json
import multiprocessing
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import encode
from fp9.formats import ALIASES, FixedFormat, Format, HiFloat8, Rounding, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow
from fp9.oracle.hybrid import hybrid_table
from fp9.oracle.thresholds import threshold_table
from fp9.system.files import write_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARD_BITS = 26
_PART = 1 << 20
_SIGN = 1 << 31

ML_DTYPES = ("e3m4ieee", "e4m3ieee", "e4m3", "e4m3fnuz", "e4m3b11fnuz", "e5m2", "e5m2fnuz")
THRESHOLDS = ("e4m3", "e5m2", "e4m3fnuz", "f143(bias=10)", "hfp8_143", "hfp8_152", "fp9", "hif8")
MONOTONE = tuple(mode for mode in Rounding if mode.is_monotone)

Answer = Callable[["NDArray[np.uint32]"], "NDArray[Any]"]


@dataclass(frozen=True)
class Check:
    """Check that one cast gives the expected code for every float32 number.

    `beside` names the Python package or the reference that gives the expected codes.
    """

    fmt: str
    rounding: Rounding
    overflow: Overflow
    beside: str

    @property
    def name(self) -> str:
        return f"float32 -> {self.fmt} {self.rounding.value} {self.overflow.value} beside {self.beside}"


def checks() -> list[Check]:
    """Return all checks of casts, each with its reference."""
    beside = [Check(name, Rounding.RNE, Overflow.INF, "ml_dtypes") for name in ML_DTYPES]
    beside.append(Check("hif8", Rounding.RNA, Overflow.INF, "en_dtypes"))
    # Casts with a monotone rounding mode are compared with threshold tables that the slow exact reference (oracle)
    # computes.
    beside += [Check(name, mode, Overflow.INF, "thresholds") for name in THRESHOLDS for mode in MONOTONE]
    # Hybrid rounding is compared with its definition in the HiFloat8 paper (section 3.2).
    return [*beside, Check("hif8", Rounding.HYBRID, Overflow.INF, "fields")]


# --- answers ----------------------------------------------------------------------------------------------------------


def _answer(check: Check) -> Answer:
    return {"thresholds": _thresholds, "fields": _fields}.get(check.beside, _package)(check)


def _package(check: Check) -> Answer:
    # Other packages have several NaN codes, so that the comparison replaces all of them by fp9's NaN code.
    module = importlib.import_module(check.beside)
    alias = next(a for a, name in ALIASES.items() if name == check.fmt and hasattr(module, a))
    dtype, fmt = np.dtype(getattr(module, alias)), format(check.fmt)
    nan = np.isnan(fmt.table)

    def answer(patterns: NDArray[np.uint32]) -> NDArray[Any]:
        with np.errstate(all="ignore"):
            codes = patterns.view(np.float32).astype(dtype).view(fmt.dtype)
        return _one_nan(codes, nan)

    return answer


def _one_nan(codes: NDArray[Any], nan: NDArray[np.bool_]) -> NDArray[Any]:
    marks = np.flatnonzero(nan)
    return np.where(nan[codes], codes.dtype.type(marks[0]), codes) if marks.size else codes


@functools.lru_cache(maxsize=2)
def _upper_codes(fmt: Format, policy: CastPolicy) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[Any]]:
    source = format("fp32")
    assert isinstance(source, FixedFormat)
    halves = np.arange(1 << 16, dtype=np.int64)
    before = np.empty(halves.size, dtype=fmt.dtype)
    place = np.full(halves.size, 1 << 16, dtype=np.int64)
    after = np.empty(halves.size, dtype=fmt.dtype)
    for negative in (False, True):
        table = threshold_table(source, fmt, policy, negative)
        firsts = np.array([step.first for step in table.steps])
        codes = np.array([step.code for step in table.steps], dtype=fmt.dtype)
        mine = slice(negative << 15, (negative + 1) << 15)
        starts = np.arange(1 << 15, dtype=np.int64) << 16
        index = np.searchsorted(firsts, starts, side="right") - 1
        last = np.searchsorted(firsts, starts + 0xFFFF, side="right") - 1
        if (last - index > 1).any():
            raise ValueError(f"{fmt.name} has two thresholds within 2^16 float32 patterns; its spacing is too fine")
        before[mine], after[mine] = codes[index], codes[last]
        place[mine] = np.where(last > index, firsts[last] & 0xFFFF, 1 << 16)
    return before, place, after


def _thresholds(check: Check) -> Answer:
    fmt = format(check.fmt)
    before, place, after = _upper_codes(fmt, CastPolicy(check.rounding, check.overflow))

    def answer(patterns: NDArray[np.uint32]) -> NDArray[Any]:
        upper = patterns >> np.uint32(16)
        codes: NDArray[Any] = np.where((patterns & np.uint32(0xFFFF)) >= place[upper], after[upper], before[upper])
        return codes

    return answer


def _fields(check: Check) -> Answer:
    # In stochastic binades, a number rounds up if its bit field F is at least its bit field T (HiFloat8, section 3.2).
    nearest = _thresholds(Check(check.fmt, Rounding.RNA, check.overflow, "thresholds"))
    sides = [_hybrid_side(check, negative) for negative in (False, True)]

    def answer(patterns: NDArray[np.uint32]) -> NDArray[Any]:
        codes = nearest(patterns)
        for negative, side in enumerate(sides):
            here = patterns >> np.uint32(31) == negative
            if here.any():
                codes[here] = side(patterns[here] & np.uint32(_SIGN - 1), codes[here])
        return codes

    return answer


def _hybrid_side(check: Check, negative: bool) -> Callable[[NDArray[np.uint32], NDArray[Any]], NDArray[Any]]:
    source, target = format("fp32"), format(check.fmt)
    assert isinstance(source, FixedFormat) and isinstance(target, HiFloat8)
    table = hybrid_table(source, target, CastPolicy(overflow=check.overflow), negative)
    firsts = np.array([number.first for number in table.numbers])
    codes = np.array([number.code for number in table.numbers], dtype=target.dtype)
    hidden = 1 << source.fraction_bits

    def side(magnitudes: NDArray[np.uint32], to_nearest: NDArray[Any]) -> NDArray[Any]:
        results = to_nearest.copy()
        for binade in table.binades:
            here = (magnitudes >= binade.first) & (magnitudes < binade.end)
            if not here.any():
                continue
            inside = magnitudes[here].astype(np.int64)
            field = inside % hidden + hidden
            kept = field >> binade.field.low & ((1 << (binade.field.high - binade.field.low + 1)) - 1)
            up = kept << binade.field.pad >= inside % (1 << table.threshold_bits)
            results[here] = codes[np.searchsorted(firsts, inside, side="right") - 1 + up]
        return results

    return side


# --- shards -----------------------------------------------------------------------------------------------------------


def compare(check: Check, shard: int) -> int:
    """Run one shard (2^26 patterns) of a check, and return the number of compared patterns.

    Raises ValueError at the first difference.
    """
    answer, fmt = _answer(check), format(check.fmt)
    nan = np.isnan(fmt.table)
    start = shard << SHARD_BITS
    for first in range(start, start + (1 << SHARD_BITS), _PART):
        patterns = np.arange(first, first + _PART, dtype=np.int64).astype(np.uint32)
        ours = encode(patterns.view(np.float32), fmt, check.rounding, check.overflow, threads=1)
        ours, theirs = (ours if check.beside == "thresholds" else _one_nan(ours, nan)), answer(patterns)
        different = np.flatnonzero(ours != theirs)
        if different.size:
            i = int(different[0])
            raise ValueError(
                f"{check.name}: {int(patterns[i]):#010x} gives {int(ours[i]):#x} here and {int(theirs[i]):#x} there"
            )
    return 1 << SHARD_BITS


def _work(task: tuple[Check, int]) -> tuple[str, int, int]:
    check, shard = task
    return check.name, shard, compare(check, shard)


def run(folder: Path, show: Callable[[str], None], processes: int | None = None) -> dict[str, int]:
    """Run all unfinished shards, and return the number of compared patterns for each check."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "done.json"
    done: dict[str, list[int]] = json.loads(listed.read_text()) if listed.exists() else {}
    shards = range(1 << (32 - SHARD_BITS))
    todo = [(check, shard) for check in checks() for shard in shards if shard not in done.get(check.name, [])]
    total = len(checks()) * len(shards)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for name, shard, _ in pool.imap_unordered(_work, todo):
            done.setdefault(name, []).append(shard)
            write_whole(listed, json.dumps(done))
            finished = sum(map(len, done.values()))
            show(f"{finished} of {total} shards, {finished << SHARD_BITS:,} comparisons")
    return {check.name: len(done.get(check.name, [])) << SHARD_BITS for check in checks()}


def main(arguments: list[str]) -> None:
    folder = Path(arguments[1]) if arguments[:1] == ["--out"] else Path("build/exhaustive-casts")
    compared = run(folder, lambda line: print(f"\r{line}", end="", flush=True))
    print()
    for name, count in compared.items():
        print(f"{name}: {count:,} equal")
    print(f"{sum(compared.values()):,} comparisons, no difference")


if __name__ == "__main__":
    main(sys.argv[1:])
