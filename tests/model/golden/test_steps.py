"""Golden results of units against the oracle and against outside arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.golden.operands import chosen, operand_format
from tests.rosters import OPERANDS, together, units

from fp9 import suites as stimulus
from fp9.engines import ENGINES, engine
from fp9.formats import Format, Kind, Rounding, format, pow2
from fp9.golden import evaluate
from fp9.kernels import fused as dot_kernels
from fp9.oracle import casts as oracle
from fp9.oracle import sums as dot_oracle
from fp9.rounding import Flags, Overflow
from fp9.sums.general import rounding_of
from fp9.sums.narrow import narrow_sums
from fp9.units import CATALOGUE, Cast, Decoder, Dot, Fma, Fpu, FpuOp, Mac, MacOp, Upcast, significand_bits

FMAS, DOTS, DECODERS, UPCASTS, CASTS, FPUS = (units(kind) for kind in (Fma, Dot, Decoder, Upcast, Cast, Fpu))
MACS = [unit for unit in units(Mac) if not unit.chunk_steps and not unit.engine.whole]
CHUNKED = [unit for unit in units(Mac) if unit.chunk_steps]
INF_PASSES = oracle.CastPolicy(overflow=Overflow.INF)


def sampled(unit: Any, count: int, seed: int) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    corner = stimulus.corner(unit, rng)
    size = len(next(iter(corner.values())))
    chosen = np.sort(rng.choice(size, min(count, size), replace=False))
    return {name: column[chosen] for name, column in corner.items()}


def operand(unit: Fma, row: dict[str, int], name: str, formats: tuple[Format, ...]) -> oracle.Exact:
    return oracle.decode(row[name], operand_format(row, name, formats))


def oracle_step(unit: Dot, row: dict[str, int], addend: int) -> tuple[int, Flags]:
    """A step of any engine by the oracle; with chunks, a step within one."""
    engine = unit.engine.within_chunk
    codes_a, codes_b = ([row[name] for name in unit.lane_names(operand)] for operand in ("a", "b"))
    formats = operand_format(row, "a", unit.a), operand_format(row, "b", unit.b)
    products = dot_oracle.product_terms(engine, codes_a, codes_b, *formats)
    return dot_oracle.dot(engine, products, dot_oracle.code_term(addend, engine.addend_format))


@pytest.mark.parametrize("unit", FMAS, ids=lambda unit: unit.name)
def test_fma_equals_the_oracle_on_corners(unit: Fma) -> None:
    inputs = sampled(unit, 6000, seed=1)
    got = evaluate(unit, inputs)
    for i in range(len(inputs["a"])):
        row = {name: int(column[i]) for name, column in inputs.items()}
        pair = (operand(unit, row, "a", unit.a), operand(unit, row, "b", unit.b))
        code, flags = dot_oracle.step(unit.engine, [pair], oracle.decode(row["c"], unit.engine.result))
        assert (int(got["result"][i]), int(got["flags"][i])) == (code, int(flags)), row


@pytest.mark.parametrize(
    ("result", "rounding"),
    [("dlfloat16", "rna"), ("dlfloat16", "rne"), ("fp16", "rne"), ("fp16", "rtz"), ("1.5.6,b=15", "rna")],
)
def test_sums_in_narrow_formats_equal_the_kernel_of_single_steps(result: str, rounding: str) -> None:
    """Every addend, with products on both sides of it and far away: `sum_to_odd` and `round_bits` are other code."""
    fmt, factors = format(result), (format("hfp8_143"), format("e5m2"))
    mode = Rounding(rounding)
    sums = narrow_sums(fmt, mode)
    assert sums is not None
    addends = np.arange(1 << fmt.bits, dtype=fmt.dtype)
    pairs = np.random.default_rng(4).integers(0, 256, (60, 2))
    for a, b in [*pairs, (0x7F, 0x20), (0x00, 0x7C), (0x20, 0x7C), (0x20, 0xFC), (0x00, 0x80), (0x01, 0x01)]:
        columns = [*(np.full(addends.size, code, dtype=np.uint8) for code in (a, b)), addends]
        codes, flags = np.empty_like(addends), np.empty(addends.size, dtype=np.uint8)
        sums.run(factors, columns, codes, flags)
        expected, raised = np.empty_like(addends), np.empty(addends.size, dtype=np.uint8)
        x, y = (f.table[column] for f, column in zip(factors, columns, strict=False))
        dot_kernels.fma_array(*rounding_of(fmt, mode), x, y, fmt.table[addends], expected, raised)
        np.testing.assert_array_equal(codes, expected)
        np.testing.assert_array_equal(flags, raised)


def oracle_dot(unit: Dot, row: dict[str, int]) -> tuple[int, Flags]:
    """An operation of a dot by the oracle: a step, or all steps of a chunk; scaled, where it has scales."""
    formats = {name: operand_format(row, name, offered) for name, offered in (("a", unit.a), ("b", unit.b))}
    codes = ([row[lane] & (1 << fmt.bits) - 1 for lane in unit.lane_names(name)] for name, fmt in formats.items())
    products = dot_oracle.product_terms(unit.engine, *codes, *formats.values())
    scales = None
    if unit.scale is not None:
        scales = [dot_oracle.scale_term(row["a_scale"], row["b_scale"], unit.scale)] * len(products)
    return dot_oracle.dot(unit.engine, products, dot_oracle.code_term(row["c"], unit.engine.addend_format), scales)


_FP4, _FP6, _OCP = (format("e2m1"),), (format("e3m2"), format("e2m3")), (format("e4m3"), format("e5m2"))
OTHER_DOTS = (
    Dot("steps_of_a_chunk", _OCP, _OCP, engine("hopper_mma(G=4,L=8)")),
    Dot("blocks_of_fp4", _FP4, _FP4, engine("mx(G=4)"), scale=format("ue4m3")),
    Dot("blocks_of_any", (*_OCP, *_FP6), (*_FP6, *_FP4), engine("mx(G=3)"), scale=format("e8m0")),
)
"""Specs with what the catalogue's units do not have."""


