"""Coverage of sums of products: classes of all operands, exponent differences, cancellations, rounding, results."""

from __future__ import annotations

from collections.abc import Iterator

from fp9 import dot_oracle, oracle
from fp9.formats import FixedFormat, Format, Kind, floor_log2, pow2, with_bias
from fp9.units import BIAS_BITS, Dot, has_programmable_bias
from fp9_sim.functional.model import FLAGS, POSITIONS, Bin, Cross, Facts, Model, Point, class_of, classes_of, flags_of
from fp9_sim.functional.rounding import rounding_case


def sum_model(unit: Dot) -> Model:
    """Points of a unit's sums; with several products, operand classes are those of each lane in turn."""
    result = _result(unit)
    p = result.fraction_bits
    named: dict[str, tuple[Bin, ...]] = {
        "a": tuple(dict.fromkeys(name for fmt in unit.a for name in classes_of(fmt))),
        "b": tuple(dict.fromkeys(name for fmt in unit.b for name in classes_of(fmt))),
        "c": classes_of(result),
        "format_a": tuple(fmt.name for fmt in unit.a),
        "format_b": tuple(fmt.name for fmt in unit.b),
        "effective": ("same signs", "opposed signs"),
        "difference": tuple(range(-p - 3, p + 5)),
        "cancelled": (-1, *range(_longest(unit) + 1), "all"),
        "sign": ("+", "-"),
        "position": POSITIONS,
        "last_place": ("even", "odd"),
        "result": classes_of(result),
        "flags": tuple(name for name in FLAGS if _raises(unit, name)),
    }
    crosses = (
        Cross("classes", ("a", "b", "c")),
        Cross("formats", ("format_a", "format_b")),
        Cross("alignment", ("difference", "effective")),
        Cross("cancellation", ("effective", "cancelled"), _impossible_cancellation),
        Cross("rounding_case", ("sign", "last_place", "position")),
        Cross("outcome", ("result", "flags"), lambda outcome, flags: _impossible_outcome(unit, outcome, flags)),
    )
    return Model(
        unit,
        tuple(Point(f"{unit.name}.{name}", bins) for name, bins in named.items()),
        tuple(
            Cross(f"{unit.name}.{c.name}", tuple(f"{unit.name}.{name}" for name in c.points), c.impossible)
            for c in crosses
        ),
        lambda inputs, outputs: _facts(unit, inputs, outputs),
    )


def _result(unit: Dot) -> FixedFormat:
    assert isinstance(unit.engine.output, FixedFormat)
    return unit.engine.output


def _exact_when_small(unit: Dot) -> bool:
    """Whether no product has a bit below the last place of the smallest results, so that small sums are exact."""
    lowest = [min(fmt.quantum(-_FAR) for fmt in formats) for formats in (unit.a, unit.b)]
    return not unit.bias_port and sum(lowest) >= _result(unit).quantum(-_FAR)


_FAR = 1 << 12
"""Below the exponents of every format."""


def _raises(unit: Dot, flags: str) -> bool:
    """Whether an operation can raise a flag: infinities are invalid, sums of small parts underflow, and sums overflow
    where products reach the last place of the largest result."""
    if flags == "invalid":
        return any(fmt.has_inf for fmt in (*unit.a, *unit.b, _result(unit)))
    if flags == "overflow":
        result = _result(unit)
        largest = unit.engine.products * max(x.max_magnitude for x in unit.a) * max(y.max_magnitude for y in unit.b)
        return largest >= pow2(result.quantum(floor_log2(result.max_magnitude)) - 1)
    return flags != "underflow" or not (_result(unit).subnormals and _exact_when_small(unit))


def _impossible_cancellation(effective: str, cancelled: Bin) -> str | None:
    if effective == "opposed signs" and cancelled == -1:
        return "a difference carries into no higher place"
    return "nothing cancels between equal signs" if effective == "same signs" and cancelled not in (-1, 0) else None


