"""FP16 and FP32 operations of a multi-format FPU against Berkeley SoftFloat, values and flags in all five roundings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import softfloatpy as softfloat
from numpy.typing import NDArray
from tests.support.tininess import beside_smallest_normal

from fp9.formats import FixedFormat, fixed_format
from fp9.formats.rounding import Rounding
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.suites.columns import Inputs
from fp9.units import FpuGroup, MultiFpu, MultiFpuOp

_MODES = {
    Rounding.RNE: softfloat.RoundingMode.NEAR_EVEN,
    Rounding.RTZ: softfloat.RoundingMode.MIN_MAG,
    Rounding.RDN: softfloat.RoundingMode.MIN,
    Rounding.RUP: softfloat.RoundingMode.MAX,
    Rounding.RNA: softfloat.RoundingMode.NEAR_MAX_MAG,
}
_FLAGS = {
    softfloat.ExceptionFlag.INEXACT: 1,
    softfloat.ExceptionFlag.UNDERFLOW: 2,
    softfloat.ExceptionFlag.OVERFLOW: 4,
    softfloat.ExceptionFlag.INFINITE: 8,
    softfloat.ExceptionFlag.INVALID: 16,
}
_TYPES = {"fp16": (softfloat.Float16, "f16"), "fp32": (softfloat.Float32, "f32")}


class _SoftFloat:
    """SoftFloat's operations on codes of one format."""

    def __init__(self, fmt: FixedFormat, tiny_before_rounding: bool) -> None:
        self._kind, self._prefix = _TYPES[fmt.name]
        self._bytes = fmt.bits // 8
        modes = softfloat.TininessMode
        softfloat.set_tininess_mode(modes.BEFORE_ROUNDING if tiny_before_rounding else modes.AFTER_ROUNDING)

    def run(self, op: MultiFpuOp, mode: Rounding, a: int, b: int, c: int) -> tuple[int, int]:
        """Code and flags."""
        softfloat.set_rounding_mode(_MODES[mode])
        softfloat.set_exception_flags(0)
        result = self._call(op, *(self._kind.from_bytes(code.to_bytes(self._bytes, "big")) for code in (a, b, c)))
        raised = softfloat.get_exception_flags()
        flags = sum(bit for flag, bit in _FLAGS.items() if raised & flag)
        return int(result) if isinstance(result, bool) else int.from_bytes(result.to_bytes(), "big"), flags

    def _call(self, op: MultiFpuOp, a: Any, b: Any, c: Any) -> Any:
        match op:
            case MultiFpuOp.FMADD:
                return self._named("mul_add")(a, b, c)
            case MultiFpuOp.FMSUB:
                return self._named("mul_add")(a, b, -c)
            case MultiFpuOp.FNMSUB:
                return self._named("mul_add")(-a, b, c)
            case MultiFpuOp.FNMADD:
                return self._named("mul_add")(-a, b, -c)
            case MultiFpuOp.MUL | MultiFpuOp.DIV:
                return self._named(op.value)(a, b)
            case MultiFpuOp.SQRT:
                return self._named("sqrt")(a)
            case MultiFpuOp.LT | MultiFpuOp.LE | MultiFpuOp.EQ:
                return self._named(op.value)(a, c)
            case MultiFpuOp.ADD | MultiFpuOp.SUB | MultiFpuOp.EQ_SIGNALING | MultiFpuOp.LT_QUIET | MultiFpuOp.LE_QUIET:
                return self._named(op.value)(a, c)
        raise AssertionError(f"SoftFloat has no {op}")

    def _named(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(softfloat, f"{self._prefix}_{name}")
        return found


_NOT_IN_SOFTFLOAT = ("sgnj", "min", "max", "classify", "convert")


def _operations(unit: MultiFpu, seed: int, count: int) -> Inputs:
    """Operations of the corner suite that SoftFloat has, and random ones."""
    parts = [inputs_of(unit, "corner", None, seed), inputs_of(unit, "random", count, seed)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    names = np.array([op.value for op in unit.operations])[np.minimum(columns["op"], len(unit.operations) - 1)]
    here = ~np.char.startswith(names, _NOT_IN_SOFTFLOAT[0])
    for name in _NOT_IN_SOFTFLOAT[1:]:
        here &= ~np.char.startswith(names, name)
    return {name: column[here] for name, column in columns.items()}


def _differences(unit: MultiFpu, columns: Inputs) -> Iterator[str]:
    fmt = unit.formats[0]
    assert isinstance(fmt, FixedFormat)
    model, made = _SoftFloat(fmt, unit.tiny_before_rounding), evaluate(unit, columns)
    for row, (code, flags) in enumerate(zip(made["result"].tolist(), made["flags"].tolist(), strict=True)):
        op = unit.operations[min(int(columns["op"][row]), len(unit.operations) - 1)]
        mode = unit.roundings[min(int(columns["rounding"][row]), len(unit.roundings) - 1)]
        a, b, c = (int(columns[name][row]) for name in "abc")
        expected, raised = model.run(op, mode, a, b, c)
        both_nan = op.value[:2] not in ("eq", "lt", "le") and {code, expected} <= _nans(fmt, code, expected)
        if flags != raised or not (code == expected or both_nan):
            yield f"{op.value} {mode.value} {a:x} {b:x} {c:x}: {code:x} {flags}, SoftFloat {expected:x} {raised}"


def _nans(fmt: FixedFormat, *codes: int) -> set[int]:
    return {code for code in codes if fmt.kind_of(code).value == "nan"}


@pytest.mark.parametrize("name", _TYPES)
@pytest.mark.parametrize("before", [False, True], ids=["tiny_after", "tiny_before"])
def test_tininess_beside_the_smallest_normal_number_is_that_of_softfloat(name: str, before: bool) -> None:
    unit = MultiFpu(name, (fixed_format(name),), roundings=tuple(_MODES), tiny_before_rounding=before)
    columns = beside_smallest_normal(unit)
    assert not list(_differences(unit, columns))[:5]
    other = evaluate(replace(unit, tiny_before_rounding=not before), columns)
    assert (evaluate(unit, columns)["flags"] != other["flags"]).any()


def _operands(fmt: FixedFormat, fractions: Iterable[int]) -> list[int]:
    """Operands of TestFloat: exponents 0, 1, 2, the precision and the ends, with some fractions."""
    near = (-fmt.precision, -2, -1, 0, 1, 2, fmt.precision)
    top = (1 << fmt.exponent_bits) - 1
    fields = (0, 1, *(fmt.bias + exponent for exponent in near), top - 1, top)
    return [
        sign << fmt.bits - 1 | field << fmt.fraction_bits | fraction
        for sign, field, fraction in itertools.product((0, 1), fields, fractions)
    ]


def _level_1(fmt: FixedFormat) -> list[int]:
    """Operands of level 1: fractions at both ends."""
    ones = (1 << fmt.fraction_bits) - 1
    return _operands(fmt, (0, 1, ones - 1, ones))


def _level_2(fmt: FixedFormat) -> list[int]:
    """Operands of level 2: fractions that are 0, or have one 1, one 0, or ones only at one end."""
    ones, places = (1 << fmt.fraction_bits) - 1, range(fmt.fraction_bits)
    found = ((1 << k, ones ^ 1 << k, ones >> k, ones ^ ones >> k) for k in places)
    return _operands(fmt, sorted({0, *itertools.chain.from_iterable(found)}))


def _columns(unit: MultiFpu, op: MultiFpuOp, mode: Rounding, operands: dict[str, NDArray[Any]]) -> Inputs:
    """Operations with one op and one rounding."""
    given = {"op": unit.operations.index(op), "rounding": unit.roundings.index(mode)}
    count = len(operands["a"])
    columns = {port.name: np.full(count, given.get(port.name, 0), np.uint32) for port in unit.inputs}
    return columns | {name: column.astype(np.uint32) for name, column in operands.items()}


_COMPARISONS = ("eq", "lt", "le", "eq_signaling", "lt_quiet", "le_quiet")


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=[pytest.mark.slow])], ids=lambda step: f"every_{step}")
@pytest.mark.parametrize("name", _TYPES)
@pytest.mark.parametrize("before", [False, True], ids=["tiny_after", "tiny_before"])
def test_pairs_of_level_1_give_the_results_of_softfloat(name: str, before: bool, step: int) -> None:
    fmt = fixed_format(name)
    divides = (FpuGroup.DIVSQRT,) if fmt.bits < 32 else ()
    groups = (FpuGroup.ADDMUL, FpuGroup.NONCOMP, *divides)
    unit = MultiFpu(name, (fmt,), groups, tuple(_MODES), tiny_before_rounding=before)
    codes = np.array(_level_1(fmt), np.uint32)
    first, second = (column.ravel() for column in np.meshgrid(codes, codes))
    names = ("add", "sub", "mul", *("div" for _ in divides))
    tasks = [*itertools.product(names, _MODES), *((each, Rounding.RNE) for each in _COMPARISONS)]
    for shift, (op, mode) in enumerate(tasks):
        a, b = first[shift % step :: step], second[shift % step :: step]
        pairs = {"a": a, "b": b, "c": b}
        assert not list(_differences(unit, _columns(unit, MultiFpuOp(op), mode, pairs)))[:5]
    for mode in _MODES if divides else ():
        assert not list(_differences(unit, _columns(unit, MultiFpuOp.SQRT, mode, dict.fromkeys("abc", codes))))[:5]


