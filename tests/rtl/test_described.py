"""Formats that a description names, in every place of a unit: the circuit is the golden model, or the unit is refused.

The rows are all special codes with and without subnormal numbers; `ROLES` says which of them a place takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.rtl.compared import Columns, assert_equal
from tests.rtl.conftest import Simulate
from tests.rtl.netlist import evaluated
from tests.support import described

from fp9.engines import Engine, Result, Step, Window
from fp9.formats import FixedFormat, Format, Specials, fixed_format, format
from fp9.formats.blocks import BlockFormat, block_format
from fp9.formats.rounding import Overflow, Rounding
from fp9.units import Cast, Decoder, Dot, Fma, Fpu, Mac, Quantiser, Unit, Upcast
from fp9_rtl.components import build, check_offered

ALL = frozenset(Specials)
WITH_NAN = ALL - {Specials.NONE, Specials.FINITE}
NONE: frozenset[Specials] = frozenset()

NARROW = ("1.4.3,b=7", "1.2.2,b=1", "1.6.0,b=30", "1.1.5,b=2")
EIGHT = ("1.4.3,b=7", "1.7.0,b=60", "1.1.6,b=2")
WIDE = ("1.5.10,b=15", "1.8.9,b=127")
LIKE_FP32 = ("1.8.7,b=127", "1.8.9,b=127")

E4M3, E5M2 = format("e4m3"), format("e5m2")
MODES = (Rounding.RNE, Rounding.RUP)
POLICIES = (Overflow.SATURATE, Overflow.INF, Overflow.DIRECTED)


@dataclass(frozen=True)
class Role:
    """A place of a unit: the fields and biases to try there, the unit, and the special codes that it takes."""

    layouts: tuple[str, ...]
    unit: Callable[[FixedFormat], Unit]
    takes: frozenset[Specials]
    subnormals_only: bool = False


def pairs(name: str) -> BlockFormat:
    """Blocks of two numbers."""
    return replace(block_format(name), length=2)


def factor(a: Format, engine: Engine) -> Unit:
    return (Fma if engine.step.products == 1 else Dot)("sum", (a,), (E4M3, E5M2), engine)


def product_of(result: Format, **parts: object) -> Unit:
    engine = Engine("described", Result(result)).changed(**parts)
    return (Fma if (engine.chunk.length or engine.step.products) == 1 else Dot)("sum", (E4M3,), (E4M3, E5M2), engine)


FP16, DLFLOAT16 = fixed_format("fp16"), fixed_format("dlfloat16")

ROLES = {
    "code of a decoder": Role(NARROW, lambda f: Decoder("decoder", (f, E5M2)), ALL),
    "code of a decoder with long exponents": Role(("1.6.0,b=140",), lambda f: Decoder("decoder", (f, E5M2)), ALL),
    "code of an upcast": Role(NARROW, lambda f: Upcast("upcast", (f, E4M3), fixed_format("fp32")), ALL),
    "code of an upcast to NaN-Inf": Role(NARROW, lambda f: Upcast("upcast", (f, E4M3), DLFLOAT16), ALL),
    "result of an upcast": Role(WIDE, lambda f: Upcast("upcast", (E4M3,), f), WITH_NAN),
    "result that overflows": Role(("1.6.9,b=50",), lambda f: Upcast("upcast", (E5M2,), f), WITH_NAN),
    "source of a cast": Role(WIDE, lambda f: Cast("cast", f, (E4M3, format("hfp8_152")), MODES), ALL),
    "scaled source of a cast": Role(WIDE, lambda f: Cast("cast", f, (E5M2,), MODES, scale=True), ALL),
    "target of a cast": Role(EIGHT, lambda f: Cast("cast", FP16, (f,), MODES, POLICIES), WITH_NAN),
    "narrow target of a cast": Role(("1.4.2,b=7",), lambda f: Cast("cast", FP16, (f,), MODES), NONE),
    "source of MX blocks": Role(
        LIKE_FP32, lambda f: Quantiser("quantiser", f, pairs("mxfp4"), ("floor",)), frozenset({Specials.IEEE}), True
    ),
    "source of NVFP4 blocks": Role(
        LIKE_FP32, lambda f: Quantiser("quantiser", f, pairs("nvfp4"), ("rne",)), frozenset({Specials.IEEE}), True
    ),
    "factor of a product": Role(NARROW[:2], lambda f: factor(f, Engine(result=Result(FP16))), ALL),
    "factor of a sum": Role(NARROW[:2], lambda f: factor(f, Engine(result=Result(FP16), step=Step(2))), ALL),
    "factor in a window": Role(
        NARROW[:2], lambda f: factor(f, Engine(result=Result(FP16), step=Step(2), window=Window(9))), ALL
    ),
    "scale": Role(EIGHT, lambda f: Dot("sum", (E4M3,), (E4M3,), Engine(step=Step(2)), scale=f), NONE),
    "accumulator": Role(WIDE, product_of, frozenset(described.ACCUMULATOR_SPECIALS)),
    "accumulator of sums": Role(WIDE, lambda f: product_of(f, products=2), frozenset(described.ACCUMULATOR_SPECIALS)),
    "accumulator in a window": Role(
        WIDE, lambda f: product_of(f, products=2, window=9), frozenset(described.ACCUMULATOR_SPECIALS)
    ),
    "chunk": Role(WIDE, lambda f: product_of(f, chunk=2, promotion=FP16), frozenset(described.ACCUMULATOR_SPECIALS)),
    "total of chunks": Role(
        WIDE, lambda f: product_of(FP16, chunk=2, promotion=f), frozenset(described.ACCUMULATOR_SPECIALS)
    ),
    "factor of an fpu": Role(
        EIGHT, lambda f: Fpu("fpu", (f,), (f,), Engine(result=Result(DLFLOAT16), step=Step(2))), NONE
    ),
    "result of an fpu": Role(
        WIDE,
        lambda f: Fpu("fpu", (format("hfp8_152"),), (format("hfp8_152"),), Engine(result=Result(f), step=Step(2))),
        NONE,
    ),
}
"""Places of units without registers."""

CLOCKED = {
    "largest magnitude of a cast": Role(
        WIDE, lambda f: Cast("cast", f, (E4M3,), (Rounding.RNE,), amax=True, stages=1), ALL
    ),
    "accumulator of a mac": Role(
        WIDE,
        lambda f: Mac("mac", (E4M3,), (E5M2,), Engine(result=Result(f)), stages=1),
        frozenset(described.ACCUMULATOR_SPECIALS),
    ),
    "result of an exact mac": Role(
        WIDE,
        lambda f: Mac("mac", (E4M3,), (E4M3,), Engine(result=Result(f), step=Step(exact=True)), stages=1),
        frozenset(described.ACCUMULATOR_SPECIALS),
    ),
}
"""Places of units with registers."""

ROWS = [*itertools.product(Specials, (True, False))]


def formats_of(role: Role, specials: Specials, subnormals: bool) -> list[FixedFormat]:
    """The formats of a row; IEEE's special codes need a fraction and two exponent bits."""
    rest = f"specials={specials.name.lower()}" + ("" if subnormals else ",subnormals=false")
    wide = [
        name
        for name in role.layouts
        if specials is not Specials.IEEE or not name.startswith(("1.1.", "1.6.0", "1.7.0"))
    ]
    return [fixed_format(f"{name},{rest}") for name in wide]


