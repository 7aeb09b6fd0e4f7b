"""The golden model of multi-format FPUs against the reference model, the host's FPU and the casts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.support.multi_fpus import DESCRIBED, MODES

from fp9.formats import Format, fixed_format, format
from fp9.formats.rounding import NanSign, Overflow, Rounding
from fp9.golden import evaluate
from fp9.reference import reference_results
from fp9.suites import inputs_of
from fp9.suites.columns import Inputs
from fp9.units import CATALOGUE, Cast, FpuGroup, MultiFpu, MultiFpuOp

UNITS = [unit for unit in CATALOGUE.values() if isinstance(unit, MultiFpu)]
OTHERS = [
    MultiFpu("fnuz", (format("e4m3fnuz"), format("e5m2fnuz"), format("fp16"), format("bf16")), roundings=MODES),
    MultiFpu("graphcore", (format("f143"), format("f152"), format("fp32")), mixed=False, lanes=4, roundings=MODES),
    MultiFpu("p3109", (format("binary8p3se"), format("binary8p4se")), overflow=tuple(Overflow)[:3], roundings=MODES),
    *DESCRIBED,
]


def rows_of(columns: Inputs) -> list[dict[str, int]]:
    """Operations one by one."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def differing(unit: MultiFpu, columns: Inputs) -> list[tuple[dict[str, int], dict[str, int], dict[str, int]]]:
    """Operations whose golden and reference results differ: inputs, golden results, reference results."""
    golden = rows_of(evaluate(unit, columns))
    rows = rows_of(columns)
    return [found for found in zip(rows, golden, reference_results(unit, rows), strict=True) if found[1] != found[2]]


def some(columns: Inputs, count: int) -> Inputs:
    """Some operations of a suite, spread over all of it."""
    places = np.linspace(0, len(columns["a"]) - 1, count).astype(np.int64)
    return {name: column[places] for name, column in columns.items()}


@pytest.mark.every(3)
@pytest.mark.parametrize("unit", [*UNITS, *OTHERS], ids=lambda unit: unit.name)
@pytest.mark.parametrize("suite", ["corner", "random"])
def test_golden_results_are_those_of_the_reference_model(unit: MultiFpu, suite: str) -> None:
    assert not differing(unit, some(inputs_of(unit, suite, None, 7), 1200))


def test_dot_products_that_cancel_to_a_small_product() -> None:
    """Two products cancel, and two tiny products of powers of two decide the result: the exact sum has 250 bits."""
    unit = MultiFpu("powers", (format("binary8p1se"), format("fp32")), (FpuGroup.DOT,), MODES)
    rng = np.random.default_rng(3)
    columns = inputs_of(unit, "random", 2000, 5)
    a, b = (rng.integers(1, 127, (2000, 4), np.uint32) for _ in "ab")
    a[:, 1], b[:, 1] = a[:, 0] | 0x80, b[:, 0]
    a[:, 2:], b[:, 2:] = a[:, 2:] // 8 + (40, 1), b[:, 2:] // 8 + (40, 1)  # the last product is far below the third
    shuffled = rng.permuted(np.tile(np.arange(4), (2000, 1)), axis=1)
    words = {name: np.take_along_axis(x, shuffled, 1).astype(np.uint32) for name, x in (("a", a), ("b", b))}
    columns |= {name: sum(x[:, lane] << np.uint32(8 * lane) for lane in range(4)) for name, x in words.items()}
    dot4 = unit.operations.index(MultiFpuOp.DOT4)
    columns |= {"op": np.full(2000, dot4, np.uint32), "c": np.where(np.arange(2000) % 2, columns["c"], 0)}
    assert not differing(unit, columns)


_PAIRS = list(itertools.product(("add", "mul"), [("e4m3", "e5m2", "e4m3"), ("hif8", "hif8", "hif8")]))
_PAIRS += [("div", ("e4m3", "e5m2", "e4m3"))]


@pytest.mark.slow
@pytest.mark.parametrize("rounding", [mode.value for mode in MODES])
@pytest.mark.parametrize(("name", "names"), _PAIRS, ids=[f"{name}-{names[0]}" for name, names in _PAIRS])
def test_every_pair_of_8_bit_operands(name: str, names: tuple[str, str, str], rounding: str) -> None:
    formats = tuple(dict.fromkeys(format(each) for each in names))
    unit = MultiFpu("pairs", formats, (FpuGroup.ADDMUL, FpuGroup.DIVSQRT), (Rounding(rounding),), (Overflow.INF,))
    codes = np.arange(1 << 16, dtype=np.uint32)
    columns = {port.name: np.zeros(len(codes), np.uint32) for port in unit.inputs}
    columns["op"] += unit.operations.index(MultiFpuOp(name))
    columns |= {"a": codes & 0xFF, "b": codes >> 8, "c": codes >> 8}
    for port, chosen in zip(("a_format", "b_format", "result_format"), names, strict=True):
        if port in columns:
            columns[port] = columns[port] + formats.index(format(chosen))
    if "c_format" in columns:
        columns["c_format"] = columns["b_format"]
    assert not differing(unit, columns)