_STEPS = [97, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.long])]


@pytest.mark.parametrize("step", _STEPS, ids=lambda step: f"every_{step}")
@pytest.mark.parametrize("name", _TYPES)
@pytest.mark.parametrize("before", [False, True], ids=["tiny_after", "tiny_before"])
def test_triples_of_level_1_give_the_multiply_adds_of_softfloat(name: str, before: bool, step: int) -> None:
    unit = MultiFpu(name, (fixed_format(name),), (FpuGroup.ADDMUL,), tuple(_MODES), tiny_before_rounding=before)
    codes = np.array(_level_1(fixed_format(name)), np.uint32)
    for shift, mode in enumerate(_MODES):
        places = np.arange(shift % step, len(codes) ** 3, step)
        triples = zip("abc", np.unravel_index(places, (len(codes),) * 3), strict=True)
        operands = {operand: codes[index] for operand, index in triples}
        assert not list(_differences(unit, _columns(unit, MultiFpuOp.FMADD, mode, operands)))[:5]


_LEVEL_2 = dict.fromkeys(("add", "sub", "mul", "div"), "ab") | {"fmadd": "abc"}
# No unit divides numbers of more than 16 bits.
_CASES = [(name, op) for name in _TYPES for op in _LEVEL_2 if op != "div" or fixed_format(name).bits <= 16]


