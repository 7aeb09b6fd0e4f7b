"""Ways in which other people's units differ: each is a sentence and the golden model under that other policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import fp9
from fp9.formats import FixedFormat, Format, Rounding, fixed_format
from fp9.golden import evaluate
from fp9.rounding import Overflow
from fp9.units import Cast, Columns, Dot, Fma, Mac, Port, Results, Unit
from fp9.vectors.sets import port_dtype

_DETERMINISTIC = tuple(rounding for rounding in Rounding if rounding.is_monotone)


@dataclass(frozen=True)
class Hypothesis:
    """What may be different, said to the user, and the results of a unit that differs so."""

    says: str
    evaluate: Callable[[Columns], Results]


def hypotheses(unit: Unit) -> Iterator[Hypothesis]:
    """What may be different about a unit of this kind, the likeliest first."""
    if isinstance(unit, Cast):
        yield from _cast_policies(unit)
        yield from _double_roundings(unit)
    if isinstance(unit, Dot):
        yield from _engine_roundings(unit)
    if isinstance(unit, Fma):
        yield from _rounded_products(unit)
    yield from _flushes(unit)
    yield from _zero_signs(unit)


def _replaced(unit: Unit, **fields: Any) -> Callable[[Columns], Results]:
    """The model of a changed spec, given the operands of the unit itself; a select that is gone has no say."""
    other = dataclasses.replace(unit, **fields)  # type: ignore[type-var]
    names = [port.name for port in other.inputs]
    return lambda inputs: evaluate(other, {name: inputs[name] for name in names})


# --- casts ----------------------------------------------------------------------------------------------------------


def _cast_policies(unit: Cast) -> Iterator[Hypothesis]:
    for rounding in _DETERMINISTIC:
        if unit.roundings != (rounding,):
            expected = " or ".join(mode.words for mode in unit.roundings)
            yield Hypothesis(f"it rounds {rounding.words}; expected {expected}", _replaced(unit, roundings=(rounding,)))
    targets = ", ".join(f"{fmt.name.upper()} overflow to {_beyond(fmt)} where" for fmt in unit.targets)
    limits = ", ".join(f"{fmt.name.upper()} saturates to {fmt.max:g}" for fmt in unit.targets)
    yield Hypothesis(f"it lets {targets} {limits} under saturate", _replaced(unit, overflow=(Overflow.INF,)))
    yield Hypothesis(f"it saturates ({limits}) where inf is asked for", _replaced(unit, overflow=(Overflow.SATURATE,)))


def _beyond(fmt: Format) -> str:
    return "infinity" if fmt.has_inf else "NaN"


def _double_roundings(unit: Cast) -> Iterator[Hypothesis]:
    """First to a narrower source format, then to the target."""
    for name in ("fp16", "bf16"):
        middle = fixed_format(name)
        if unit.source.bits <= middle.bits or any(mode.reads_source for mode in unit.roundings):
            continue

        def changed(inputs: Columns, middle: FixedFormat = middle) -> Results:
            lanes = {x: fp9.cast(inputs[x], unit.source, middle, overflow="inf") for x in unit.lane_names("x")}
            return evaluate(dataclasses.replace(unit, source=middle), {**inputs, **lanes})

        yield Hypothesis(f"double rounding: it rounds to {name} first, and then to the target", changed)


# --- sums -----------------------------------------------------------------------------------------------------------


def _engine_roundings(unit: Dot) -> Iterator[Hypothesis]:
    for rounding in _DETERMINISTIC:
        if rounding is not unit.engine.rounding:
            other = dataclasses.replace(unit.engine, name="custom", rounding=rounding)
            expected = unit.engine.rounding.words
            yield Hypothesis(f"it rounds {rounding.words}; expected {expected}", _replaced(unit, engine=other))


def _rounded_products(unit: Fma) -> Iterator[Hypothesis]:
    result = unit.engine.result
    one = fp9.encode(np.ones(1), result)[0]

    def changed(inputs: Columns) -> Results:
        # Beside -0 a product that is a zero keeps its sign.
        zeros = np.full_like(inputs["c"], fp9.encode([-0.0], result)[0])
        products = evaluate(unit, {**inputs, "c": zeros})["result"].astype(result.dtype)
        factors = np.full((len(products), 1), one, dtype=result.dtype)
        codes, flags = fp9.dot(
            products[:, None],
            factors,
            result,
            result,
            engine=unit.engine,
            c=inputs["c"].astype(result.dtype),
            flags=True,
        )
        return {"result": codes, "flags": flags}

    yield Hypothesis(f"double rounding: it rounds the product to {result.name} before it adds", changed)


# --- any unit -------------------------------------------------------------------------------------------------------


def _read_formats(port: Port, inputs: Columns) -> Iterator[tuple[FixedFormat, Any]]:
    """The formats of a port that may be flushed, and where each is chosen."""
    size = len(next(iter(inputs.values())))
    chosen = np.minimum(inputs[port.select], len(port.formats) - 1) if port.select else np.zeros(size, dtype=np.intp)
    for index, fmt in enumerate(port.formats):
        if isinstance(fmt, FixedFormat) and fmt.subnormals:
            yield fmt, chosen == index


def _flushed(port: Port, codes: Any, inputs: Columns) -> Any:
    """The codes with every subnormal number made zero of its sign."""
    left = np.array(codes, dtype=port_dtype(port))
    for fmt, here in _read_formats(port, inputs):
        small = here & (left & fmt.magnitude_mask < 1 << fmt.fraction_bits)
        left[small] &= port_dtype(port).type(fmt.sign_mask)
    return left


def _flushes(unit: Unit) -> Iterator[Hypothesis]:
    operands = [port for port in unit.inputs if port.formats]
    results = [port for port in unit.outputs if port.formats]

    def flush_operands(inputs: Columns) -> Results:
        return evaluate(unit, {**inputs, **{port.name: _flushed(port, inputs[port.name], inputs) for port in operands}})

    def flush_results(inputs: Columns) -> Results:
        golden = evaluate(unit, inputs)
        return {**golden, **{port.name: _flushed(port, golden[port.name], inputs) for port in results}}

    def flush_before(inputs: Columns) -> Results:
        """A result that is subnormal when it is cut becomes zero, also where rounding would lift it out."""
        golden = flush_results(inputs)
        cut = _truncated(unit)(inputs)
        for port in results:
            flushed = _flushed(port, cut[port.name], inputs)
            golden[port.name] = np.where(flushed != cut[port.name], flushed, golden[port.name])
        return golden

    yield Hypothesis("it flushes subnormal results to zero", flush_results)
    if isinstance(unit, Cast | Dot):
        yield Hypothesis("it flushes to zero before it rounds", flush_before)
    if not isinstance(unit, Mac):
        yield Hypothesis("it reads subnormal operands as zero", flush_operands)


def _truncated(unit: Unit) -> Callable[[Columns], Results]:
    if isinstance(unit, Cast):
        return _replaced(unit, roundings=(Rounding.RTZ,))
    assert isinstance(unit, Dot)
    return _replaced(unit, engine=dataclasses.replace(unit.engine, name="custom", rounding=Rounding.RTZ))


def _zero_signs(unit: Unit) -> Iterator[Hypothesis]:
    def with_sign(change: Callable[[Any, int], Any]) -> Callable[[Columns], Results]:
        def changed(inputs: Columns) -> Results:
            golden = dict(evaluate(unit, inputs))
            for port in (port for port in unit.outputs if port.formats):
                codes = golden[port.name].copy()
                for index, fmt in enumerate(port.formats):
                    if not isinstance(fmt, FixedFormat):
                        continue
                    chosen = np.minimum(inputs[port.select], len(port.formats) - 1) == index if port.select else True
                    zero = chosen & (codes & fmt.magnitude_mask == 0) & (codes <= fmt.sign_mask)
                    codes[zero] = change(codes[zero], fmt.sign_mask)
                golden[port.name] = codes
            return golden

        return changed

    wrong = "wrong sign of zero: it gives"
    yield Hypothesis(f"{wrong} +0 where -0 is expected", with_sign(lambda codes, sign: np.zeros_like(codes)))
    yield Hypothesis(f"{wrong} zero the other sign", with_sign(lambda codes, sign: codes ^ codes.dtype.type(sign)))