def operations(unit: Unit, count: int) -> Columns:
    """Codes at the edges of formats, the format of each port that the operation selects."""
    rng = np.random.default_rng(7)
    inputs = {port.name: rng.integers(0, 1 << port.width, count) for port in unit.inputs}
    for port in unit.inputs:
        choice = np.minimum(inputs[port.select], len(port.formats) - 1) if port.select else np.zeros(count, int)
        for place, fmt in enumerate(port.formats):
            if isinstance(fmt, FixedFormat):
                inputs[port.name] = np.where(choice == place, described.codes(fmt, count, rng), inputs[port.name])
    return {name: column.astype(np.uint64) for name, column in inputs.items()}


def refusal(role: Role, fmt: FixedFormat) -> str | None:
    """The sentence that refuses a format in a place; None where it is taken."""
    try:
        check_offered(role.unit(fmt))
    except ValueError as error:
        return str(error)
    return None


def test_refusals() -> None:
    """A place refuses a format in one sentence, or takes it, as the table says."""
    for name, role in (ROLES | CLOCKED).items():
        for specials, subnormals in ROWS:
            for fmt in formats_of(role, specials, subnormals):
                taken = specials in role.takes and (subnormals or not role.subnormals_only)
                sentence = refusal(role, fmt)
                assert (sentence is None) == taken, f"{name}: {fmt.name}: {sentence}"
                assert sentence is None or "give " in sentence, sentence


@pytest.mark.every(5)
@pytest.mark.parametrize("specials", Specials)
@pytest.mark.parametrize("name", ROLES)
def test_what_is_taken_is_right(name: str, specials: Specials) -> None:
    role = ROLES[name]
    for subnormals in (True, False):
        for fmt in formats_of(role, specials, subnormals):
            if refusal(role, fmt) is None:
                unit = role.unit(fmt)
                inputs = operations(unit, 600)
                assert_equal(unit, inputs, evaluated(build(unit), inputs))


@pytest.mark.every(5)
@pytest.mark.parametrize("specials", Specials)
@pytest.mark.parametrize("name", CLOCKED)
def test_what_is_taken_is_right_with_registers(name: str, specials: Specials, simulate: Simulate) -> None:
    role = CLOCKED[name]
    for fmt in itertools.chain.from_iterable(formats_of(role, specials, subnormals) for subnormals in (True, False)):
        if refusal(role, fmt) is None:
            unit = role.unit(fmt)
            inputs = operations(unit, 80)
            assert_equal(unit, inputs, simulate(unit, inputs))