@pytest.mark.parametrize("unit", [*DOTS, *OTHER_DOTS], ids=lambda unit: unit.name)
def test_dot_equals_the_oracle_on_corners(unit: Dot) -> None:
    inputs = sampled(unit, 2000, seed=1)
    got = evaluate(unit, inputs)
    for i in range(len(inputs["c"])):
        row = {name: int(column[i]) for name, column in inputs.items()}
        code, flags = oracle_dot(unit, row)
        assert (int(got["result"][i]), int(got["flags"][i])) == (code, int(flags)), row


@pytest.mark.parametrize(("fmt_a", "fmt_b"), together(OPERANDS, OPERANDS, times=8), ids=str)
def test_every_product_is_the_host_fpus(fmt_a: Format, fmt_b: Format) -> None:
    """A product of two operands has at most 14 significand bits and is exact in FP32; the rest is one FP32 addition."""
    unit = Fma("pair", (fmt_a,), (fmt_b,), ENGINES["fma_fp32"])
    codes = np.arange(1 << fmt_a.bits), np.arange(1 << fmt_b.bits)
    a, b = (grid.reshape(-1).astype(np.uint8) for grid in np.meshgrid(*codes, indexing="ij"))
    with np.errstate(invalid="ignore"):  # infinity times zero
        product = fmt_a.table.astype(np.float32)[a] * fmt_b.table.astype(np.float32)[b]
    for addend in (0.0, -0.0, 1.0, -3.0e-7, 3.4028235e38, 1e-45):
        c = np.full(a.size, addend, dtype=np.float32)
        got = evaluate(unit, {"a": a, "b": b, "c": c.view(np.uint32)})["result"]
        with np.errstate(over="ignore"):
            want = product + c
        nan = np.isnan(want)
        assert (got[nan] == 0x7FC00000).all()
        assert np.array_equal(got[~nan], want.view(np.uint32)[~nan])


def is_held(fmt: Format, wide: Format) -> bool:
    """Whether the wide format has every number of `fmt`."""
    numbers = fmt.table[np.isfinite(fmt.table)]
    return bool(np.isin(numbers, wide.table).all())


@pytest.mark.parametrize("fmt", [fmt for fmt in OPERANDS if is_held(fmt, format("dlfloat16"))], ids=str)
def test_every_product_of_one_is_the_operand(fmt: Format) -> None:
    """x * 1 + 0 = x, in DLFloat16 too, which holds every number of every format of the papers that is an operand."""
    unit = Fma("identity", (fmt,), (format("e4m3"),), ENGINES["dlfloat"])
    codes = np.arange(1 << fmt.bits, dtype=np.uint8)
    one = np.full(codes.size, 0x38, dtype=np.uint8)
    got = evaluate(unit, {"a": codes, "b": one, "c": np.zeros(codes.size, dtype=np.uint16)})
    finite = np.isfinite(fmt.table)
    assert np.array_equal(format("dlfloat16").table[got["result"][finite]], fmt.table[finite] + 0.0)
    assert (got["result"][~finite] == 0x7FFF).all()
    assert not got["flags"].any()


