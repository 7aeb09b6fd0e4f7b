"""A mapping to fill in, from the ports of a module: `fp9 check-rtl --init`."""

from __future__ import annotations

import re
from pathlib import Path

from fp9_sim.foreign.ports import TheirPort, elaborate
from fp9_sim.foreign.sources import read, text_of

_MODULE = re.compile(r"^[ \t]*(?:module|entity)[ \t]+(?:automatic[ \t]+)?([A-Za-z_]\w*)", re.MULTILINE | re.IGNORECASE)
_CLOCK = re.compile(r"(?:.*_)?(?:clk|clock|ck)(?:_i|_in|_\w)?", re.IGNORECASE)
_RESET = re.compile(r"(?:.*_)?(?:a?rst|a?reset)_?(?:n|ni|b|i|in|l)?", re.IGNORECASE)
_LOW = re.compile(r".*(?:rst|reset)_?(?:n|ni|b|l)", re.IGNORECASE)


def draft(file: Path | str, top: str | None = None) -> str:
    """The text of a mapping for a module of a Verilog or VHDL file, the last one unless `top` names it.

    Every port is there: the clock and reset found by their names, other inputs as comments to be moved to [ports] or
    [constants]. Raises ValueError for a file without a module, SimulatorError where Verilator refuses it.
    """
    path = Path(file)
    modules = _MODULE.findall(read(path))
    if not modules:
        raise ValueError(f"{path} has no module; give the file of the unit's top module")
    name = top or modules[-1]
    ports = elaborate(name, text_of(path, name, [path.name], [], {}), "", str(path))
    clocks = [port for port in ports.values() if _CLOCK.fullmatch(port.name) and port.direction == "INPUT"]
    resets = [port for port in ports.values() if _RESET.fullmatch(port.name) and port.direction == "INPUT"]
    said = {port.name for port in (*clocks[:1], *resets[:1])}
    others = [port for port in ports.values() if port.name not in said]
    lines = [
        f'files = ["{path.name}"]',
        f'top = "{name}"',
        'unit = "fma_fp32_ocp"  # a name of `fp9 units`, or a table [unit] with the fields of a unit file',
        '# nan = "any"  # where any NaN is as good as the expected one',
        '# without = ["flags"]  # outputs of the spec that it does not have',
        "",
        "[ports]  # spec = its port or a part of it; `fp9 units --json` lists the ports of the spec",
        *(f'# ? = "{port.name}"  # {_words(port)}' for port in others),
        "",
        "[constants]  # inputs that are tied to a value",
        *(f"# {port.name} = 0" for port in others if port.direction == "INPUT"),
    ]
    if clocks:
        lines += ["", "[clock]  # latency is found out, or given: latency = 3 above", f'port = "{clocks[0].name}"']
    if resets:
        active = "low" if _LOW.fullmatch(resets[0].name) else "high"
        lines += ["", "[reset]", f'port = "{resets[0].name}"', f'active = "{active}"']
    return "\n".join(lines) + "\n"


def _words(port: TheirPort) -> str:
    dimensions = "".join(f"[{left}:{right}]" for left, right in port.dimensions)
    array = f", an array {dimensions}" if dimensions else ""
    return f"{port.direction.lower()}, {port.type.width} bit{'s' * (port.type.width != 1)}{array}"
