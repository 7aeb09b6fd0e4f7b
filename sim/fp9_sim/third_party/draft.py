"""Write a draft of a mapping from the ports of a module, for `fp9 check-rtl --init`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from fp9_sim.third_party.ports import TheirPort, elaborate, tops
from fp9_sim.third_party.sources import read, text_of

_MODULE = re.compile(r"^[ \t]*(?:module|entity)[ \t]+(?:automatic[ \t]+)?([A-Za-z_]\w*)", re.MULTILINE | re.IGNORECASE)
_CLOCK = re.compile(r"(?:.*_)?(?:clk|clock|ck)(?:_i|_in|_\w)?", re.IGNORECASE)
_RESET = re.compile(r"(?:.*_)?(?:a?rst|a?reset)_?(?:n|ni|b|i|in|l)?", re.IGNORECASE)
_LOW = re.compile(r".*(?:rst|reset)_?(?:n|ni|b|l)", re.IGNORECASE)


def draft(files: Sequence[Path | str], top: str | None = None) -> str:
    """Return a draft of a mapping for a module in Verilog or VHDL files. The user completes it.

    The module is `top`, or else the module that no other module uses. In VHDL it is the last entity. The mapping
    has every port. Clock and reset are found by their names. Other inputs are comments, to be moved to [ports] or
    [constants]. File paths are absolute, because a mapping may be saved anywhere. Raises ValueError if there is no
    module or several candidates, and SimulatorError if Verilator rejects the files.
    """
    paths = [Path(file).resolve() for file in files]
    where = ", ".join(path.name for path in paths)
    declared = [name for path in paths for name in _MODULE.findall(read(path))]
    if not declared:
        raise ValueError(f"{where} has no module; give the files of the unit")
    whole = text_of(paths[0], top or declared[-1], [str(path) for path in paths], [], {})
    name = top or _top(whole, where)
    ports = elaborate(name, whole, "", where)
    clocks = [port for port in ports.values() if _CLOCK.fullmatch(port.name) and port.direction == "INPUT"]
    resets = [port for port in ports.values() if _RESET.fullmatch(port.name) and port.direction == "INPUT"]
    said = {port.name for port in (*clocks[:1], *resets[:1])}
    others = [port for port in ports.values() if port.name not in said]
    lines = [
        f"files = {json.dumps([str(path) for path in paths])}",
        f'top = "{name}"',
        'unit = "fma_fp32_ocp"  # a name of `fp9 units`, a unit file such as "mine.toml", or a table [unit]',
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


def _top(verilog: str, where: str) -> str:
    """Return the only module that no other module uses. Raises ValueError if there are several."""
    found = tops(verilog, where)
    if len(found) != 1:
        raise ValueError(f"{where} has modules that no other one uses: {', '.join(found)}; name one with --top")
    return found[0]


def _words(port: TheirPort) -> str:
    dimensions = "".join(f"[{left}:{right}]" for left, right in port.dimensions)
    array = f", an array {dimensions}" if dimensions else ""
    return f"{port.direction.lower()}, {port.type.width} bit{'s' * (port.type.width != 1)}{array}"