@pytest.mark.parametrize("rows", [200, pytest.param(1_000_000, marks=[pytest.mark.slow, pytest.mark.long])])
@pytest.mark.parametrize("mode", _MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(("name", "op"), _CASES)
def test_the_grid_of_level_2_gives_the_results_of_softfloat(name: str, op: str, mode: Rounding, rows: int) -> None:
    """All pairs of FP16 operands; a million of the pairs of FP32 operands and of the triples."""
    fmt, operands = fixed_format(name), _LEVEL_2[op]
    groups = (FpuGroup.ADDMUL, *((FpuGroup.DIVSQRT,) if fmt.bits < 32 else ()))
    unit = MultiFpu(name, (fmt,), groups, tuple(_MODES))
    codes = np.array(_level_2(fmt), np.uint32)
    grid = (len(codes),) * len(operands)
    step = max(1, math.prod(grid) // rows)
    while math.gcd(step, len(codes)) > 1:
        step += 1
    picked = np.unravel_index(np.arange(0, math.prod(grid), step), grid)
    columns = dict(zip(operands, (codes[index] for index in picked), strict=True))
    columns.setdefault("c", columns["b"])
    assert not list(_differences(unit, _columns(unit, MultiFpuOp(op), mode, columns)))[:5]


def test_level_2_has_the_fractions_of_testfloat() -> None:
    """TestFloat 3e, genCases_f16.c and genCases_f32.c: 36 and 88 fractions."""
    for name, fractions in (("fp16", 36), ("fp32", 88)):
        fmt = fixed_format(name)
        assert len(set(_level_2(fmt))) == 22 * fractions
        assert set(_level_1(fmt)) < set(_level_2(fmt))


def test_conversions_to_bfloat16_are_those_of_softfloat() -> None:
    """FP32 numbers beside BF16 numbers and midpoints, in all roundings."""
    formats = tuple(fixed_format(name) for name in ("bf16", "fp32"))
    unit = MultiFpu("convert", formats, (FpuGroup.CONV,), tuple(_MODES))
    high = np.arange(0, 1 << 16, 29, np.uint32) << 16
    for low, mode in itertools.product((0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF), _MODES):
        columns = _columns(unit, MultiFpuOp.CONVERT, mode, {"a": high | np.uint32(low)})
        made = evaluate(unit, columns | {"a_format": np.ones_like(high), "result_format": np.zeros_like(high)})
        softfloat.set_rounding_mode(_MODES[mode])
        softfloat.set_tininess_mode(softfloat.TininessMode.AFTER_ROUNDING)
        for a, code, flags in zip(columns["a"].tolist(), made["result"].tolist(), made["flags"].tolist(), strict=True):
            softfloat.set_exception_flags(0)
            result = softfloat.f32_to_bf16(softfloat.Float32.from_bytes(a.to_bytes(4, "big")))
            expected = int.from_bytes(result.to_bytes(), "big")
            both_nan = (code & 0x7FFF) > 0x7F80 and (expected & 0x7FFF) > 0x7F80
            assert flags == _raised() and (code == expected or both_nan), (mode, hex(a), hex(code), hex(expected))


@pytest.mark.parametrize("name", _TYPES)
def test_operations_are_those_of_softfloat(name: str) -> None:
    unit = MultiFpu(name, (fixed_format(name),), roundings=tuple(_MODES))
    assert not list(_differences(unit, _operations(unit, 1, 4000)))[:5]


def test_quotients_and_roots_are_those_of_softfloat() -> None:
    groups = (FpuGroup.ADDMUL, FpuGroup.DIVSQRT)
    unit = MultiFpu("divide", (fixed_format("fp16"),), groups, tuple(_MODES))
    columns = _operations(unit, 1, 40_000)
    here = columns["op"] >= unit.operations.index(MultiFpuOp.DIV)
    assert not list(_differences(unit, {name: column[here] for name, column in columns.items()}))[:5]


@pytest.mark.slow
@pytest.mark.parametrize("mode", _MODES, ids=lambda mode: mode.value)
def test_every_root_is_that_of_softfloat(mode: Rounding) -> None:
    unit = MultiFpu("roots", (fixed_format("fp16"),), (FpuGroup.DIVSQRT,), (mode,))
    codes = np.arange(1 << 16, dtype=np.uint32)
    columns = {port.name: np.zeros_like(codes) for port in unit.inputs} | {"a": codes}
    columns["op"] = columns["op"] + unit.operations.index(MultiFpuOp.SQRT)
    assert not list(_differences(unit, columns | {"c": codes, "rounding": columns["op"] * 0}))[:5]


@pytest.mark.slow
@pytest.mark.parametrize("name", _TYPES)
@pytest.mark.parametrize("seed", range(2, 12))
def test_further_operations_are_those_of_softfloat(name: str, seed: int) -> None:
    unit = MultiFpu(name, (fixed_format(name),), roundings=tuple(_MODES))
    assert not list(_differences(unit, _operations(unit, seed, 60_000)))[:5]


_INTEGERS = {"int32": "i32", "uint32": "ui32"}


def _integer_operations(unit: MultiFpu, op: MultiFpuOp, seed: int) -> Inputs:
    """Operations of the corner and random suites that convert 32-bit integers."""
    parts = [inputs_of(unit, "corner", None, seed), inputs_of(unit, "random", 20_000, seed)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    wide = np.isin(columns["integer_format"], [_index(unit, name) for name in _INTEGERS])
    here = wide & (np.minimum(columns["op"], 1) == unit.operations.index(op))
    return {name: column[here] for name, column in columns.items()}


def _index(unit: MultiFpu, integer: str) -> int:
    return [each.name for each in unit.integers].index(integer)


def _raised() -> int:
    raised = softfloat.get_exception_flags()
    return sum(bit for flag, bit in _FLAGS.items() if raised & flag)


@pytest.mark.parametrize("source", _TYPES)
@pytest.mark.parametrize("op", [MultiFpuOp.TO_INTEGER, MultiFpuOp.FROM_INTEGER], ids=lambda op: op.value)
def test_integer_conversions_are_those_of_softfloat(source: str, op: MultiFpuOp) -> None:
    """The value of an invalid conversion is RISC-V's, which the reference model states; SoftFloat's is x86's."""
    formats = tuple(fixed_format(name) for name in ("fp16", "fp32"))
    unit = MultiFpu("integers", formats, (FpuGroup.INTCONV,), tuple(_MODES))
    fmt = fixed_format(source)
    columns = _integer_operations(unit, op, 5)
    columns |= {port: np.full_like(columns[port], formats.index(fmt)) for port in ("a_format", "result_format")}
    made = evaluate(unit, columns)
    kind, prefix = _TYPES[source]
    for row, (word, flags) in enumerate(zip(made["result"].tolist(), made["flags"].tolist(), strict=True)):
        a, name = int(columns["a"][row]), unit.integers[int(columns["integer_format"][row])].name
        mode = _MODES[unit.roundings[min(int(columns["rounding"][row]), len(unit.roundings) - 1)]]
        softfloat.set_exception_flags(0)
        softfloat.set_rounding_mode(mode)
        if op is MultiFpuOp.TO_INTEGER:
            code = (a & ((1 << fmt.bits) - 1)).to_bytes(fmt.bits // 8, "big")
            result = getattr(softfloat, f"{prefix}_to_{_INTEGERS[name]}")(kind.from_bytes(code), mode, True)
        else:
            integer = {"int32": softfloat.Int32, "uint32": softfloat.UInt32}[name].from_bytes(a.to_bytes(4, "big"))
            result = getattr(softfloat, f"{_INTEGERS[name]}_to_{prefix}")(integer)
        expected = int.from_bytes(result.to_bytes(), "big")
        assert flags == _raised(), (name, mode, hex(a))
        assert flags & 16 or word == expected, (name, mode, hex(a), hex(word), hex(expected))