def _fp32(*operations: MultiFpuOp) -> tuple[MultiFpu, Inputs]:
    """A unit of FP32 numbers, and operations of its corner suite that are some."""
    unit = MultiFpu("fp32", (fixed_format("fp32"),), roundings=(Rounding.RNE,))
    columns = inputs_of(unit, "corner", None, 1)
    here = np.isin(columns["op"], [unit.operations.index(op) for op in operations])
    columns = {name: np.tile(column[here], 8) for name, column in columns.items()}
    rng = np.random.default_rng(0)
    columns |= {name: rng.permutation(columns[name]) for name in "abc"}
    return unit, columns


_HOST = {
    MultiFpuOp.ADD: lambda a, b, c: a + c,
    MultiFpuOp.SUB: lambda a, b, c: a - c,
    MultiFpuOp.MUL: lambda a, b, c: a * b,
    MultiFpuOp.MIN: lambda a, b, c: np.fmin(a, c),
    MultiFpuOp.MAX: lambda a, b, c: np.fmax(a, c),
    MultiFpuOp.EQ: lambda a, b, c: a == c,
    MultiFpuOp.LT: lambda a, b, c: a < c,
    MultiFpuOp.LE_QUIET: lambda a, b, c: a <= c,
}


@pytest.mark.parametrize("op", _HOST, ids=lambda op: op.value)
def test_fp32_operations_are_the_hosts(op: MultiFpuOp) -> None:
    unit, columns = _fp32(op)
    a, b, c = (columns[name].view(np.float32) for name in "abc")
    with np.errstate(all="ignore"):
        host = _HOST[op](a, b, c)
    codes = evaluate(unit, columns)["result"]
    if host.dtype == np.bool_:
        np.testing.assert_array_equal(codes, host)
        return
    zeros = (a == 0) & (c == 0) & (op in (MultiFpuOp.MIN, MultiFpuOp.MAX))  # the host may give either zero
    same = (codes == host.view(np.uint32)) | (np.isnan(host) & np.isnan(codes.view(np.float32)))
    assert (same | zeros).all()


@pytest.mark.parametrize("source", ["fp32", "fp16", "bf16", "dlfloat16"])
def test_conversions_to_8_bits_are_those_of_a_cast(source: str) -> None:
    wide, targets = fixed_format(source), tuple(map(format, ("e4m3", "e5m2", "hif8", "hfp8_143")))
    policies = (Overflow.SATURATE, Overflow.INF, Overflow.DIRECTED)
    modes = (*MODES, Rounding.SR, *(() if source == "dlfloat16" else (Rounding.HYBRID,)))
    cast = Cast("cast", wide, targets, modes, policies, nan_sign=NanSign.LOST)
    columns = inputs_of(cast, "corner", None, 3)
    unit = MultiFpu("unit", (*targets, wide), (FpuGroup.CONV,), modes, policies)
    given = {"a": columns["x"], "a_format": np.full(len(columns["x"]), len(targets), np.uint32)}
    given["result_format"] = np.minimum(columns["target"], len(targets) - 1)
    made = evaluate(unit, {**given, **{name: columns[name] for name in ("rounding", "overflow", "random")}})
    expected = evaluate(cast, columns)
    np.testing.assert_array_equal(made["result"], expected["result"])
    signaling = np.isin(made["flags"], [16]) & ~np.isin(expected["flags"], [16])
    np.testing.assert_array_equal(np.where(signaling, 0, made["flags"]), expected["flags"])
    assert not (signaling & np.isfinite(_numbers(columns["x"], wide))).any()


def _numbers(codes: np.ndarray, fmt: Format) -> np.ndarray:
    return np.array([fmt.to_float(int(code)) for code in codes])


def test_a_class_mask_has_the_bits_of_the_word() -> None:
    unit = MultiFpu("narrow", (format("e5m2"),), (FpuGroup.NONCOMP,))
    codes = np.arange(256, dtype=np.uint32)
    columns = {port.name: np.zeros(256, np.uint32) for port in unit.inputs}
    columns |= {"op": np.full(256, unit.operations.index(MultiFpuOp.CLASSIFY), np.uint32), "a": codes}
    assert evaluate(unit, columns)["result"].max() < 1 << unit.word
    assert not differing(unit, columns)


def test_minimum_and_maximum_order_zeros_and_pass_over_nan() -> None:
    unit = MultiFpu("fp16", (format("fp16"),))
    low, high, nan, snan = 0x8000, 0x0000, 0x7E00, 0x7C01
    for op, a, c, result, flags in (
        ("min", low, high, low, 0),
        ("min", high, low, low, 0),
        ("max", low, high, high, 0),
        ("max", high, low, high, 0),
        ("min", nan, 0x3C00, 0x3C00, 0),
        ("max", 0x3C00, snan, 0x3C00, 16),
        ("min", snan, nan, nan, 16),
    ):
        columns = {port.name: np.zeros(1, np.uint32) for port in unit.inputs}
        columns["op"] += unit.operations.index(MultiFpuOp(op))
        columns |= {"a": np.array([a], np.uint32), "c": np.array([c], np.uint32)}
        made = evaluate(unit, columns)
        assert (int(made["result"][0]), int(made["flags"][0])) == (result, flags), (op, hex(a), hex(c))
