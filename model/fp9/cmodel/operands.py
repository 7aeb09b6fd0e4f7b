"""Generator of C code that decodes operands, whose formats are chosen by select ports."""

from __future__ import annotations

from collections.abc import Sequence

from fp9.cmodel.text import filled, identifier
from fp9.formats import Format, with_bias
from fp9.units import BIAS_BITS, Port


def struct_of(name: str, ports: Sequence[Port]) -> str:
    lines = [f"    {c_type(port.width)} {port.name}; /* [{port.width}] {port.doc} */" for port in ports]
    return "\n".join(["typedef struct {", *lines, f"}} {name};", ""])


def c_type(width: int) -> str:
    return next(f"uint{bits}_t" for bits in (8, 16, 32, 64) if width <= bits)


def signed(port: str, width: int) -> str:
    half = 1 << (width - 1)
    return f"((int)({port} ^ {half}) - {half})"


def reader(name: str, formats: Sequence[Format], bias_port: bool, bypass: bool = False) -> str:
    """Return a C function that decodes a code in the format with the index `format` in `formats`."""
    cases = []
    for number, fmt in enumerate(formats):
        test = "" if number == len(formats) - 1 else f"if (format == {number}) "
        cases.append(f"    {test}return {_decoded(fmt, bias_port, bypass)};")
    unused = "".join(f"    (void){word};\n" for word in _unused(formats, bias_port))
    return filled(_READER, {"name": name, "unused": unused, "cases": "\n".join(cases)})


def _unused(formats: Sequence[Format], bias_port: bool) -> list[str]:
    moves = bias_port and any(fmt.programmable_bias for fmt in formats)
    return ["format"] * (len(formats) == 1) + ["bias"] * (not moves)


def _decoded(fmt: Format, bias_port: bool, bypass: bool) -> str:
    name = identifier(fmt)
    moved = bias_port and fmt.programmable_bias
    text = f"fp9_moved(fp9_{name}(), code, {_extra_bias(fmt)} - bias)" if moved else f"fp9_{name}_decode(code)"
    # A single code for infinity and NaN decodes to a NaN with significand 1, which `fp9_bypassed_product` recognises.
    return f"fp9_merged({text})" if bypass and fmt.nan_is_inf else text


def _extra_bias(fmt: Format) -> int:
    base = with_bias(fmt, 0)
    return base.min_normal_exponent - fmt.min_normal_exponent


def select(operand: str, ports: Sequence[Port]) -> str:
    names = {port.name for port in ports}
    chosen = f"in->{operand}_format" if f"{operand}_format" in names else "0"
    bias = signed(f"in->{operand}_bias", BIAS_BITS) if f"{operand}_bias" in names else "0"
    return f"{chosen}, {bias}"


def extra_parts(formats: Sequence[Format], bias_port: bool, bypass: bool) -> list[str]:
    return ["moved"] * (bias_port and any(fmt.programmable_bias for fmt in formats)) + ["bypass"] * bypass


_READER = """\
FP9_FN fp9_number @{name}(uint32_t code, int format, int bias)
{
@{unused}@{cases}
}

"""
