"""Accumulators with chunks: LOAD, ACCUMULATE, ... and FOLD are the model's dot product, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fp9
from fp9 import suites as stimulus
from fp9.engines import engine
from fp9.formats import format
from fp9.golden import evaluate
from fp9.units import CATALOGUE, Fma, Mac, MacOp

OCP = (format("e4m3"), format("e5m2"))
HFP8 = (format("hfp8_143"), format("hfp8_152"))
ENGINES = (
    "chunked(L=8)",
    "fma_fp32(chunk=4)",
    "fma_fp16(chunk=6, promotion=fp32)",
    "fmma(chunk=8)",
    "hopper(G=4, L=8)",
    "deepseek(G=4, L=16)",
    "cdna3(G=4, L=4)",
)


def sums(unit: Mac, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], pauses: NDArray[np.bool_]) -> dict[str, Any]:
    """Operations that sum the rows of a and b (n, k) from c (n,), with a HOLD before a step where it pauses."""
    lanes, ops, codes = (
        unit.engine.step.products,
        [],
        {name: [] for name in (*unit.lane_names("a"), *unit.lane_names("b"))},
    )
    addends = []

    def operation(op: MacOp, row: int, step: int) -> None:
        ops.append(op)
        addends.append(c[row])
        for operand, table in (("a", a), ("b", b)):
            for lane, name in enumerate(unit.lane_names(operand)):
                codes[name].append(table[row, step * lanes + lane])

    for row in range(len(a)):
        for step in range(a.shape[1] // lanes):
            if step and pauses[row, step]:
                operation(MacOp.HOLD, row, step)
            operation(MacOp.ACCUMULATE if step else MacOp.LOAD, row, step)
        operation(MacOp.FOLD, row, 0)
    columns = {name: np.array(values, dtype=np.uint8) for name, values in codes.items()}
    return {"op": np.array(ops, dtype=np.uint8), **columns, "c": np.array(addends, dtype=np.uint32)}


@pytest.mark.every(6)
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("steps", [1, 2, 4, 5, 8, 11])
def test_load_accumulate_fold_is_the_dot_product(name: str, steps: int) -> None:
    """Value and flags, for sums that end within a chunk, at its end and behind it; every code of c, NaN included."""
    rng = np.random.default_rng(steps)
    chosen = engine(name)
    fmt = HFP8[0] if chosen.result.format.name == "dlfloat16" else OCP[0]
    unit = Mac("mac", (fmt,), (fmt,), chosen, stages=2)
    depth, rows = steps * chosen.step.products, 60
    a, b = (rng.integers(0, 256, (rows, depth)).astype(np.uint8) for _ in range(2))
    a[:, 1::2] = np.where(rng.random((rows, depth // 2)) < 0.3, a[:, : depth - 1 : 2] ^ 0x80, a[:, 1::2])
    c = rng.integers(0, 1 << chosen.output.bits, rows, dtype=np.uint64).astype(chosen.output.dtype)
    inputs = sums(unit, a, b, c, rng.random((rows, steps)) < 0.2)
    got = evaluate(unit, inputs)
    ends = np.flatnonzero(inputs["op"] == MacOp.FOLD)
    starts = np.flatnonzero(inputs["op"] == MacOp.LOAD)
    codes, flags = fp9.dot(a, b, fmt, fmt, chosen, c, flags=True)
    assert np.array_equal(got["result"][ends], codes)
    assert np.array_equal(np.bitwise_or.reduceat(got["flags"], starts), flags)


def test_an_operation_takes_the_products_of_one_step_of_an_interleaved_chunk() -> None:
    rng, chosen, rows = np.random.default_rng(3), engine("hopper_mma(G=4, L=8)"), 60
    unit, depth = Mac("mac", OCP[:1], OCP[:1], chosen, stages=2), 24
    a, b = (rng.integers(0, 256, (rows, depth)).astype(np.uint8) for _ in range(2))
    c = rng.integers(0, 1 << 32, rows, dtype=np.uint64).astype(np.uint32)
    order = chosen.order(depth)
    assert order[:8] == [0, 1, 4, 5, 2, 3, 6, 7]
    inputs = sums(unit, a[:, order], b[:, order], c, np.zeros((rows, depth // 4), dtype=np.bool_))
    results = evaluate(unit, inputs)["result"][inputs["op"] == MacOp.FOLD]
    assert np.array_equal(results, fp9.dot(a, b, OCP[0], OCP[0], chosen, c))


def test_a_chunk_is_rounded_on_its_own() -> None:
    """Wang18: 1 + 64 * 2^-10 is 1 in steps of DLFloat16, and 1.0625 where the small terms are summed first."""
    unit = Mac("mac", HFP8[1:], HFP8[1:], engine("chunked(L=64)"), stages=2)
    one, small = (int(fp9.encode([x], "hfp8_152")[0]) for x in (1.0, 2.0**-5))
    c = int(fp9.encode([1.0], "dlfloat16")[0])
    count = 64
    inputs = {
        "op": np.array([MacOp.LOAD] + [MacOp.ACCUMULATE] * (count - 1), dtype=np.uint8),
        "a": np.full(count, small, dtype=np.uint8),
        "b": np.full(count, small, dtype=np.uint8),
        "c": np.full(count, c, dtype=np.uint16),
    }
    results = fp9.decode(evaluate(unit, inputs)["result"], "dlfloat16")
    assert one and (results[:-1] == 1.0).all() and results[-1] == 1.0625


def run(unit: Mac, *operations: tuple[MacOp, float, float]) -> tuple[list[float], list[int]]:
    """Results and flags of operations (op, a, c), b being 1, in FP32 with e4m3 operands."""
    ops, a, c = zip(*operations, strict=True)
    got = evaluate(
        unit,
        {
            "op": np.array(ops, dtype=np.uint8),
            "a": fp9.encode(a, "e4m3"),
            "b": fp9.encode(np.ones(len(a)), "e4m3"),
            "c": fp9.encode(c, "fp32"),
        },
    )
    return fp9.decode(got["result"], "fp32").tolist(), got["flags"].tolist()


def test_what_each_operation_does_to_an_open_chunk() -> None:
    """Chunks of 3: the result moves when a chunk is full or folded; LOAD and CLEAR drop what is open, HOLD keeps it."""
    unit = Mac("mac", OCP[:1], OCP[:1], engine("fma_fp32(chunk=3)"), stages=2)
    load, add, clear, hold, fold = (MacOp[n] for n in ("LOAD", "ACCUMULATE", "CLEAR", "HOLD", "FOLD"))
    results, flags = run(
        unit,
        *((load, 1, 100), (add, 2, 0), (hold, 9, 9), (add, 4, 0), (fold, 9, 9)),  # 100 .. 107, and nothing to fold
        *((add, 8, 0), (fold, 9, 9), (add, 1, 0), (load, 2, 50), (fold, 0, 0)),  # 115, the 1 is dropped, 52
        *((add, 8, 0), (clear, 9, 9), (fold, 9, 9), (add, 5, 0), (add, 5, 0), (add, 5, 0)),  # 0, then a whole chunk
    )
    assert results == [100, 100, 100, 107, 107, 107, 115, 115, 50, 52, 52, 0, 0, 0, 0, 15]
    assert not any(flags)


def test_the_flags_of_a_join_stand_with_the_operation_that_joins() -> None:
    """16777216 + 1 is inexact in FP32: at the FOLD, not at the step before it."""
    unit = Mac("mac", OCP[:1], OCP[:1], engine("fma_fp32(chunk=4)"), stages=2)
    results, flags = run(unit, (MacOp.LOAD, 1, 2.0**24), (MacOp.FOLD, 0, 0))
    assert results == [2.0**24, 2.0**24]
    assert flags == [0, int(fp9.Flags.INEXACT)]


def test_the_corner_suite_meets_every_end_of_a_chunk() -> None:
    """FOLD, LOAD and CLEAR with every number of steps in the chunk, the full one among them."""
    unit = CATALOGUE["mac_dlfloat16_chunked"]
    assert isinstance(unit, Mac)
    operations = stimulus.corner(unit, np.random.default_rng(0))["op"]
    met: dict[MacOp, set[int]] = {op: set() for op in MacOp}
    filled = 0
    for number in np.minimum(operations, max(MacOp)).tolist():
        met[MacOp(number)].add(filled)
        match MacOp(number):
            case MacOp.LOAD:
                filled = 1
            case MacOp.ACCUMULATE:
                filled = (filled + 1) % unit.chunk_steps
            case MacOp.CLEAR | MacOp.FOLD:
                filled = 0
    every = set(range(unit.chunk_steps))
    assert met[MacOp.FOLD] == met[MacOp.LOAD] == met[MacOp.CLEAR] == met[MacOp.ACCUMULATE] == every


def test_a_mac_with_chunks_has_two_stages_at_least() -> None:
    with pytest.raises(ValueError, match=r"mac: 1 stages given beside engine\.chunk\.length=\d+; give 2 to 6"):
        Mac("mac", HFP8, HFP8, engine("chunked"))


def test_zero_bypass_reaches_the_golden_multiply_add() -> None:
    """0 x NaN-Inf is 0 where the engine says so (IBM), and NaN-Inf elsewhere."""
    nan, zero = 0x7F, 0x00
    c = fp9.encode([3.0], "dlfloat16").astype(np.uint32)
    for bypass, expected in (("true", int(c[0])), ("false", 0x7FFF)):
        unit = Fma("fma", HFP8[:1], HFP8[:1], engine(f"dlfloat(zero_bypass={bypass})"))
        for pair in ((nan, zero), (zero, nan)):
            a, b = (np.array([code], dtype=np.uint8) for code in pair)
            assert evaluate(unit, {"a": a, "b": b, "c": c})["result"].tolist() == [expected]
