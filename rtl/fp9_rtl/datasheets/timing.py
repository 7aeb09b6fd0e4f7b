"""Draw timing diagrams of units with WaveDrom, from simulated handshake signals."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from xml.etree import ElementTree

from fp9.system.missing import MissingTool, install_hint
from fp9.units import Handshake, Unit

OPERATIONS = ("1st", "2nd", "3rd")

Wave = list["str | int | None"]
"""Values of a signal, one for each clock cycle. None means that the payload is not valid."""

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"


def picture(unit: Unit) -> str | None:
    """Return the file name of a unit's timing diagram."""
    # Units with the same number of stages and the same handshake share one diagram. A unit that needs several
    # operations for one result has no diagram.
    if unit.group > 1:
        return None
    if not unit.stages:
        return "timing_combinational.svg"
    return f"timing_stages_{unit.stages}{'' if unit.handshake is Handshake.READY else '_valid'}.svg"


def timing_svg(unit: Unit) -> str:
    try:
        import wavedrom  # optional
    except ModuleNotFoundError:
        raise MissingTool(f"wavedrom is not installed; install it with: {install_hint('docs')}") from None
    drawn: str = wavedrom.render(json.dumps(diagram(unit))).tostring()
    return _without_unused(drawn)


def diagram(unit: Unit) -> dict[str, object]:
    if not unit.stages:
        wave = {"wave": "x=.=.=.x", "data": list(OPERATIONS)}
        return {"signal": [{"name": "inputs", **wave}, {"name": "outputs", **wave, "phase": -0.25}]}
    run = handshakes(unit.stages, unit.handshake is Handshake.READY)
    clock = {"name": "clk", "wave": "p" + "." * (len(run["in_valid"]) - 1)}
    shown = {port.name for port in unit.control_ports} | {"inputs", "outputs"}
    signals = {name: {"name": name, **_encoded(wave)} for name, wave in run.items() if name in shown}
    first = [signals[name] for name in signals if name.startswith("in")]
    return {"signal": [clock, {}, *first, {}, *(signals[name] for name in signals if name.startswith("out"))]}


def handshakes(stages: int, waits: bool = True) -> dict[str, Wave]:
    """Simulate a pipeline's handshake, and return the values of each signal after reset."""
    held: Wave = [None] * stages
    left = list(OPERATIONS)
    run: dict[str, Wave] = {
        name: [] for name in ("in_valid", "in_ready", "inputs", "out_valid", "out_ready", "outputs")
    }
    for clock in range(stages + len(OPERATIONS) + 3):
        offered = left[0] if left and clock else None
        out_ready = not waits or clock != stages + 1
        ready = [out_ready]  # first the reader's ready, then the ready of each stage from the last to the first
        for operation in reversed(held):
            ready.append(operation is None or ready[-1])
        seen = (offered is not None, ready[-1], offered, held[-1] is not None, out_ready, held[-1])
        for wave, value in zip(run.values(), seen, strict=True):
            wave.append(int(value) if isinstance(value, bool) else value)
        moves = list(reversed(ready[1:]))
        held = [before if moves[k] else held[k] for k, before in enumerate([offered, *held[:-1]])]
        if offered is not None and moves[0]:
            left.pop(0)
    return run


def _encoded(wave: Wave) -> dict[str, object]:
    text, data = "", []
    for before, value in itertools.pairwise([object(), *wave]):
        if value == before:
            text += "."
        elif isinstance(value, str):
            text += "="
            data.append(value)
        else:
            text += "x" if value is None else str(value)
    return {"wave": text, "data": data} if data else {"wave": text}


def _without_unused(drawn: str) -> str:
    # Unused shapes make up nine tenths of WaveDrom's SVG text.
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK[1:].partition("}")[0])
    root = ElementTree.fromstring(drawn)
    root.insert(0, ElementTree.Element(f"{{{_SVG}}}rect", width="100%", height="100%", fill="white"))
    used = {element.get(_LINK, "").removeprefix("#") for element in root.iter(f"{{{_SVG}}}use")}
    for definitions in root.iter(f"{{{_SVG}}}defs"):
        for shape in _unused(definitions, used):
            definitions.remove(shape)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _unused(definitions: ElementTree.Element, used: set[str]) -> Sequence[ElementTree.Element]:
    return [shape for shape in definitions if shape.tag == f"{{{_SVG}}}g" and shape.get("id") not in used]
