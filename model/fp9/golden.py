"""Golden results of unit specs: the array functions of the model, called by port names (see `units.Unit.evaluate`)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fp9 import dot_kernels
from fp9.casting import Hybrid, decode_native, encode_numbers
from fp9.dot import EngineKernel
from fp9.formats import HFP8_BIASES, Format, HiFloat8, Kind, Rounding, floor_log2, pow2, with_bias
from fp9.policy import CastPolicy
from fp9.units import OPERAND_SIGNIFICAND_BITS, has_programmable_bias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fp9.units import Cast, Columns, Decoder, Fma, Mac

    Results = dict[str, NDArray[Any]]


def _chosen(inputs: Columns, port: str, count: int, size: int) -> NDArray[np.intp]:
    """Values of a select port; absent when there is no choice, and beyond the last name the last."""
    if port not in inputs:
        return np.zeros(size, dtype=np.intp)
    return np.minimum(inputs[port], count - 1).astype(np.intp)


def _variants(inputs: Columns, operand: str, formats: tuple[Format, ...]) -> Iterator[tuple[Format, NDArray[np.bool_]]]:
    """The formats that occur on an operand, its extra bias applied, and where they do."""
    size = len(inputs[operand])
    chosen = _chosen(inputs, f"{operand}_format", len(formats), size)
    bias = inputs.get(f"{operand}_bias")
    for i, fmt in enumerate(formats):
        here = chosen == i
        if bias is None or not has_programmable_bias(fmt):
            yield fmt, here
            continue
        signed = _signed(bias)
        outside = signed[here & ~np.isin(signed, HFP8_BIASES)]
        if outside.size:
            raise ValueError(f"{operand}_bias {int(outside[0])} given; hfp8_143 takes -8..8")
        for value in np.unique(signed[here]):
            yield with_bias(fmt, int(value)), here & (signed == value)


def _signed(bits: NDArray[Any]) -> NDArray[np.int64]:
    from fp9.units import BIAS_BITS

    half = 1 << (BIAS_BITS - 1)
    return (np.asarray(bits, dtype=np.int64) ^ half) - half


def _operand(inputs: Columns, operand: str, formats: tuple[Format, ...]) -> NDArray[np.float64]:
    values = np.empty(len(inputs[operand]), dtype=np.float64)
    for fmt, here in _variants(inputs, operand, formats):
        values[here] = fmt.table[inputs[operand][here]]
    return values


# --- decoder --------------------------------------------------------------------------------------------------------


class Unpacked(NamedTuple):
    """A decoded operand's fields for all codes of a format, shape (2**bits,) each."""

    sign: NDArray[np.uint8]
    exponent: NDArray[np.int64]
    significand: NDArray[np.uint8]
    zero: NDArray[np.uint8]
    inf: NDArray[np.uint8]
    nan: NDArray[np.uint8]


@functools.lru_cache(maxsize=64)
def unpacked(fmt: Format) -> Unpacked:
    """Fields of every code, from the format's exact values."""
    rows = [_unpack(fmt, code) for code in range(1 << fmt.bits)]
    sign, exponent, significand, zero, inf, nan = np.array(rows, dtype=np.int64).T
    return Unpacked(
        sign.astype(np.uint8), exponent, *(column.astype(np.uint8) for column in (significand, zero, inf, nan))
    )


def _unpack(fmt: Format, code: int) -> tuple[int, int, int, int, int, int]:
    kind = fmt.kind_of(code)
    exponent = significand = 0
    if kind is Kind.FINITE:
        magnitude = abs(fmt.value_of(code))
        exponent = floor_log2(magnitude)
        significand = int(magnitude / pow2(exponent - (OPERAND_SIGNIFICAND_BITS - 1)))
    return fmt.is_negative(code), exponent, significand, kind is Kind.ZERO, kind is Kind.INF, kind is Kind.NAN


def decoder(unit: Decoder, inputs: Columns) -> Results:
    """Golden results of a `Decoder`."""
    size = len(inputs["code"])
    results: Results = {port.name: np.zeros(size, dtype=np.uint8) for port in unit.outputs}
    for fmt, here in _variants(inputs, "code", unit.formats):
        for name, table in unpacked(fmt)._asdict().items():
            mask = (1 << unit.exponent_bits) - 1 if name == "exponent" else 0xFF
            results[name][here] = table[inputs["code"][here]] & mask
    return results


# --- cast -----------------------------------------------------------------------------------------------------------


def cast(unit: Cast, inputs: Columns) -> Results:
    """Golden results of a `Cast`."""
    size = len(inputs["x"])
    source = decode_native(inputs["x"], unit.source)
    results: Results = {"result": np.zeros(size, dtype=np.uint8), "flags": np.zeros(size, dtype=np.uint8)}
    target = _chosen(inputs, "target", len(unit.targets), size)
    rounding = _chosen(inputs, "rounding", len(unit.roundings), size)
    overflow = _chosen(inputs, "overflow", len(unit.overflow), size)
    for i, fmt in enumerate(unit.targets):
        for j, mode in enumerate(unit.roundings):
            for k, policy in enumerate(unit.overflow):
                here = (target == i) & (rounding == j) & (overflow == k)
                chosen = CastPolicy(offered(mode, fmt), policy)
                codes, flags = encode_numbers(source[here], fmt, chosen, Hybrid(), flags=True)
                results["result"][here], results["flags"][here] = codes, flags
    return results


def offered(mode: Rounding, fmt: Format) -> Rounding:
    """Hybrid rounding means rna for every target but hif8."""
    return Rounding.RNA if mode is Rounding.HYBRID and not isinstance(fmt, HiFloat8) else mode


# --- multiply-add ---------------------------------------------------------------------------------------------------


def fma(unit: Fma, inputs: Columns) -> Results:
    """Golden results of an `Fma`."""
    engine = EngineKernel(unit.engine)
    a, b = _operand(inputs, "a", unit.a), _operand(inputs, "b", unit.b)
    codes, flags = engine.outputs(a.size)
    dot_kernels.fma_array(*engine.rounding, a, b, engine.numbers(inputs["c"]), codes, flags)
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}


def mac(unit: Mac, inputs: Columns) -> Results:
    """Golden results of a `Mac`: the operations in order, from reset."""
    engine = EngineKernel(unit.engine)
    a, b = _operand(inputs, "a", unit.a), _operand(inputs, "b", unit.b)
    codes, flags = engine.outputs(a.size)
    operations = np.asarray(inputs["op"], dtype=np.uint8)
    dot_kernels.mac_array(*engine.rounding, engine.table, operations, a, b, engine.numbers(inputs["c"]), codes, flags)
    return {"result": codes, "flags": flags} if unit.flags else {"result": codes}
