"""Write Verilog and C++ functions that decode codes, so that test benches print numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from fp9.formats import FixedFormat, Format, with_bias
from fp9.units import Port, Unit
from fp9_sim.templates import TABLED_BITS, Fields

_LINE = 4


def functions(unit: Unit) -> dict[Format, str]:
    """Return the name of the decoding function for each format that a test bench decodes."""
    ports = (*unit.inputs, *unit.outputs)
    formats = [*dict.fromkeys(fmt for port in ports for fmt in port.formats if _is_readable(fmt))]
    names = [f"value_{re.sub('[^a-z0-9]+', '_', fmt.name.lower()).strip('_')}" for fmt in formats]
    unique = (name if names.count(name) == 1 else f"{name}_{place}" for place, name in enumerate(names))
    return dict(zip(formats, unique, strict=True))


def _is_readable(fmt: Format) -> bool:
    return isinstance(fmt, FixedFormat) or fmt.bits <= TABLED_BITS


def _chosen(names: Iterable[str], select: str | None) -> str:
    *before, last = names
    return "".join(f"{select} == {value} ? {name} : " for value, name in enumerate(before)) + last


def _quoted(text: str) -> str:
    return f'"{text}"'


def _moved(unit: Unit, port: Port, fmt: Format, signed: Callable[[Port], str]) -> str:
    bias = next((p for p in unit.inputs if p.name == f"{port.name}_bias"), None)
    if bias is None or not fmt.programmable_bias:
        return "0"
    base = with_bias(fmt, 0)
    assert isinstance(fmt, FixedFormat) and isinstance(base, FixedFormat)
    return f"{signed(bias)} - {fmt.bias - base.bias}"


# --- Verilog --------------------------------------------------------------------------------------------------------

_VERILOG_NUMBER = """\
  // (-1)^negative * significand * 2^exponent, as the bits of a binary64.
  function automatic [63:0] number(
    input negative, input [31:0] significand, input integer exponent);  // verilator no_inline_task
    reg [52:0] scaled;
    integer biased;
    begin
      scaled = significand;
      biased = exponent + 1075;
      while (significand != 0 && !scaled[52]) begin
        scaled = scaled << 1;
        biased = biased - 1;
      end
      number = significand == 0 ? {negative, 63'd0} : {negative, biased[10:0], scaled[51:0]};
    end
  endfunction
"""

_INFINITY, _NAN = "63'h7ff0000000000000", "64'h7ff8000000000000"


def verilog_functions(unit: Unit) -> str:
    parts = [_VERILOG_NUMBER]
    for fmt, name in functions(unit).items():
        lines = _verilog_fields(name, fmt) if isinstance(fmt, FixedFormat) else _verilog_table(name, fmt)
        parts.append("\n".join([f"  // {fmt.name}", *lines, ""]))
    return "\n".join(parts)


def _verilog_declared(name: str, fmt: Format) -> str:
    # Verilator compiles such a function once, and not at each of its calls.
    return (
        f"  function automatic [63:0] {name}(input [{fmt.bits - 1}:0] code, input integer moved);"
        "  // verilator no_inline_task"
    )


def _verilog_fields(name: str, fmt: FixedFormat) -> Iterator[str]:
    fields = Fields.of(fmt)
    hidden = "field != 0" if fields.subnormals else "magnitude != 0"
    lowest = "field == 0 ? 1 : field" if fields.subnormals else "field"
    yield _verilog_declared(name, fmt)
    yield f"    reg negative;\n    reg [{fields.width - 1}:0] magnitude;\n    integer field;"
    yield "    begin"
    yield f"      {{negative, magnitude}} = code >> {fields.padding};"
    yield f"      field = magnitude >> {fields.fraction_bits};"
    yield f"      {name} = number("
    yield f"        negative, magnitude % {1 << fields.fraction_bits} + (({hidden}) << {fields.fraction_bits}),"
    yield f"        ({lowest}) - {fields.bias + fields.fraction_bits} - moved);"
    yield f"      if (magnitude > {fields.width}'d{fields.largest}) {name} = {_NAN};"
    if fields.infinity is not None:
        yield f"      if (magnitude == {fields.width}'d{fields.infinity}) {name} = {{negative, {_INFINITY}}};"
    if fields.nan_zero:
        yield f"      if (negative && magnitude == 0) {name} = {_NAN};"
    yield "    end\n  endfunction"


def _verilog_table(name: str, fmt: Format) -> Iterator[str]:
    numbers = [f"64'h{int(np.float64(value).view(np.uint64)):016x}" for value in reversed(fmt.table.tolist())]
    yield f"  localparam [{64 * len(numbers) - 1}:0] {name.upper()} = {{"
    yield ",\n".join(f"    {', '.join(numbers[i : i + _LINE])}" for i in range(0, len(numbers), _LINE))
    yield "  };"
    yield _verilog_declared(name, fmt)
    yield f"    {name} = {name.upper()}[64 * code +: 64];"
    yield "  endfunction"


def verilog_shown(unit: Unit, port: Port, value: str) -> tuple[str, str]:
    """Return a format string and arguments for `$display`, which then prints the value of a port."""

    def signed(bias: Port) -> str:
        return f"$signed(operand_{bias.name})"

    known = functions(unit)
    if port.formats and all(fmt in known for fmt in port.formats):
        codes = [f"{known[fmt]}({value}, {_moved(unit, port, fmt, signed)})" for fmt in port.formats]
        chosen = _chosen(codes, f"operand_{port.select}")
        return "%h (%.9g)", f"{value}, $bitstoreal({chosen})"
    if port.choices:
        return "%h (%0s)", f"{value}, {_chosen(map(_quoted, port.choices), value)}"
    return ("%h (%0d)", f"{value}, $signed({value})") if port.signed else ("%h", value)


# --- C++ ------------------------------------------------------------------------------------------------------------


def cpp_functions(unit: Unit) -> str:
    parts = []
    for fmt, name in functions(unit).items():
        lines = _cpp_fields(fmt) if isinstance(fmt, FixedFormat) else _cpp_table(fmt)
        head = f"// {fmt.name}\nstatic double {name}(uint64_t code, [[maybe_unused]] int moved) {{"
        parts.append("\n".join([head, *lines, "}\n"]))
    return "\n".join(parts)


def _cpp_fields(fmt: FixedFormat) -> Iterator[str]:
    fields = Fields.of(fmt)
    hidden = "field != 0" if fields.subnormals else "magnitude != 0"
    lowest = "field ? field : 1" if fields.subnormals else "field"
    yield f"  const double sign = code >> {fmt.bits - 1} & 1 ? -1 : 1;"
    yield f"  const int magnitude = code >> {fields.padding} & {(1 << fields.width) - 1};"
    yield f"  const int field = magnitude >> {fields.fraction_bits};"
    if fields.nan_zero:
        yield "  if (sign < 0 && magnitude == 0) return NAN;"
    if fields.infinity is not None:
        yield f"  if (magnitude == {fields.infinity}) return sign * INFINITY;"
    yield f"  if (magnitude > {fields.largest}) return NAN;"
    yield f"  const int significand = magnitude % {1 << fields.fraction_bits} + (({hidden}) << {fields.fraction_bits});"
    yield f"  return sign * std::ldexp(significand, ({lowest}) - {fields.bias + fields.fraction_bits} - moved);"


def _cpp_table(fmt: Format) -> Iterator[str]:
    numbers = [_literal(value) for value in fmt.table.tolist()]
    yield "  static const double table[] = {"
    yield ",\n".join(f"      {', '.join(numbers[i : i + _LINE])}" for i in range(0, len(numbers), _LINE))
    yield "  };\n  return table[code];"


def _literal(value: float) -> str:
    return "NAN" if math.isnan(value) else repr(value).replace("inf", "INFINITY")


def cpp_shown(unit: Unit, port: Port, value: str, operand: Callable[[str], str]) -> tuple[str, str]:
    """Return a format string and arguments for `printf`, which then prints the value of a port."""

    def signed(bias: Port) -> str:
        return f"signed_value({operand(bias.name)}, {bias.width})"

    digits, code = f"%0{(port.width + 3) // 4}llx", f"(unsigned long long){value}"
    known = functions(unit)
    if port.formats and all(fmt in known for fmt in port.formats):
        codes = [f"{known[fmt]}({value}, {_moved(unit, port, fmt, signed)})" for fmt in port.formats]
        return f"{digits} (%.9g)", f"{code}, {_chosen(codes, operand(port.select) if port.select else None)}"
    if port.choices:
        return f"{digits} (%s)", f"{code}, {_chosen(map(_quoted, port.choices), value)}"
    return (f"{digits} (%d)", f"{code}, signed_value({value}, {port.width})") if port.signed else (digits, code)
