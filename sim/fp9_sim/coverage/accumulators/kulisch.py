"""Coverage model of Kulisch accumulators: leading bit, sign, overflow and special states."""

from __future__ import annotations

from collections.abc import Iterator

from fp9.golden import evaluate
from fp9.units import KULISCH_PRODUCTS, Columns, Mac, MacOp
from fp9_sim.coverage.accumulators.sequence import Sequence
from fp9_sim.coverage.computed_sum import Sum, sum_of
from fp9_sim.coverage.factors import operations
from fp9_sim.coverage.model import (
    FLAGS,
    LAST_PLACES,
    POSITIONS,
    SIGNS,
    Bin,
    Cross,
    Facts,
    Group,
    Model,
    classes_of,
    flags_of,
)
from fp9_sim.coverage.ranges import reached_classes
from fp9_sim.coverage.sums import flag_column
from fp9_sim.coverage.values import Codes, Grid

STATES = ("number", "+infinity", "-infinity", "nan")


def kulisch_model(unit: Mac) -> Model:
    sum_, sequence = product_sum(unit), Sequence(unit)
    points: dict[str, tuple[Bin, ...]] = {
        **sequence.points,
        "state": _states(unit),
        "a": classes_of(*unit.a),
        "b": classes_of(*unit.b),
        "format_a": tuple(fmt.name for fmt in unit.a),
        "format_b": tuple(fmt.name for fmt in unit.b),
        "leading": tuple(range(unit.sum_bits - 1)),
        "sign": SIGNS,
        "wrap": ("none", "up", "down"),
        "position": POSITIONS,
        "last_place": LAST_PLACES,
        "result": reached_classes(sum_.result, sum_.products, (*unit.a, *unit.b)),
        **({"flags": tuple(name for name in FLAGS if sum_.raises(name))} if unit.flags else {}),
    }
    crosses = (
        *sequence.crosses,
        Cross("special_state", ("operation", "state")),
        Cross("classes", ("a", "b")),
        Cross("formats", ("format_a", "format_b")),
        Cross("register", ("leading", "sign")),
        Cross("rounding_case", ("sign", "last_place", "position")),
        *((Cross("outcome", ("result", "flags"), sum_.impossible_outcome),) if unit.flags else ()),
    )
    return Model((Group("", points, crosses),), lambda inputs, outputs: _facts(unit, inputs, outputs))


def _states(unit: Mac) -> tuple[str, ...]:
    formats = (*unit.a, *unit.b)
    if any(fmt.has_inf for fmt in formats):
        return STATES
    return ("number", "nan") if any(fmt.has_nan for fmt in formats) else ("number",)


def product_sum(unit: Mac) -> Sum:
    one = sum_of(unit)
    return Sum(unit.engine, unit.a, unit.b, one.products, KULISCH_PRODUCTS)


def _facts(unit: Mac, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    sum_, sequence = product_sum(unit), Sequence(unit)
    grid, codes = Grid(sum_.result, sum_.products.ulp), Codes(sum_.result)
    register, state = 0, "number"
    every = zip(
        sequence.read(inputs),
        operations(sum_, inputs, list(zip(unit.lane_names("a"), unit.lane_names("b"), strict=True))),
        evaluate(unit, inputs)["result"].tolist(),
        outputs["result"].tolist(),
        flag_column(outputs, len(inputs["op"])),
        strict=True,
    )
    for (op, facts), operation, golden, result, flags in every:
        facts |= {"state": state, "result": codes[result].name}
        if flags is not None:
            facts["flags"] = flags_of(flags)
        if op in (MacOp.LOAD, MacOp.CLEAR):
            register, state = 0, "number"
        if op in (MacOp.LOAD, MacOp.ACCUMULATE):
            facts |= {"format_a": operation.format_a, "format_b": operation.format_b}
            if operation.summed is None or state != "number":
                state = _special(codes, golden)
            else:
                register, facts["wrap"] = _wrapped(register + operation.summed, unit.sum_bits)
            for x, y in operation.lanes:
                yield "", {"a": x.name, "b": y.name}
        if register and state == "number":
            magnitude = abs(register)
            position, last_place = grid.case(magnitude)
            leading = min(magnitude.bit_length() - 1, unit.sum_bits - 2)  # the lowest number, too
            facts |= {"leading": leading, "sign": SIGNS[register < 0]}
            facts |= {"position": position, "last_place": last_place}
        yield "", facts


def _special(codes: Codes, golden: int) -> str:
    code = codes[golden]
    return code.name if code.name == "nan" else f"{SIGNS[code.negative]}{code.name}"


def _wrapped(sum_: int, bits: int) -> tuple[int, str]:
    half = 1 << (bits - 1)
    return (sum_ + half) % (2 * half) - half, "up" if sum_ >= half else "down" if sum_ < -half else "none"
