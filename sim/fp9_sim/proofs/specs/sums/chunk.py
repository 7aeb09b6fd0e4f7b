"""Lemmas that specify an accumulator that sums in chunks and adds each chunk to a total.

The proof is by induction over operations.
"""

from __future__ import annotations

from collections.abc import Iterator

from fp9.units import Dot, MacOp
from fp9_sim.proofs.cones import ConeLemma
from fp9_sim.proofs.specs.sums.normal import (
    code_term,
    is_nan,
    is_normal,
    is_product,
    normal_products,
    product_term,
    rounded_up,
    sum_of_two,
)

PROVES = (
    "what every register takes for an operation, for all operands and whatever it held: the open chunk the exact sum "
    "of the product and itself, or of the product alone where it is empty, rounded once; its count the steps in it; "
    "the total the exact sum of the chunk and itself, or c, rounded once, where the chunk is full or folded; the flags "
    "are those of both roundings, the result is the total"
)
ASSUMES = (
    "pipeline registers are read as wires; that an operation meets the chunk, and the total behind it, once and in the "
    "order in which operations enter, is the claim of the order",
)

_STAGES = 3
"""Largest number of pipeline stages without a register inside the product steps."""

_CHUNK, _COUNT, _TOTAL = "chunk_payload_chunk", "chunk_state_filled", "total_payload_result"
_HELD = "chunk.payload"


def is_offered(unit: Dot) -> bool:
    engine = unit.engine
    if not unit.has_state or unit.engine.steps_of_chunk < 2 or engine.step.products > 1 or unit.stages > _STAGES:
        return False
    return engine.window.width is None and engine.chunk.promotion is None and is_normal(unit)


def lemmas(unit: Dot) -> tuple[ConeLemma, ...]:
    return (*normal_products(unit), _summed(unit), _counted(unit), _joined(unit), _shown())


def _operation(unit: Dot) -> Iterator[str]:
    yield f"  wire opens = op == {int(MacOp.LOAD)}; wire adds = opens || op == {int(MacOp.ACCUMULATE)};"
    yield f"  wire holds = op == {int(MacOp.HOLD)}; wire clears = op == {int(MacOp.CLEAR)};"
    yield f"  wire folds = op >= {int(MacOp.FOLD)}; wire is_open = {_COUNT}.held != 0;"


def _summed(unit: Dot) -> ConeLemma:
    fmt = unit.engine.result.format
    (product,) = unit.lane_names("product")
    return ConeLemma(
        "the chunk after an operation",
        (),
        (
            *_operation(unit),
            f"  wire [{fmt.bits - 1}:0] addend = is_open && !opens ? {_CHUNK}.held : 0;",
            *product_term(unit, product),
            *code_term(fmt, "addend", "addend"),
            *sum_of_two(fmt, product, "addend", fmt.precision),
            f"  wire nan = multiply.{product}_nan || {is_nan(fmt, 'addend')};",
            "  wire exact = !(guard || rest);",
            *rounded_up(fmt, "significand", "guard", "zero", "negative"),
        ),
        {
            f"{_CHUNK}.next": f"{_CHUNK}.next == (adds ? value : {_CHUNK}.held)",
            **{f"{_HELD}_flags_{name}": f"{_flags()} == (adds ? raised : 0)" for name in _FLAGS},
        },
        ("is_open && !opens", "is_open"),
        assumes=is_product(unit, product),
    )


_FLAGS = ("invalid", "divide_by_zero", "overflow", "underflow", "inexact")


def _flags() -> str:
    return f"{{{', '.join(f'{_HELD}_flags_{name}' for name in _FLAGS)}}}"


def _counted(unit: Dot) -> ConeLemma:
    steps = unit.engine.steps_of_chunk
    never = f"{_COUNT}.held >= {steps}"
    return ConeLemma(
        "the steps of the chunk, and whether it joins the total",
        (),
        (
            *_operation(unit),
            f"  wire [15:0] count = (opens ? 0 : {_COUNT}.held) + 1; wire full = count == {steps};",
        ),
        {
            f"{_COUNT}.next": f"{never} || {_COUNT}.next == (adds ? (full ? 0 : count) : holds ? {_COUNT}.held : 0)",
            f"{_HELD}_joins": f"{never} || {_HELD}_joins == (adds && full || folds && is_open)",
            f"{_HELD}_restarts": f"{_HELD}_restarts == (opens || clears)",
            "chunk.o_payload_c": "chunk.o_payload_c == (opens ? c : 0)",
        },
        (f"count == {steps}", f"count == {steps - 1}"),
        gives=(f"{never} || {_COUNT}.next < {steps}",),
    )


def _joined(unit: Dot) -> ConeLemma:
    fmt = unit.engine.result.format
    return ConeLemma(
        "the total after an operation, and its flags",
        (),
        (
            f"  wire [{fmt.bits - 1}:0] base = {_HELD}_restarts ? chunk.o_payload_c : {_TOTAL}.held;",
            *code_term(fmt, "chunk", f"{_CHUNK}.held"),
            *code_term(fmt, "base", "base"),
            *sum_of_two(fmt, "chunk", "base", fmt.precision),
            f"  wire nan = {is_nan(fmt, f'{_CHUNK}.held')} || {is_nan(fmt, 'base')};",
            "  wire exact = !(guard || rest);",
            *rounded_up(fmt, "significand", "guard", "zero", "negative"),
        ),
        {
            f"{_TOTAL}.next": f"{_TOTAL}.next == ({_HELD}_joins ? value : base)",
            "flags": f"flags == ({_flags()} | ({_HELD}_joins ? raised : 0))",
        },
        ("? value : base", f"? value : {_TOTAL}.held"),
    )


def _shown() -> ConeLemma:
    return ConeLemma(
        "the result of an operation",
        (),
        (),
        {"result": f"result == {_TOTAL}.held"},
        ("result ==", "result !="),
    )
