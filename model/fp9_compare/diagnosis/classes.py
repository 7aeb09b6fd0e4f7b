"""Decoding of the codes on a unit's ports, and classes of the numbers, such as NaN or subnormal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode_to
from fp9.formats import FixedFormat, Format
from fp9.units import FLAGS_PORT, Cast, Columns, MultiFpu, MultiFpuOp, Port, Unit
from fp9.units.hooks import Hook
from fp9.units.multi_fpu import EXTREMA, SIGN_INJECTIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray


def results_of(unit: Unit) -> list[Port]:
    return [port for port in unit.outputs if port.formats]


def operands_of(unit: Unit) -> list[Port]:
    return [port for port in unit.inputs if port.formats]


def flag_ports(unit: Unit) -> list[tuple[Port, Port]]:
    """Return pairs of a flag port and the port of the result that the flags describe."""
    flags = [port for port in unit.outputs if port.doc == FLAGS_PORT.doc]
    return list(zip(flags, results_of(unit), strict=False))


def _operand_of_lane(unit: Cast, result: Port) -> list[Port]:
    names = unit.lane_names("result")
    operands = operands_of(unit)
    return [operands[names.index(result.name)]] if result.name in names else operands


# In a unit with lanes, these are the operands of the same lane.
operands_beside: Hook[[Port], list[Port]] = Hook(
    "operands of a result", {Cast: _operand_of_lane}, otherwise=lambda unit, result: operands_of(unit)
)


def formats_on(port: Port, inputs: Columns) -> Iterator[tuple[Format, Any]]:
    """Yield each format of a port, and a mask (n,) of the operations in which the port has this format."""
    size = len(next(iter(inputs.values())))
    if port.select is None:
        yield port.formats[0], np.ones(size, dtype=np.bool_)
        return
    chosen = np.minimum(inputs[port.select], len(port.formats) - 1)
    for index, fmt in enumerate(port.formats):
        here = chosen == index
        if here.any():
            yield fmt, here


def numbers(port: Port, codes: Any, inputs: Columns) -> NDArray[np.float64]:
    # A bias port is ignored, because the exponent bias does not change the class.
    values = np.empty(len(codes), dtype=np.float64)
    for fmt, here in formats_on(port, inputs):
        mask = fmt.dtype.type((1 << fmt.bits) - 1)
        values[here] = decode_to(np.asarray(codes)[here].astype(fmt.dtype) & mask, fmt, np.float64)
    return values


def is_nan(port: Port, codes: Any, inputs: Columns) -> NDArray[np.bool_]:
    return np.isnan(numbers(port, codes, inputs))


def operations(unit: MultiFpu, inputs: Columns, *ops: MultiFpuOp) -> Any:
    """Return a mask (n,) of the operations that the port `op` selects."""
    last = len(unit.operations) - 1
    some = [index for index, op in enumerate(unit.operations) if op in ops]
    return np.isin(np.minimum(inputs["op"], last), some)


def _whole(unit: Unit, port: Port, inputs: Columns) -> list[tuple[int, int, Columns, NDArray[np.bool_]]]:
    return [(0, port.width, inputs, np.ones(len(next(iter(inputs.values()))), dtype=np.bool_))]


def _lanes_of_fpu(unit: MultiFpu, port: Port, inputs: Columns) -> list[tuple[int, int, Columns, NDArray[np.bool_]]]:
    if port.select is not None:  # sign injections, minimum and maximum give a result in the format of operand a
        copies = operations(unit, inputs, *SIGN_INJECTIONS, *EXTREMA)
        inputs = {**inputs, port.select: np.where(copies, inputs[unit.format_port("a")], inputs[port.select])}
    if not unit.lane_widths:
        return _whole(unit, port, inputs)
    mode = np.minimum(inputs["vector"], len(unit.lane_widths))
    found = [(0, port.width, inputs, mode == 0)]
    for index, width in enumerate(unit.lane_widths, 1):
        read = inputs
        if port.select is not None:
            last = len(unit.lane_units[width].formats) - 1
            read = {**inputs, port.select: np.minimum(inputs[port.select], last)}
        found += [(low, width, read, mode == index) for low in range(0, port.width, width)]
    return found


# The lanes of a port: lowest bit, width in bits, inputs of the lane, and a mask of the operations that use the lane.
_lanes: Hook[[Port, Columns], list[tuple[int, int, Columns, NDArray[np.bool_]]]] = Hook(
    "lanes of a result", {MultiFpu: _lanes_of_fpu}, otherwise=_whole
)


def equal_up_to_nan(unit: Unit, port: Port, ours: Any, theirs: Any, inputs: Columns) -> NDArray[np.bool_]:
    """Return a mask (n,) of the operations whose two results are equal in each lane, or both NaN."""
    equal = np.ones(len(ours), dtype=np.bool_)
    for low, width, read, used in _lanes(unit, port, inputs):
        mask = np.asarray(ours).dtype.type((1 << width) - 1)
        own, other = (np.asarray(codes) >> low & mask for codes in (ours, theirs))
        equal &= ~used | (own == other) | (is_nan(port, own, read) & is_nan(port, other, read))
    return equal


def is_signalling(port: Port, codes: Any, inputs: Columns) -> NDArray[np.bool_]:
    # A NaN is signalling if its first fraction bit is clear and its format has more than one NaN.
    signalling = np.zeros(len(codes), dtype=np.bool_)
    for fmt, here in formats_on(port, inputs):
        if isinstance(fmt, FixedFormat) and fmt.has_inf and fmt.fraction_bits > 1:
            quiet = 1 << (fmt.fraction_bits - 1 + fmt.padding)
            signalling |= here & (np.asarray(codes) & quiet == 0)
    return signalling & is_nan(port, codes, inputs)


def limits(port: Port, inputs: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest normal and the largest number of the port's format in each operation, shape (n,)."""
    size = len(next(iter(inputs.values())))
    smallest, largest = np.zeros(size), np.zeros(size)
    for fmt, here in formats_on(port, inputs):
        smallest[here], largest[here] = fmt.smallest_normal, fmt.max
    return smallest, largest


def coded(port: Port, inputs: Columns, code_of: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return an array of codes and a mask, with one element for each operation: shape (n,).

    The code of an operation is `code_of(format)`, where `format` is the port's format in the operation. The mask is
    false for operations in which `code_of` returns None.
    """
    size = len(next(iter(inputs.values())))
    codes, there = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    for fmt, here in formats_on(port, inputs):
        code = code_of(fmt)
        if code is not None:
            codes[here], there[here] = code, True
    return codes, there