def _impossible_outcome(unit: Dot, outcome: str, flags: str) -> str | None:
    result = _result(unit)
    reasons = {
        "no operation of the unit raises it": not _raises(unit, flags),
        "only NaN is invalid": flags == "invalid" and outcome != "nan",
        "overflow gives infinity, or NaN where there is none": flags == "overflow"
        and outcome != ("infinity" if result.has_inf else "nan"),
        "only results below the normal numbers, or rounded up to them, underflow": flags == "underflow"
        and outcome not in ("zero", "subnormal", "smallest normal"),
        "infinity and NaN are exact, or overflow": outcome in ("infinity", "nan") and flags in ("inexact", "underflow"),
        "an inexact result below the normal numbers underflows": outcome in ("zero", "subnormal")
        and flags == "inexact",
        "sums as small as this are exact": outcome in ("subnormal", "smallest normal")
        and flags in ("inexact", "underflow")
        and _exact_when_small(unit),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _longest(unit: Dot) -> int:
    """The longest cancellation: a product just above a power of two, the addend the number below it."""
    return _result(unit).fraction_bits + 1


def _facts(unit: Dot, inputs: dict[str, int], outputs: dict[str, int]) -> Iterator[Facts]:
    """The facts of the whole sum, then those of each lane."""
    a, b = (_format(unit, inputs, operand) for operand in ("a", "b"))
    c = oracle.decode(inputs["c"], unit.engine.output)
    lanes = [*zip(unit.lane_names("a"), unit.lane_names("b"), strict=True)]
    products = [dot_oracle.product(oracle.decode(inputs[x], a), oracle.decode(inputs[y], b)) for x, y in lanes]
    facts: Facts = {
        "c": class_of(inputs["c"], unit.engine.output),
        "format_a": unit.a[_index(inputs, "a", unit.a)].name,
        "format_b": unit.b[_index(inputs, "b", unit.b)].name,
        "result": class_of(outputs["result"], unit.engine.output),
    }
    if "flags" in outputs:
        facts["flags"] = flags_of(outputs["flags"])
    facts |= _sum_facts(unit, products, c)
    for lane, (x, y) in enumerate(lanes):
        classes: Facts = {"a": class_of(inputs[x], a), "b": class_of(inputs[y], b), "c": facts["c"]}
        yield {f"{unit.name}.{name}": fact for name, fact in (facts | classes if lane == 0 else classes).items()}


def _sum_facts(unit: Dot, products: list[oracle.Exact], c: oracle.Exact) -> Facts:
    """How addend and products meet; empty where one of them is no number."""
    terms = [*products, c]
    if any(term.kind in (Kind.NAN, Kind.INF) for term in terms):
        return {}
    facts: Facts = {}
    summed = sum(term.value for term in products)
    total = summed + c.value
    fmt = _result(unit)
    if total:
        facts["sign"] = "-" if total < 0 else "+"
        if abs(total) <= 2 * fmt.max_magnitude:
            facts["position"], facts["last_place"] = rounding_case(abs(total), fmt)
    if summed and c.value:
        highest = max(floor_log2(abs(summed)), floor_log2(c.magnitude))
        difference = floor_log2(c.magnitude) - floor_log2(abs(summed))
        p = fmt.fraction_bits
        facts["difference"] = max(-p - 3, min(difference, p + 4))
        facts["effective"] = "same signs" if (summed < 0) == (c.value < 0) else "opposed signs"
        facts["cancelled"] = highest - floor_log2(abs(total)) if total else "all"
    return facts


def _index(inputs: dict[str, int], operand: str, formats: tuple[Format, ...]) -> int:
    return min(inputs.get(f"{operand}_format", 0), len(formats) - 1)


def _format(unit: Dot, inputs: dict[str, int], operand: str) -> Format:
    """The format of an operand of an operation, its extra bias included."""
    formats = unit.a if operand == "a" else unit.b
    fmt = formats[_index(inputs, operand, formats)]
    bias = inputs.get(f"{operand}_bias", 0)
    return (
        with_bias(fmt, bias - ((bias >> (BIAS_BITS - 1)) << BIAS_BITS)) if bias and has_programmable_bias(fmt) else fmt
    )
