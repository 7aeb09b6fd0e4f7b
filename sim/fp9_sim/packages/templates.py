"""Fill templates and declare ports in generated Verilog."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fp9.units import Port


def filled(template: str, words: Mapping[str, object]) -> str:
    """Return the template with each @{word} replaced by its value."""
    return re.sub(r"@\{(\w+)\}", lambda found: str(words[found[1]]), template)


def width(port: Port) -> str:
    """Return the bit range of a port's Verilog declaration."""
    return f"[{port.width - 1}:0] " if port.width > 1 else ""
