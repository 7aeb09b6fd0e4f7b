"""Formats, units and casts as dictionaries for JSON output of the command line."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterable, Sequence
from enum import EnumType
from typing import TYPE_CHECKING, Any

import numpy as np

import fp9
from fp9.casts.arrays import as_codes, decode_native
from fp9.formats import (
    FixedFormat,
    Format,
    HiFloat8,
    PowerOfTwo,
    UnsignedFloat,
    format,
)
from fp9.formats.rounding import Overflow, Rounding, choice
from fp9.units import Port, Unit
from fp9.units.toml import as_table, ordered_fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

Record = dict[str, Any]


def format_record(name: Format | str) -> Record:
    fmt = format(name)
    fixed = isinstance(fmt, FixedFormat)
    return {
        "name": fmt.name,
        "bits": fmt.bits,
        "layout": _layout(fmt),
        "bias": getattr(fmt, "bias", None),
        "subnormals": fmt.subnormals if isinstance(fmt, FixedFormat | UnsignedFloat) else isinstance(fmt, HiFloat8),
        "specials": fmt.specials.value if fixed and isinstance(fmt, FixedFormat) else _other_specials(fmt),
        "smallest": fmt.smallest,
        "smallest_normal": fmt.smallest_normal,
        "max": fmt.max,
        "infinity": fmt.has_inf,
        "nan": fmt.nan_code(False) is not None,
        "rounding": fmt.default_rounding.value,
        "source": fmt.source,
    }


def _layout(fmt: Format) -> str:
    if isinstance(fmt, FixedFormat):
        return f"1.{fmt.exponent_bits}.{fmt.fraction_bits}"
    if isinstance(fmt, UnsignedFloat):
        return f"0.{fmt.exponent_bits}.{fmt.fraction_bits}"
    if isinstance(fmt, PowerOfTwo):
        return f"0.{fmt.bits}.0"
    return "tapered" if isinstance(fmt, HiFloat8) else "1.0.7"


def _other_specials(fmt: Format) -> str:
    nan, inf = fmt.nan_code(False), fmt.inf_code(False)
    named = [f"{word} at 0x{code:02X}" for word, code in (("NaN", nan), ("infinity", inf)) if code is not None]
    return ", ".join(named) or "none"


def code_records(name: Format | str) -> list[Record]:
    # Numbers are texts, because JSON has no NaN.
    return [{"code": code, "value": _number(value)} for code, value in enumerate(format(name).table.tolist())]


def unit_record(unit: Unit) -> Record:
    ports = [_port_record(p, "in") for p in unit.inputs] + [_port_record(p, "out") for p in unit.outputs]
    return {
        "name": unit.name,
        "kind": unit.kind,
        "stages": unit.stages,
        "input_bits": sum(p.width for p in unit.inputs),
        "output_bits": sum(p.width for p in unit.outputs),
        "summary": _operands(unit),
        "spec": unit.describe(),
        "ports": ports,
        "control_ports": [_port_record(p, "out" if p in unit.control_outputs else "in") for p in unit.control_ports],
    }


def other_fields(unit: Unit) -> list[Record]:
    hints, said = typing.get_type_hints(type(unit)), as_table(unit)
    found = []
    for field in ordered_fields(type(unit)):
        if field.name in said:
            continue
        hint = hints[field.name]
        words = [True, False] if hint is bool else [*hint] if isinstance(hint, EnumType) else []
        found.append(
            {
                "name": field.name,
                "default": _word(field.default),
                "accepted": [_word(word) for word in words],
                "adds": sorted({name for word in words for name in _added(unit, field.name, word)}),
            }
        )
    return found


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_word(one) for one in value) or "none"
    value = getattr(value, "value", getattr(value, "name", value))
    return "none" if value in (None, "") else str(value).lower() if isinstance(value, bool) else str(value)


def _added(unit: Unit, name: str, value: object) -> set[str]:
    def ports(of: Unit) -> set[str]:
        return {port.name for port in (*of.control_ports, *of.inputs, *of.outputs)}

    try:
        clocked = dataclasses.replace(unit, stages=max(unit.stages, 1))  # type: ignore[call-arg]
        return ports(dataclasses.replace(clocked, **{name: value})) - ports(clocked)  # type: ignore[arg-type]
    except ValueError:
        return set()


def _operands(unit: Unit) -> str:
    operands = [f"{p.name}: {' '.join(f.name for f in p.formats)}" for p in (*unit.inputs, *unit.outputs) if p.formats]
    return "; ".join(operands)


def _port_record(port: Port, direction: str) -> Record:
    return {
        "direction": direction,
        "name": port.name,
        "width": port.width,
        "doc": port.doc,
        "choices": list(port.choices),
        "signed": port.signed,
    }


# --- casts -----------------------------------------------------------------------------------------------------------


def cast_records(
    values: Iterable[str],
    target: str,
    source: str | None = None,
    *,
    rounding: str | None = None,
    overflow: str = "saturate",
    nan_to_zero: bool = False,
    random_bits: Sequence[int] = (),
    random_width: int = 16,
) -> Record:
    """Cast numbers, given as strings, to the format `target`.

    Return a dictionary with the code, the number and the rounding error of each cast.

    If `source` is given, a string that starts with 0x is a code of the source format. A number in any other notation,
    such as 0.3, is first rounded to the source format. For HiFloat8's hybrid rounding, the default source format is
    fp32. Raises ValueError for a string that is not a number, and for a wrong count of random integers.
    """
    to = format(target)
    if source is None and rounding == "hybrid":
        source = "fp32"
    held = None if source is None else format(source)
    numbers = _numbers(list(values), held)
    random = _random_bits(rounding, random_bits, len(numbers), random_width)
    codes = fp9.encode(numbers, to, rounding, overflow, nan_to_zero, random_bits=random, random_width=random_width)
    casts = [
        _cast_record(text, float(number), int(code), to)
        for text, number, code in zip(values, numbers, codes, strict=True)
    ]
    return {
        "from": held.name if held else "float64",
        "to": to.name,
        "rounding": rounding or to.default_rounding.value,
        "overflow": choice(Overflow, overflow, "overflow policy").value,
        "casts": casts,
    }


def _random_bits(rounding: str | None, given: Sequence[int], values: int, width: int) -> list[int] | None:
    needed = rounding is not None and choice(Rounding, rounding, "rounding").needs_bits
    if needed and len(given) != values:
        raise ValueError(
            f"{len(given)} random integers given for {values} values; rounding {rounding} needs --random-bits N, once "
            f"for each value, with N below 2**{width}"
        )
    if given and not needed:
        raise ValueError("--random-bits given for a rounding that takes none; give --rounding sr too")
    return list(given) or None


def _numbers(texts: list[str], held: Format | None) -> NDArray[Any]:
    if held is None:
        return np.array([_parse_number(text) for text in texts], dtype=np.float64)
    codes = [_held_code(text, held) for text in texts]
    return decode_native(as_codes(np.array(codes, dtype=np.int64), held), held)


def _held_code(text: str, held: Format) -> int:
    if text.lower().startswith("0x"):
        return _parse_code(text, held)
    overflow = Overflow.INF if held.has_inf else Overflow.SATURATE
    return int(fp9.encode(_parse_number(text), held, overflow=overflow))


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        hint = "; name the format that the code is of" if text.lower().startswith("0x") else ""
        raise ValueError(f"value {text!r} is not a number; give a decimal, inf or nan{hint}") from None


def _parse_code(text: str, held: Format) -> int:
    try:
        code = int(text, 16)
    except ValueError:
        raise ValueError(f"value {text!r} is not a code; write it in hex, as in 0x41") from None
    if code >= 1 << held.bits:
        raise ValueError(f"code {text} given; {held.name} has {held.bits} bits, at most 0x{(1 << held.bits) - 1:X}")
    return code


def _cast_record(text: str, number: float, code: int, fmt: Format) -> Record:
    value = fmt.to_float(code)
    return {
        "given": text,
        "source": _number(number),
        "code": f"0x{code:0{(fmt.bits + 3) // 4}X}",
        "bits": f"{code:0{fmt.bits}b}",
        "value": _number(value),
        "error": _number(value - number) if math.isfinite(value) and math.isfinite(number) else "",
    }


def _number(value: float) -> str:
    text = repr(value)
    return text.removesuffix(".0")
