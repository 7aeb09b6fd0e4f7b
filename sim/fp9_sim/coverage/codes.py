"""Coverage models of decoders and upcasts: code classes, signs, exponent biases and outputs."""

# All codes of a format together determine the possible bins of the format.

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import cast

from fp9.formats import HFP8_BIASES, Format, Kind, floor_log2, pow2, with_bias
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow
from fp9.golden.selects import signed
from fp9.oracle import casts as oracle
from fp9.units import BIAS_BITS, Columns, Decoder, Upcast, significand_bits
from fp9_sim.coverage.model import CLASSES, FLAGS, SIGNS, Bin, Cross, Facts, Group, Model, class_of, flags_of

_BIASES = ("lowest", "negative", "none", "positive", "highest")
_KINDS = {Kind.ZERO: "zero", Kind.FINITE: "number", Kind.INF: "infinity", Kind.NAN: "nan"}


def decoder_model(unit: Decoder) -> Model:
    width = significand_bits(unit.formats)
    groups = []
    for fmt in unit.formats:
        every = [_code_facts(f, bias, code) | _fields(f, code, width) for f, bias, code in _codes(unit, fmt)]
        groups.append(
            _group(unit, fmt, every, ("kind", "decoded_sign", "exponent", "significand"), ("kind", "decoded_sign"))
        )
    return Model(tuple(groups), lambda inputs, outputs: _decoder_facts(unit, inputs, outputs))


def upcast_model(unit: Upcast) -> Model:
    groups = []
    for fmt in unit.formats:
        every = [_code_facts(f, bias, code) | _upcast(unit, f, code) for f, bias, code in _codes(unit, fmt)]
        groups.append(_group(unit, fmt, every, ("result", "flags"), ("result", "flags")))
    return Model(tuple(groups), lambda inputs, outputs: _upcast_facts(unit, inputs, outputs))


def _has_bias(unit: Decoder | Upcast, fmt: Format) -> bool:
    return unit.bias_port and fmt.programmable_bias


def _codes(unit: Decoder | Upcast, fmt: Format) -> Iterator[tuple[Format, int | None, int]]:
    for bias in HFP8_BIASES if _has_bias(unit, fmt) else (None,):
        variant = fmt if bias is None else with_bias(fmt, bias)
        yield from ((variant, bias, code) for code in range(1 << fmt.bits))


def _group(
    unit: Decoder | Upcast, fmt: Format, every: list[dict[str, Bin]], outputs: tuple[str, ...], outcome: tuple[str, str]
) -> Group:
    inputs = ("source", "sign", "bias") if _has_bias(unit, fmt) else ("source", "sign")
    points = {point: _in_order({facts[point] for facts in every if point in facts}) for point in (*inputs, *outputs)}

    def cross(name: str, *points: str) -> Cross:
        occurring = {tuple(facts.get(point) for point in points) for facts in every}

        def impossible(*bins: Bin) -> str | None:
            return None if bins in occurring else "no code of the format"

        return Cross(name, points, impossible)

    return Group(fmt.name, points, (cross("codes", *inputs), cross("outcome", *outcome)))


def _in_order(bins: Iterable[Bin]) -> tuple[Bin, ...]:
    names = (*CLASSES, *_KINDS.values(), *FLAGS, *SIGNS, *_BIASES)

    def place(name: Bin) -> int:
        return names.index(name) if isinstance(name, str) else cast(int, name)

    return tuple(sorted(bins, key=place))


def _code_facts(fmt: Format, bias: int | None, code: int) -> dict[str, Bin]:
    facts: dict[str, Bin] = {"source": class_of(code, fmt), "sign": SIGNS[fmt.is_negative(code)]}
    if bias is not None:
        ends = {HFP8_BIASES[0]: "lowest", HFP8_BIASES[-1]: "highest", 0: "none"}
        facts["bias"] = ends.get(bias, "negative" if bias < 0 else "positive")
    return facts


def _fields(fmt: Format, code: int, width: int) -> dict[str, Bin]:
    kind = fmt.kind_of(code)
    facts: dict[str, Bin] = {"kind": _KINDS[kind]}
    if kind is not Kind.NAN:
        facts["decoded_sign"] = SIGNS[fmt.is_negative(code)]
    if kind is Kind.FINITE:
        magnitude = abs(fmt.value_of(code))
        facts["exponent"] = floor_log2(magnitude)
        facts["significand"] = int(magnitude / pow2(floor_log2(magnitude) - (width - 1)))
    return facts


def _upcast(unit: Upcast, fmt: Format, code: int) -> dict[str, Bin]:
    result, flags = oracle.encode(oracle.decode(code, fmt), unit.result, CastPolicy(overflow=Overflow.INF))
    return {"result": class_of(result, unit.result), "flags": flags_of(flags)}


def _read_codes(unit: Decoder | Upcast, inputs: Columns) -> Iterator[tuple[str, dict[str, Bin]]]:
    codes = inputs["code"].tolist()
    formats = inputs["code_format"].tolist() if len(unit.formats) > 1 else [0] * len(codes)
    biases = signed(inputs["code_bias"], BIAS_BITS).tolist() if "code_bias" in inputs else [0] * len(codes)

    @functools.cache
    def facts(index: int, bias: int, code: int) -> tuple[str, dict[str, Bin]]:
        fmt = unit.formats[min(index, len(unit.formats) - 1)]
        if not _has_bias(unit, fmt):
            return fmt.name, _code_facts(fmt, None, code)
        return fmt.name, _code_facts(with_bias(fmt, bias), bias, code)

    return (facts(*operation) for operation in zip(formats, biases, codes, strict=True))


def _decoder_facts(unit: Decoder, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    exponents = signed(outputs["exponent"], unit.exponent_bits).tolist()
    kinds = (outputs[name].tolist() for name in ("zero", "inf", "nan"))
    fields = zip(outputs["sign"].tolist(), exponents, outputs["significand"].tolist(), *kinds, strict=True)
    for (group, code), (sign, exponent, significand, zero, inf, nan) in zip(
        _read_codes(unit, inputs), fields, strict=True
    ):
        facts: dict[str, Bin] = {"kind": "nan" if nan else "infinity" if inf else "zero" if zero else "number"}
        if not nan:
            facts["decoded_sign"] = SIGNS[sign]
        if facts["kind"] == "number":
            facts |= {"exponent": exponent, "significand": significand}
        yield group, code | facts


def _upcast_facts(unit: Upcast, inputs: Columns, outputs: Columns) -> Iterator[Facts]:
    results = zip(outputs["result"].tolist(), outputs["flags"].tolist(), strict=True)
    name = functools.cache(lambda code: class_of(code, unit.result))
    for (group, code), (result, flags) in zip(_read_codes(unit, inputs), results, strict=True):
        yield group, code | {"result": name(result), "flags": flags_of(flags)}