def test_a_lone_hfp8_product_is_exact_in_dlfloat16_or_overflows() -> None:
    """docs/numerics.md, sums: it never loses bits, but (1.5 * 2^16)^2 exceeds the largest DLFloat16 number."""
    unit = CATALOGUE["fma_dlfloat16_hfp8_152"]
    a, b = (grid.reshape(-1).astype(np.uint8) for grid in np.meshgrid(np.arange(256), np.arange(256), indexing="ij"))
    got = evaluate(unit, {"a": a, "b": b, "c": np.zeros(a.size, dtype=np.uint16)})
    overflow = np.uint8(Flags.OVERFLOW | Flags.INEXACT)
    assert set(np.unique(got["flags"]).tolist()) == {0, int(overflow)}
    assert (got["result"][got["flags"] == overflow] == 0x7FFF).all()
    largest = format("hfp8_152").max ** 2
    assert largest > format("dlfloat16").max > largest / 2


@pytest.mark.parametrize("unit", MACS, ids=lambda unit: unit.name)
def test_mac_is_the_step_with_its_result_fed_back(unit: Mac) -> None:
    inputs = sampled(unit, 3000, seed=2)
    got = evaluate(unit, inputs)
    accumulator = 0
    for i in range(len(inputs["op"])):
        row = {name: int(column[i]) for name, column in inputs.items()}
        flags = 0
        if row["op"] == MacOp.CLEAR:
            accumulator = 0
        elif row["op"] != MacOp.HOLD:
            addend = accumulator if row["op"] == MacOp.ACCUMULATE else row["c"]
            accumulator, raised = oracle_step(unit, row, addend)
            flags = int(raised)
        assert (int(got["result"][i]), int(got["flags"][i])) == (accumulator, flags), (i, row)


@pytest.mark.parametrize("unit", CHUNKED, ids=lambda unit: unit.name)
def test_mac_with_chunks_is_the_step_fed_back_and_one_more_rounding_for_each_chunk(unit: Mac) -> None:
    inputs = stimulus.random(unit, 2000, np.random.default_rng(3))
    got = evaluate(unit, inputs)
    chunk = filled = total = 0
    for i in range(len(inputs["op"])):
        row = {name: int(column[i]) for name, column in inputs.items()}
        operation = min(row["op"], MacOp.FOLD)
        flags = Flags(0)
        if operation in (MacOp.LOAD, MacOp.CLEAR):
            chunk, filled, total = 0, 0, row["c"] if operation == MacOp.LOAD else 0
        if operation in (MacOp.LOAD, MacOp.ACCUMULATE):
            chunk, flags = oracle_step(unit, row, chunk)
            filled += 1
        if filled == unit.chunk_steps or (operation == MacOp.FOLD and filled):
            part, before = oracle.decode(chunk, unit.engine.result), oracle.decode(total, unit.engine.output)
            total, raised = dot_oracle.step(unit.engine.joining, [(part, oracle.exact(1))], before)
            flags |= raised
            chunk = filled = 0
        assert (int(got["result"][i]), int(got["flags"][i])) == (total, int(flags)), (i, row)


@pytest.mark.parametrize("unit", DECODERS, ids=lambda unit: unit.name)
def test_decoder_fields_give_the_value_back(unit: Decoder) -> None:
    for index, fmt in enumerate(unit.formats):
        inputs: dict[str, NDArray[Any]] = {"code": np.arange(256, dtype=np.uint8)}
        if len(unit.formats) > 1:
            inputs["code_format"] = np.full(256, index, dtype=np.uint8)
        if unit.bias_port:
            inputs["code_bias"] = np.full(256, 4, dtype=np.uint8)
        fields = evaluate(unit, inputs)
        half = 1 << (unit.exponent_bits - 1)
        fraction_bits = significand_bits(unit.formats) - 1
        exponent = (fields["exponent"].astype(int) ^ half) - half
        value = np.ldexp(fields["significand"].astype(float), exponent - fraction_bits) * np.where(
            fields["sign"], -1.0, 1.0
        )
        kinds = np.array([fmt.kind_of(code) for code in range(256)])
        assert np.array_equal(fields["nan"] == 1, kinds == Kind.NAN)
        assert np.array_equal(fields["zero"] == 1, kinds == Kind.ZERO)
        number = kinds != Kind.NAN
        finite = number & (kinds != Kind.INF)
        assert np.array_equal(value[finite], fmt.table[finite])
        assert (fields["significand"][kinds == Kind.FINITE] >> fraction_bits == 1).all()


