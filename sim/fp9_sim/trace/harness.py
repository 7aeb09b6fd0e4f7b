"""Run one operation on Icarus and read every signal of the circuit.

The inputs hold the operands of the traced operation until the result comes. Because the inputs do not change, earlier
pipeline stages still show the operation's values when the operation reaches the last stage.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fp9.units import Unit
from fp9_sim.simulators.find import SimulatorError, icarus

PATIENCE = 500


@dataclass(frozen=True)
class Signals:
    """Values of a circuit's signals as bit strings."""

    # The keys are paths of internal signals, such as `u_add.sum`.
    inside: Mapping[str, str]
    outputs: Mapping[str, str]


def signals(unit: Unit, verilog: str, operations: Sequence[Mapping[str, int]], waves: Path | None = None) -> Signals:
    """Run the operations on Icarus and return the signals of the last operation."""
    with tempfile.TemporaryDirectory(prefix="fp9-trace-") as name:
        folder = Path(name)
        (folder / "unit.v").write_text(verilog)
        (folder / "bench.v").write_text(_bench(unit, operations))
        programs = icarus().folder
        _run(unit, folder, str(programs / "iverilog"), "-g2012", "-o", "run", "-s", "fp9_trace", "bench.v", "unit.v")
        said = _run(unit, folder, str(programs / "vvp"), "-n", "run")
        found = dict(re.findall(r"^OUT (\w+) (\w+)$", said, re.MULTILINE))
        if not found:
            raise SimulatorError(f"{unit.name} gives no result for this operation within {PATIENCE} clocks")
        if waves is not None:
            waves.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / "trace.vcd", waves)
        return Signals(_dumped((folder / "trace.vcd").read_text()), found)


def _run(unit: Unit, folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        first = (done.stderr or done.stdout).strip().splitlines()
        raise SimulatorError(f"icarus refuses {unit.name}: {first[0] if first else 'no message'}")
    return done.stdout


def _bench(unit: Unit, operations: Sequence[Mapping[str, int]]) -> str:
    ports = (*unit.control_ports, *unit.inputs, *unit.outputs)
    outputs = {port.name for port in (*unit.outputs, *unit.control_outputs)}
    declared = [f"  {'wire' if port.name in outputs else 'reg'} [{port.width - 1}:0] {port.name};" for port in ports]
    shown = [f'    $display("OUT {port.name} %b", {port.name});' for port in unit.outputs]
    steps = [line for operation in operations[:-1] for line in _driven(unit, operation)]
    last = [f"    {name} = {unit_width(unit, name)}'d{value};" for name, value in operations[-1].items()]
    dump = ["    $dumpall;"]
    shown = [f"    if (waited < {PATIENCE}) begin", *shown, "    end"]
    clocked = [*steps, *_offered(last), *_last(unit, dump)] if unit.stages else [*last, "    #1;", *dump, "    #1;"]
    start = _reset(unit) if unit.stages else []
    pins = ", ".join(f".{port.name}({port.name})" for port in ports)
    ready = [] if "in_ready" in outputs or not unit.stages else ["  wire in_ready = 1'b1;"]
    return "\n".join(
        [
            "module fp9_trace;",
            *declared,
            *ready,
            "  integer waited = 0;",
            f"  {unit.name} unit({pins});",
            "  initial begin",
            '    $dumpfile("trace.vcd");',
            "    $dumpvars(0, unit);",
            *start,
            *clocked,
            *shown,
            "    $finish;",
            "  end",
            "endmodule",
            "",
        ]
    )


def unit_width(unit: Unit, name: str) -> int:
    return next(port.width for port in unit.inputs if port.name == name)


_CLOCK = "    #1 clk = 1; #1 clk = 0; #1;"


def _reset(unit: Unit) -> list[str]:
    names = {port.name for port in unit.control_inputs}
    held = [f"    {name} = 1;" for name in ("enable", "out_ready") if name in names]
    zero = [f"    {name} = 0;" for name in (*(port.name for port in unit.inputs), *(["flush"] if unit.flush else []))]
    return [
        "    clk = 0; in_valid = 0;",
        *held,
        *zero,
        f"    {unit.reset.port} = {unit.reset.active};",
        _CLOCK,
        _CLOCK,
        f"    {unit.reset.port} = {1 - unit.reset.active};",
    ]


def _driven(unit: Unit, operation: Mapping[str, int]) -> list[str]:
    taken = [f"    {name} = {unit_width(unit, name)}'d{value};" for name, value in operation.items()]
    return [*_offered(taken), _CLOCK]


def _offered(operands: list[str]) -> list[str]:
    wait = f"    while (in_ready !== 1'b1 && waited < {PATIENCE}) begin waited = waited + 1; {_CLOCK.strip()} end"
    return ["    in_valid = 1;", *operands, "    #1;", wait]


def _last(unit: Unit, dump: list[str]) -> list[str]:
    moves = [_CLOCK, "    in_valid = 0; #1;"] if unit.latency > 1 else []
    rest = [_CLOCK] * (unit.latency - 2)
    end = [_CLOCK, "    in_valid = 0; #1;"] if unit.latency == 1 else [_CLOCK]
    wait = f"    while (out_valid !== 1'b1 && waited < {PATIENCE}) begin waited = waited + 1; {_CLOCK.strip()} end"
    return [*moves, *rest, *dump, *end, wait]


_VAR = re.compile(r"\$var \w+ (\d+) (\S+) (\S+)")


def _dumped(vcd: str) -> dict[str, str]:
    """Return the bit string of every variable in a VCD dump; keys are variable paths inside the unit (`u_add.sum`)."""
    head, _, values = vcd.partition("$dumpall")
    scopes: list[str] = []
    names: dict[str, list[tuple[str, int]]] = {}
    for line in head.splitlines():
        if line.startswith("$scope"):
            scopes.append(line.split()[2])
        elif line.startswith("$upscope"):
            scopes.pop()
        elif found := _VAR.match(line.strip()):
            names.setdefault(found[2], []).append((".".join([*scopes[2:], found[3]]), int(found[1])))
    read: dict[str, str] = {}
    for line in values.partition("$end")[0].splitlines():
        bits, _, code = line[1:].rpartition(" ") if line.startswith("b") else (line[:1], "", line[1:])
        for path, width in names.get(code, ()):
            fill = bits[:1] if bits[:1] in "xz" else "0"
            read[path] = bits.rjust(width, fill)
    return read
