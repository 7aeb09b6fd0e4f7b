"""Write a unit's encodings as a SystemVerilog package and as a C header."""

# Both files contain the values of each select port, the exception flags, the special codes of each format, and each
# port's bit offset in the packed operand and result words. The first port begins at bit 0, as in the AXI4-Stream
# wrapper.

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fp9.formats import Format
from fp9.formats.rounding import Flags
from fp9.system.files import write_whole
from fp9.units import HANDSHAKE, Port, Unit
from fp9_rtl.export.header import header
from fp9_rtl.export.port_types import identifier


def c_header(unit: Unit) -> str:
    prefix = identifier(unit.name)
    guard = f"FP9_{prefix}_H"
    lines = [*_comment(unit), "", f"#ifndef {guard}", f"#define {guard}"]
    for port in select_ports(unit):
        values = [f"  {prefix}_{identifier(port.name)}_{identifier(c)} = {v}," for v, c in enumerate(port.choices)]
        lines += ["", f"/* {port.doc} */", f"enum {unit.name}_{port.name} {{", *values, "};"]
    flags = [f"  {prefix}_FLAG_{flag.name} = {int(flag)}," for flag in Flags]
    lines += ["", "/* exception flags */", f"enum {unit.name}_flag {{", *flags, "};"]
    for word, ports in (("operands", unit.inputs), ("results", unit.outputs)):
        lines += ["", f"/* the packed {word}: lowest bit and width of each port */"]
        for port, lowest in offsets(ports):
            name = f"{prefix}_{identifier(port.name)}"
            lines += [f"#define {name}_LSB {lowest}", f"#define {name}_BITS {port.width}"]
    for fmt in port_formats(unit):
        lines += ["", f"/* {fmt.name}: codes of the largest and smallest numbers, infinity and NaN */"]
        lines += [f"#define {prefix}_{name} 0x{code:0{(fmt.bits + 3) // 4}X}u" for name, code in special_codes(fmt)]
    return "\n".join([*lines, "", "#endif", ""])


def sv_package(unit: Unit) -> str:
    """Return the package `NAME_pkg` and the interface `NAME_if` as one SystemVerilog text."""
    head = header(unit, f"--sv-package {unit.name}_pkg.sv")
    return "\n".join([*head, "", _types(unit), sv_interface(unit)])


def sv_types(unit: Unit) -> str:
    """Return the SystemVerilog package `NAME_pkg` without the interface `NAME_if`, which some tools cannot read."""
    return "\n".join([*header(unit, f"-o {unit.name}", "package"), "", _types(unit)])


def _types(unit: Unit) -> str:
    lines = [f"package {unit.name}_pkg;"]
    for port in select_ports(unit):
        names = [f"{identifier(port.name)}_{identifier(choice)}" for choice in port.choices]
        values = ",\n".join(f"    {name} = {port.width}'d{value}" for value, name in enumerate(names))
        lines += [f"  typedef enum logic [{port.width - 1}:0] {{ // {port.doc}", values, f"  }} {port.name}_t;", ""]
    for word, ports in (("operands", unit.inputs), ("results", unit.outputs)):
        fields = [f"    {_sv_type(port)} {port.name}; // {port.doc}" for port in reversed(ports)]
        lines += ["  typedef struct packed {", *fields, f"  }} {word}_t;", ""]
    lines.append("  /* verilator lint_off UNUSEDPARAM */ // no module uses all parameters")
    width = max(Flags).bit_length()
    lines += [f"  localparam logic [{width - 1}:0] FLAG_{flag.name} = {width}'d{int(flag)};" for flag in Flags]
    for fmt in port_formats(unit):
        lines.append("")
        for name, code in special_codes(fmt):
            lines.append(f"  localparam logic [{fmt.bits - 1}:0] {name} = {fmt.bits}'h{code:0{(fmt.bits + 3) // 4}x};")
    lines += ["  /* verilator lint_on UNUSEDPARAM */", f"endpackage : {unit.name}_pkg"]
    return "\n".join([*lines, ""])


def write_interfaces(unit: Unit, *, package: Path | None = None, c: Path | None = None) -> None:
    if package is not None:
        write_whole(package, sv_package(unit))
    if c is not None:
        write_whole(c, c_header(unit))


def sv_interface(unit: Unit) -> str:
    """Return the SystemVerilog interface `NAME_if`, which Icarus Verilog 11 cannot read."""
    clocks, inputs, outputs = handshakes(unit)
    ports = f"({', '.join(f'input logic {name}' for name in clocks)})" if clocks else ""
    handshake = [f"  logic {name};" for name in HANDSHAKE if name in (*inputs, *outputs)]
    driven, given = ["operands", *inputs], ["results", *outputs]
    clocked = [f"input {name}" for name in clocks]

    def modport(name: str, inputs: list[str], outputs: list[str]) -> str:
        members = [*clocked, *(f"input {n}" for n in inputs), *(f"output {n}" for n in outputs)]
        return f"  modport {name} ({', '.join(members)});"

    lines = [
        f"interface {unit.name}_if{ports};",
        f"  {unit.name}_pkg::operands_t operands;",
        f"  {unit.name}_pkg::results_t results;",
        *handshake,
        modport("unit", driven, given),
        modport("user", given, driven),
        f"endinterface : {unit.name}_if",
    ]
    return "\n".join([*lines, ""])


def _sv_type(port: Port) -> str:
    if port.choices:
        return f"{port.name}_t"
    sign = "logic signed" if port.signed else "logic"
    return f"{sign} [{port.width - 1}:0]" if port.width > 1 else sign


def _comment(unit: Unit) -> list[str]:
    lines = header(unit, f"--c-header {unit.name}.h")
    return ["/*", *(f" *{line.removeprefix('//')}" for line in lines), " */"]


def select_ports(unit: Unit) -> list[Port]:
    return [port for port in (*unit.inputs, *unit.outputs) if port.choices]


def handshakes(unit: Unit) -> tuple[list[str], list[str], list[str]]:
    """Return three lists of port names: clock, reset and enable; handshake inputs; handshake outputs."""
    inputs = [port.name for port in unit.control_inputs]
    return (
        [name for name in inputs if name not in HANDSHAKE],
        [name for name in inputs if name in HANDSHAKE],
        [port.name for port in unit.control_outputs],
    )


def offsets(ports: tuple[Port, ...]) -> Iterator[tuple[Port, int]]:
    """Yield each port with the index of its lowest bit in the packed word."""
    lowest = 0
    for port in ports:
        yield port, lowest
        lowest += port.width


def port_formats(unit: Unit) -> list[Format]:
    return list(dict.fromkeys(fmt for port in (*unit.inputs, *unit.outputs) for fmt in port.formats))


def special_codes(fmt: Format) -> list[tuple[str, int]]:
    codes = {"MAX": fmt.max_code, "SMALLEST": fmt.smallest_code, "INF": fmt.inf_code(False), "NAN": fmt.nan_code(False)}
    return [(f"{identifier(fmt.name)}_{name}", code) for name, code in codes.items() if code is not None]