@pytest.mark.parametrize("unit", CASTS, ids=lambda unit: unit.name)
def test_cast_chooses_target_rounding_and_policy_by_its_ports(unit: Cast) -> None:
    """Each select port picks what its name says: against `fp9.oracle` on a sample of the corner suite."""
    inputs = sampled(unit, 4000, seed=3)
    got = evaluate(unit, inputs)
    width = 14 if unit.source.bits == 32 else 2
    for i, lane in enumerate(np.resize(np.arange(unit.lanes), len(got["flags" if unit.lanes == 1 else "flags0"]))):
        row = {port: int(column[i]) for port, column in inputs.items()}
        x, result, flags, random = (unit.lane_names(port)[lane] for port in ("x", "result", "flags", "random"))
        fmt = chosen(unit.targets, row, "target")
        mode = chosen(unit.roundings, row, "rounding")
        if mode is Rounding.HYBRID and fmt.name != "hif8":  # hybrid means rna for every other target
            mode = Rounding.RNA
        nan = chosen(unit.nan, row, "target") if unit.nan else None
        overflow = chosen(unit.overflow, row, "overflow")
        policy = oracle.CastPolicy(mode, overflow, nan_sign=unit.nan_sign, nan=nan)
        threshold = row[x] & 0x3FFF if width == 14 else (row[x] & 1) << 1 | 1
        bits: oracle.RandomBits | oracle.HybridBits = oracle.HybridBits(threshold, width)
        if mode is Rounding.SR:
            bits = oracle.RandomBits(row[random], unit.random_bits)
        factor = pow2((row["scale"] ^ 0x80) - 0x80) if unit.scale else Fraction(1)
        operand = oracle.decode(row[x], unit.source)
        code, raised = oracle.encode(replace(operand, magnitude=operand.magnitude * factor), fmt, policy, bits)
        assert (int(got[result][i]), int(got[flags][i])) == (code, int(raised)), row


@pytest.mark.parametrize("unit", UPCASTS, ids=lambda unit: unit.name)
def test_upcast_equals_the_oracle(unit: Upcast) -> None:
    inputs = sampled(unit, 6000, seed=5)
    got = evaluate(unit, inputs)
    for i in range(len(inputs["code"])):
        row = {name: int(column[i]) for name, column in inputs.items()}
        code, flags = oracle.encode(operand(unit, row, "code", unit.formats), unit.result, INF_PASSES)
        assert (int(got["result"][i]), int(got["flags"][i])) == (code, int(flags)), row


def oracle_operation(unit: Fpu, row: dict[str, int]) -> tuple[int, Flags]:
    """What `FpuOp` says of an operation, by the oracle."""
    wide = unit.engine.result
    a, b, c = (oracle.decode(row[name], wide) for name in "abc")
    low_a = oracle.decode(row["a"] & 0xFF, operand_format(row, "a", unit.a))
    match chosen(unit.operations, row, "op"):
        case FpuOp.FMMA:
            codes = ([row[name] & 0xFF, row[name] >> 8] for name in "ab")
            formats = operand_format(row, "a", unit.a), operand_format(row, "b", unit.b)
            products = dot_oracle.product_terms(unit.engine, *codes, *formats)
            return dot_oracle.dot(unit.engine, products, dot_oracle.code_term(row["c"], wide))
        case FpuOp.FMA:
            return dot_oracle.step(replace(unit.engine, products=1), [(a, b)], c)
        case FpuOp.UPCAST:
            return oracle.encode(low_a, wide, INF_PASSES)
        case FpuOp.DOWNCAST:
            return oracle.encode(c, operand_format(row, "a", unit.a), oracle.CastPolicy())


@pytest.mark.parametrize("unit", FPUS, ids=lambda unit: unit.name)
def test_fpu_equals_the_oracle_on_corners(unit: Fpu) -> None:
    inputs = sampled(unit, 3000, seed=6)
    got = evaluate(unit, inputs)
    for i in range(len(inputs["op"])):
        row = {name: int(column[i]) for name, column in inputs.items()}
        code, flags = oracle_operation(unit, row)
        assert (int(got["result"][i]), int(got["flags"][i])) == (code, int(flags)), row


def test_a_unit_is_compared_with_the_oracle() -> None:
    """None is in the catalogue without; sums that are exact over all of K are compared in `test_kulisch`."""
    compared = [*FMAS, *DOTS, *MACS, *CHUNKED, *DECODERS, *UPCASTS, *CASTS, *FPUS]
    whole = [unit for unit in units(Mac) if unit.engine.whole]
    assert sorted(unit.name for unit in [*compared, *whole]) == sorted(CATALOGUE)


def test_a_bias_outside_its_range_is_named() -> None:
    unit = CATALOGUE["fma_dlfloat16_bias"]
    inputs = {port.name: np.zeros(1, dtype=np.uint32) for port in unit.inputs}
    with pytest.raises(ValueError, match="a_bias 9 given"):
        evaluate(unit, inputs | {"a_bias": np.array([9], dtype=np.uint8)})
