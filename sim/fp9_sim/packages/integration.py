"""Write the integration guide of a unit: ports, timing, reset, instantiation, lint and synthesis."""

from __future__ import annotations

from fp9.units import Handshake, Unit
from fp9_rtl.datasheets.timing import Wave, handshakes
from fp9_sim.packages.texts import ports_table

_CYCLE = 6

_COMMANDS = """\
```sh
make lint      # lint every file with Verilator and Icarus
make yosys     # read every file with Yosys
make netlist   # synthesize to generic gates
make netlist LIBERTY=cells.lib   # synthesize to a cell library
```"""


def integration_guide(unit: Unit) -> str:
    parts = [
        f"# Integration of {unit.name}",
        "## Ports",
        ports_table(unit),
        "## Timing",
        *_timing(unit),
        "## Reset",
        *_reset(unit),
        "## Instantiate the unit",
        f"```verilog\n{template(unit)}\n```",
        "## Check and synthesize",
        _COMMANDS,
        f"`constraints/{unit.name}.sdc` constrains clock and ports. Set `period` in ns before reading the file.",
    ]
    return "\n\n".join(parts) + "\n"


def template(unit: Unit) -> str:
    """Return a Verilog instantiation of the unit that connects every port to a signal of the same name."""
    names = [port.name for port in (*unit.control_ports, *unit.inputs, *unit.outputs)]
    width = max(map(len, names))
    connected = ",\n".join(f"  .{name:<{width}} ({name})" for name in names)
    return f"{unit.name} u_{unit.name} (\n{connected}\n);"


def timing_diagram(unit: Unit) -> str:
    # In the timing diagram, `-` is 1, `_` is 0, and `x` is a don't-care value.
    run = handshakes(unit.stages, unit.handshake is Handshake.READY)
    shown = {port.name for port in unit.control_ports} | {"inputs", "outputs"}
    waves = {name: wave for name, wave in run.items() if name in shown}
    width = max(map(len, waves))
    half = _CYCLE // 2 - 1
    clock = f"/{'-' * half}\\{'_' * half}" * len(run["inputs"])
    return "\n".join(
        [f"{'clk':<{width}}  {clock}", *(f"{name:<{width}}  {_drawn(wave)}" for name, wave in waves.items())]
    )


def _drawn(wave: Wave) -> str:
    text, before = "", None
    for value in wave:
        if isinstance(value, str):
            text += f"<{value}" if value != before else " "
            text = text.ljust(_CYCLE * (len(text) // _CYCLE + 1))
        else:
            text += {None: "x", 0: "_", 1: "-"}[value] * _CYCLE
        before = value
    return text


def _timing(unit: Unit) -> list[str]:
    if not unit.stages:
        return ["The unit is combinational. The outputs follow the inputs. The unit has no clock and no state."]
    waits = unit.handshake is Handshake.READY
    accepted = "`in_valid` and `in_ready` are 1" if waits else "`in_valid` is 1"
    lines = [
        f"The unit accepts an operation at the rising edge of `clk` while {accepted}. "
        f"Without stalls, the result is at the outputs {unit.latency} clock cycles later. "
        "The unit accepts one operation per clock cycle."
        f"{' ' if unit.slow_operations else ''}{unit.slow_operations}",
        "While `out_valid` is 1 and `out_ready` is 0, the unit holds the result. The port `in_ready` then becomes 0 as "
        "soon as every stage holds an operation."
        if waits
        else "The unit has no back-pressure. A result is at the outputs for one clock cycle.",
    ]
    if unit.enable:
        lines.append("While `enable` is 0, all registers keep their values.")
    if unit.group > 1:
        return [*lines, f"A result needs {unit.group} operations and follows the last of these operations."]
    return [*lines, f"```text\n{timing_diagram(unit)}\n```"]


def _reset(unit: Unit) -> list[str]:
    if not unit.stages:
        return ["The unit has no reset."]
    reset = unit.reset
    edge = "acts without a clock edge" if reset.is_async else "acts at the rising edge of `clk`"
    lines = [
        f"The port `{reset.port}` is active {'high' if reset.active else 'low'} and {edge}. "
        "A reset of one clock cycle is enough. The reset discards all operations in the unit, and `out_valid` is 0 "
        "after the reset."
    ]
    if reset.is_async:
        lines.append("Release the reset with recovery time before a clock edge.")
    if unit.state_output is not None:
        lines.append(f"The reset also clears the state that the port `{unit.state_output}` shows.")
    if unit.flush:
        lines.append("The port `flush` discards all operations in the unit at a rising clock edge.")
    return lines
