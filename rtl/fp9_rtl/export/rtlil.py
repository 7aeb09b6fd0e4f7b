"""Convert any design in RTLIL, Yosys' intermediate language, to readable Verilog."""

from __future__ import annotations

import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

from fp9_rtl.export.text.types import Types
from fp9_rtl.export.text.writer import Writer
from fp9_rtl.tools.yosys import run_yosys

_SCRIPT = """\
read_rtlil design.il
hierarchy -check {top}
proc
memory_map
dffunmap
rename -enumerate -pattern $%
flatten
opt_expr
wreduce
opt_clean
write_json words.json
"""


def rtlil2verilog(rtlil: str, top: str | None = None, flat: bool = False, system: bool = False) -> str:
    r"""Return the Verilog of a design: its top module first, then one module for each distinct submodule.

    `rtlil` is text from Yosys' `write_rtlil` or Amaranth's `rtlil.convert`. `top` names the top module; by default
    it is the module that no other module contains. `flat` writes one module, `system` writes SystemVerilog. The
    output is deterministic. Raises ValueError for a text that Yosys rejects, and for a cell that the writer does not
    support. Examples of unsupported cells are divisions and latches.

    >>> text = '''module \\invert
    ...   wire width 4 input 1 \\a
    ...   wire width 4 output 2 \\y
    ...   cell $not $1
    ...     parameter \\A_SIGNED 0
    ...     parameter \\A_WIDTH 4
    ...     parameter \\Y_WIDTH 4
    ...     connect \\A \\a
    ...     connect \\Y \\y
    ...   end
    ... end
    ... '''
    >>> print(rtlil2verilog(text).strip())
    module invert(
      input  [3:0] a,
      output [3:0] y
    );
    <BLANKLINE>
      assign y = ~a;
    endmodule
    """
    name, words = _words(rtlil, top)
    try:
        texts, _ = Writer(words, name, {}, Types(name, {}), flat).modules(system)
    except NotImplementedError as error:
        raise ValueError(f"{name}: {error}; replace it in Yosys, with techmap for example") from None
    return "\n".join(texts.values())


def _words(rtlil: str, top: str | None) -> tuple[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fp9-") as temporary:
        folder = Path(temporary)
        (folder / "design.il").write_text(rtlil)
        run_yosys(_SCRIPT.format(top=f"-top {top}" if top else "-auto-top"), folder)
        modules = json.loads((folder / "words.json").read_text())["modules"]
    for name, module in modules.items():
        if int(module["attributes"].get("top", "0"), 2):
            _lower(module)
            return name, module
    raise ValueError("the RTLIL has no module; give a design as Yosys' write_rtlil writes it")


def _lower(module: dict[str, Any]) -> None:
    bits = [bit for net in module["netnames"].values() for bit in net["bits"] if isinstance(bit, int)]
    free = itertools.count(max(bits, default=1) + 1)
    for name, cell in list(module["cells"].items()):
        pins = cell["connections"]
        if cell["type"] in ("$logic_and", "$logic_or"):
            for port in "AB":
                if len(pins[port]) > 1:
                    reduced = [next(free)]
                    module["cells"][f"{name}${port}"] = _unary("$reduce_bool", pins[port], reduced, cell)
                    pins[port] = reduced
        elif cell["type"] in ("$xnor", "$reduce_xnor"):
            inner = [next(free) for _ in pins["Y"]]
            module["cells"][f"{name}$not"] = _unary("$not", inner, pins["Y"], cell)
            cell["type"], pins["Y"] = cell["type"].replace("xnor", "xor"), inner


def _unary(kind: str, operand: list[Any], output: list[Any], of: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": kind,
        "attributes": of["attributes"],
        "parameters": {"A_SIGNED": "0"},
        "connections": {"A": operand, "Y": output},
    }
