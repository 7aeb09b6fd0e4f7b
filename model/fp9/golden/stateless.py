"""Golden results of units without an accumulator, computed by fp9's array functions."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9.casts.arrays import decode_native, encode_numbers
from fp9.formats import Format, Kind, floor_log2, pow2
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Flags, Hybrid, Overflow
from fp9.golden.selects import both, chosen, factor_values, places, signed, variants, wide
from fp9.kernels import fused as dot_kernels
from fp9.sums.narrow import narrow_sums
from fp9.sums.products import EngineKernel, dot
from fp9.units import SCALE_BITS, Dot, FpuOp, Upcast, significand_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fp9.golden.selects import Where
    from fp9.units import Cast, Columns, Decoder, Fpu, Mul

    Results = dict[str, NDArray[Any]]


# --- decoder --------------------------------------------------------------------------------------------------------


class Unpacked(NamedTuple):
    """Decoded fields of all codes of a format, as arrays (2**bits,)."""

    sign: NDArray[np.uint8]
    exponent: NDArray[np.int64]
    significand: NDArray[np.uint8]
    zero: NDArray[np.uint8]
    inf: NDArray[np.uint8]
    nan: NDArray[np.uint8]


@functools.lru_cache(maxsize=64)
def unpacked(fmt: Format, significand_bits: int) -> Unpacked:
    rows = [_unpack(fmt, code, significand_bits) for code in range(1 << fmt.bits)]
    sign, exponent, significand, zero, inf, nan = np.array(rows, dtype=np.int64).T
    return Unpacked(
        sign.astype(np.uint8), exponent, *(column.astype(np.uint8) for column in (significand, zero, inf, nan))
    )


def _unpack(fmt: Format, code: int, significand_bits: int) -> tuple[int, int, int, int, int, int]:
    kind = fmt.kind_of(code)
    exponent = significand = 0
    if kind is Kind.FINITE:
        magnitude = abs(fmt.value_of(code))
        exponent = floor_log2(magnitude)
        significand = int(magnitude / pow2(exponent - (significand_bits - 1)))
    return fmt.is_negative(code), exponent, significand, kind is Kind.ZERO, kind is Kind.INF, kind is Kind.NAN


def decoder(unit: Decoder, inputs: Columns) -> Results:
    size, widths = len(inputs["code"]), {port.name: port.width for port in unit.outputs}
    results: Results = {name: np.zeros(size, np.uint8 if width <= 8 else np.uint16) for name, width in widths.items()}
    for fmt, here in variants(inputs, "code", unit.formats):
        for name, table in unpacked(fmt, significand_bits(unit.formats))._asdict().items():
            mask = (1 << widths[name]) - 1
            results[name][here] = table[inputs["code"][here] & (len(table) - 1)] & mask
    return results


def upcast(unit: Upcast, inputs: Columns) -> Results:
    results: Results = {
        "result": np.zeros(len(inputs["code"]), dtype=unit.result.dtype),
        "flags": np.zeros(len(inputs["code"]), dtype=np.uint8),
    }
    policy = CastPolicy(overflow=Overflow.INF)
    for fmt, here in variants(inputs, "code", unit.formats):
        numbers = fmt.table[inputs["code"][here] & ((1 << fmt.bits) - 1)]
        codes, flags = encode_numbers(numbers, unit.result, policy, Hybrid(), flags=True)
        results["result"][here], results["flags"][here] = codes, flags
    return results


# --- cast -----------------------------------------------------------------------------------------------------------


def cast(unit: Cast, inputs: Columns) -> Results:
    results: Results = {}
    sources = [decode_native(inputs[x], unit.source) for x in unit.lane_names("x")]
    for lane, source in enumerate(sources):
        codes, flags = _cast_lane(unit, inputs, source, lane)
        results[unit.lane_names("result")[lane]] = codes
        results[unit.lane_names("flags")[lane]] = flags
    if unit.amax:
        results["amax"] = _running_amax(unit, inputs)
    return results


def _cast_lane(
    unit: Cast, inputs: Columns, source: NDArray[Any], lane: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    key: NDArray[Any] | int = 0
    choices = list(itertools.product(unit.targets, unit.roundings, unit.overflow))
    for port, offers in (("target", unit.targets), ("rounding", unit.roundings), ("overflow", unit.overflow)):
        key = key * len(offers) + wide(chosen(inputs, port, len(offers)))
    codes, flags = np.empty(source.size, dtype=np.uint8), np.empty(source.size, dtype=np.uint8)
    for choice, here in places(key):
        fmt, mode, overflow = choices[choice]
        policy = unit.policy(fmt, mode, overflow)
        random = None
        if mode.needs_bits:
            random = inputs[unit.lane_names("random")[lane]][here].astype(np.int64)
        scale = _scale(inputs["scale"][here]) if unit.scale else 0
        part = encode_numbers(source[here], fmt, policy, Hybrid(), random, unit.random_bits, flags=True, scale=scale)
        if isinstance(here, slice):
            return part
        codes[here], flags[here] = part
    return codes, flags


def _scale(bits: NDArray[Any]) -> int | NDArray[np.int32]:
    exponents = signed(bits, SCALE_BITS).astype(np.int32)
    return int(exponents[0]) if exponents.size and (exponents == exponents[0]).all() else exponents


def _running_amax(unit: Cast, inputs: Columns) -> NDArray[Any]:
    """Return the code of the largest finite magnitude in any lane since the last `amax_clear`."""
    magnitudes = [inputs[x].astype(np.int64) & unit.source.magnitude_mask for x in unit.lane_names("x")]
    largest = np.max([np.where(m <= unit.source.max_code, m, 0) for m in magnitudes], axis=0)
    cleared = np.asarray(inputs["amax_clear"], dtype=bool)
    running = 0
    amax = np.empty(largest.size, dtype=unit.source.dtype)
    for i in range(largest.size):
        running = max(0 if cleared[i] else running, int(largest[i]))
        amax[i] = running
    return amax


# --- product --------------------------------------------------------------------------------------------------------


def mul(unit: Mul, inputs: Columns) -> Results:
    # The product is exact in float64, so that it is rounded only once.
    a, b = (numbers[:, 0] for numbers in factor_values(unit, inputs))
    with np.errstate(invalid="ignore"):
        product = a * b
    codes, flags = encode_numbers(product, unit.result, unit.policy, Hybrid(), flags=True)
    nan = np.isnan(product)
    codes[nan] = unit.result.nan_code(False)
    flags[nan & ~np.isnan(a) & ~np.isnan(b)] = Flags.INVALID
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}


# --- multiply-add ---------------------------------------------------------------------------------------------------


def step(unit: Dot, inputs: Columns) -> Results:
    engine, count = unit.engine, len(inputs["c"])
    fused = engine.window.width is None and engine.chunk.length is None and not engine.result.flush_addend
    if unit.products == 1 and fused and unit.scale is None:
        return _fma(unit, inputs)
    codes, flags = np.empty(count, dtype=engine.output.dtype), np.empty(count, dtype=np.uint8)
    for fmt_a, in_a in variants(inputs, "a", unit.a):
        for fmt_b, in_b in variants(inputs, "b", unit.b):
            here = both(in_a, in_b)
            a, b = (
                np.stack([inputs[name][here] for name in unit.lane_names(operand)], axis=1).astype(fmt.dtype)
                & fmt.dtype.type((1 << fmt.bits) - 1)
                for operand, fmt in (("a", fmt_a), ("b", fmt_b))
            )
            addend = inputs["c"][here].astype(engine.output.dtype)
            options = {"flags": True, "format_c": engine.addend_format, **_scales(unit, inputs, here)}
            codes[here], flags[here] = dot(a, b, fmt_a, fmt_b, engine, addend, **options)
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}


def _scales(unit: Dot, inputs: Columns, here: Where) -> dict[str, Any]:
    if unit.scale is None:
        return {}
    codes: dict[str, Any] = {}
    for operand in "ab":
        blocks = [inputs[name][here].astype(np.uint8) for name in unit.scale_names(operand)]
        codes[f"scale_{operand}"] = blocks[0] if unit.block is None else np.stack(blocks, axis=1)
    return codes | {"scale_format": unit.scale, "block": unit.block}


def _fma(unit: Dot, inputs: Columns) -> Results:
    engine = EngineKernel(unit.engine)
    codes, flags = engine.outputs(len(inputs["c"]))
    plain = not unit.engine.nan.zero_bypass and unit.engine.ends_plainly
    sums = narrow_sums(unit.engine.result.format, unit.engine.result.rounding) if plain else None
    factors = [next(variants(inputs, operand, formats), None) for operand, formats in (("a", unit.a), ("b", unit.b))]
    columns = inputs["a"], inputs["b"], inputs["c"]
    everywhere = [factor[0] for factor in factors if factor and isinstance(factor[1], slice)]
    if sums and len(everywhere) == 2 and sums.holds(everywhere, columns):
        sums.run(everywhere, columns, codes, flags)
    else:
        a, b = (numbers[:, 0] for numbers in factor_values(unit, inputs))
        dot_kernels.fma_array(*engine.rounding, a, b, engine.addends(inputs["c"]), codes, flags)
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}


def fpu(unit: Fpu, inputs: Columns) -> Results:
    wide = unit.engine.result.format
    codes, flags = EngineKernel(unit.engine).outputs(len(inputs["op"]))
    operation = chosen(inputs, "op", len(unit.operations))
    for index, here in places(operation):
        op = unit.operations[index]
        part = {name: column[here] for name, column in inputs.items()}
        results = _FPU_OPERATIONS[op](unit, part)
        codes[here], flags[here] = results["result"].astype(wide.dtype), results["flags"]
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}


def _low_byte(column: NDArray[Any]) -> NDArray[np.uint8]:
    return (column & 0xFF).astype(np.uint8)


def _fmma(unit: Fpu, inputs: Columns) -> Results:
    alone = Dot(unit.name, unit.a, unit.b, unit.engine)
    lanes = {
        f"{o}{lane}": _low_byte(inputs[o] >> 8 * lane) for o in ("a", "b") for lane in range(unit.engine.step.products)
    }
    return step(alone, {name: column for name, column in inputs.items() if name not in ("a", "b")} | lanes)


def _fma16(unit: Fpu, inputs: Columns) -> Results:
    wide = unit.engine.result.format
    engine = unit.engine.changed(name="fma16", products=1, window=None)
    a, b = (inputs[operand][:, None].astype(wide.dtype) for operand in ("a", "b"))
    codes, flags = dot(a, b, wide, wide, engine, inputs["c"].astype(wide.dtype), format_c=wide, flags=True)
    return {"result": codes, "flags": flags}


def _fpu_upcast(unit: Fpu, inputs: Columns) -> Results:
    columns = {"code": _low_byte(inputs["a"])}
    if "a_format" in inputs:
        columns["code_format"] = inputs["a_format"]
    return upcast(Upcast(unit.name, unit.a, unit.engine.result.format), columns)


def _fpu_downcast(unit: Fpu, inputs: Columns) -> Results:
    results: Results = {name: np.zeros(len(inputs["c"]), dtype=np.uint8) for name in ("result", "flags")}
    source = decode_native(inputs["c"].astype(unit.engine.result.format.dtype), unit.engine.result.format)
    for fmt, here in variants(inputs, "a", unit.a):
        codes, flags = encode_numbers(source[here], fmt, CastPolicy(), Hybrid(), flags=True)
        results["result"][here], results["flags"][here] = codes, flags
    return results


_FPU_OPERATIONS = {
    FpuOp.FMMA: _fmma,
    FpuOp.FMA: _fma16,
    FpuOp.UPCAST: _fpu_upcast,
    FpuOp.DOWNCAST: _fpu_downcast,
}
