"""Generator of a SystemVerilog DPI-C import of a unit's C model."""

from __future__ import annotations

from fp9.cmodel.headers import model_text
from fp9.cmodel.operands import c_type
from fp9.cmodel.text import filled
from fp9.units import Unit


def function(unit: Unit) -> str:
    return f"{unit.name}_model"


def source(unit: Unit) -> str:
    """Return the C and C++ source of the functions that the SystemVerilog package imports."""
    text = model_text(unit)
    if text.group > 1:
        raise ValueError(f"{unit.name}: lanes given; the import by DPI-C has no blocks of several operations")
    inputs = [f"unsigned long long {port.name}" for port in unit.inputs]
    outputs = [f"unsigned long long *{name}" for name in (*(port.name for port in unit.outputs), "meaning")]
    words = {
        "name": unit.name,
        "parameters": ",\n    ".join([*inputs, *outputs]),
        "loads": "\n".join(f"    in.{port.name} = ({c_type(port.width)}){port.name};" for port in unit.inputs),
        "stores": "\n".join(f"    *{port.name} = out.{port.name};" for port in unit.outputs),
        "meaning": text.meaning or f"0x{(1 << len(unit.outputs)) - 1:X}",
        "state": filled(_STATE, {"name": unit.name}) if text.state else "",
        "ready": f"    if (!started) {unit.name}_dpi_reset();\n" if text.state else "",
        "call": f"{unit.name}_model({'&state, ' if text.state else ''}&in, &out);",
    }
    return filled(_SOURCE, words)


_STATE = """\
static @{name}_state state;
static int started;

EXPORTED void @{name}_dpi_reset(void)
{
    started = 1;
    @{name}_reset(&state);
}

"""

_SOURCE = """\
/* The golden model of @{name} behind DPI-C. Bit i of `meaning` is 1 where output i carries meaning. */
#include "fp9_@{name}.h"

#ifdef __cplusplus
#define EXPORTED extern "C"
#else
#define EXPORTED
#endif

@{state}\
EXPORTED void @{name}_dpi_model(
    @{parameters})
{
    @{name}_in in;
    @{name}_out out;
@{ready}@{loads}
    @{call}
@{stores}
    *meaning = @{meaning};
}
"""


def imports(unit: Unit) -> str:
    ports = [f"    input longint unsigned {port.name}" for port in unit.inputs]
    ports += [f"    output longint unsigned {port.name}" for port in unit.outputs]
    ports += ["    output longint unsigned meaning"]
    name = unit.name
    reset = [f'  import "DPI-C" {name}_dpi_reset = function void {function(unit)}_reset();'] if unit.has_state else []
    return "\n".join(
        [
            f"// The golden model of {name}: bit i of meaning is 1 where output i carries meaning.",
            f"package {name}_dpi;",
            f'  import "DPI-C" {name}_dpi_model = function void {function(unit)}(',
            ",\n".join(ports),
            "  );",
            *reset,
            "endpackage",
            "",
        ]
    )
