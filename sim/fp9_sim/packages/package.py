"""Collect the files of a unit's package, and write the package to a folder."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fp9 import cmodel
from fp9.system.files import write_whole
from fp9.system.missing import MissingTool
from fp9.units import Unit
from fp9.units.toml import dumps
from fp9.vectors import VectorSet, export, generate, manifest_path
from fp9_rtl.datasheets.sheet import sheet
from fp9_rtl.datasheets.timing import picture, timing_svg
from fp9_rtl.export.axis import axi_stream_verilog, stream_refusal
from fp9_rtl.export.interfaces import c_header, sv_interface, sv_types
from fp9_rtl.export.verilog import verilog
from fp9_sim.coverage.covergroups import coverage_package, has_coverage
from fp9_sim.packages import dpi, texts
from fp9_sim.packages.assertions import assertions
from fp9_sim.packages.cpp_bench import cpp_bench
from fp9_sim.packages.integration import integration_guide
from fp9_sim.packages.ip_xact import stream_description, unit_description
from fp9_sim.packages.uvm import uvm_bench, uvm_package
from fp9_sim.packages.verilog_bench import uncompared, verilog_bench


@dataclass(frozen=True)
class _File:
    path: str
    what: str
    content: Callable[[], str | bytes]
    of: bool = True


def write_package(unit: Unit, folder: Path, suite: str = "corner", seed: int = 0) -> list[Path]:
    """Write the package of a unit into a folder, and return the paths of the files, README.md first.

    Raises ValueError for an unknown suite, and if fp9 cannot generate Verilog for the unit. Raises MissingTool if Yosys
    is not installed, and OSError if the folder cannot be written.
    """
    made = files(unit, generate(unit, suite, seed=seed))
    for path, content in made.items():
        write_whole(folder / path, content)
    return [folder / path for path in made]


def files(unit: Unit, vectors: VectorSet) -> dict[str, str | bytes]:
    """Return the files of a unit's package as a dictionary from path to content, with README.md first.

    Raises ValueError if fp9 cannot generate Verilog for the unit, and MissingTool if Yosys is not installed.
    """
    name, clocked = unit.name, unit.stages > 0
    rtl, wrapper = f"rtl/{name}.v", f"rtl/{name}_axis.v"
    streams = stream_refusal(unit) is None
    covered = has_coverage(unit)
    wrappers = [wrapper] if streams else []
    types, interface = f"rtl/{name}_pkg.sv", f"rtl/{name}_if.sv"
    encoded, model = _encoded(vectors), cmodel.files(unit)
    imported = f"{name}_dpi.c" in model
    drawing, missing = _timing(unit)
    described = sheet(unit) if drawing else sheet(unit).replace(f"![Timing of {name}]({picture(unit)})\n", "")
    offered = [
        _File(rtl, "the unit, plain Verilog", lambda: verilog(unit)),
        _File(f"{name}.f", "file list of the RTL", lambda: f"{rtl}\n"),
        _File(wrapper, "the unit behind AXI4-Stream ports, all in one file", lambda: axi_stream_verilog(unit), streams),
        _File(types, "SystemVerilog package of the encodings and words", lambda: sv_types(unit)),
        _File(interface, "SystemVerilog interface of the unit", lambda: sv_interface(unit)),
        _File(f"include/{name}.h", "C header of the encodings", lambda: c_header(unit)),
        _File(f"vhdl/{name}_component.vhd", "VHDL component declaration", lambda: texts.vhdl_component(unit)),
        *(
            _File(f"vectors/{file}", _vector_file(file), functools.partial(encoded.__getitem__, file))
            for file in encoded
        ),
        _File(f"tb/{name}_tb.v", "self-checking bench, Verilog", lambda: verilog_bench(vectors)),
        _File(f"tb/{name}_tb.cpp", "self-checking bench for Verilator, C++", lambda: cpp_bench(vectors)),
        _File(f"tb/{name}_coverage.sv", "functional coverage", lambda: coverage_package(unit), covered),
        _File(f"tb/{name}_sva.sv", "assertions of the protocol", lambda: assertions(unit), clocked),
        *(_File(f"model/{file}", _model_file(file), functools.partial(model.__getitem__, file)) for file in model),
        _File(f"tb/{name}_dpi_tb.sv", "example: compare the unit with the model", lambda: dpi.bench(unit), imported),
        _File(f"tb/{name}_dpi_tb.cpp", "the clock of the example, for Verilator", lambda: dpi.clock(unit), imported),
        _File(
            f"uvm/{name}_uvm_pkg.sv", "UVM agent, sequences, scoreboard and test", lambda: uvm_package(unit), imported
        ),
        _File(f"uvm/{name}_uvm_tb.sv", "the module that runs the UVM test", lambda: uvm_bench(unit), imported),
        _File(f"constraints/{name}.sdc", "timing constraints", lambda: texts.constraints(unit)),
        _File(f"{name}.core", "FuseSoC core", lambda: texts.fusesoc_core(unit, [rtl], [types, interface])),
        _File(f"ipxact/{name}.xml", "IP-XACT component of the unit", lambda: unit_description(unit, f"../{rtl}")),
        _File(
            f"ipxact/{name}_axis.xml",
            "IP-XACT component of the wrapper",
            lambda: stream_description(unit, f"../{wrapper}"),
            streams,
        ),
        _File(f"{name}.toml", "the specification, from which fp9 regenerates all files", lambda: dumps(unit)),
        _File(f"doc/{name}_integration.md", "integration guide", lambda: integration_guide(unit)),
        _File(f"doc/{name}.md", "data sheet", lambda: described),
        _File(f"doc/{picture(unit)}", "its timing diagram", lambda: drawing or "", drawing is not None),
        _File(
            "Makefile",
            "benches and lint",
            lambda: texts.makefile(unit, rtl, wrappers, types, interface, covered and not uncompared(vectors)),
        ),
    ]
    had = {file.path: file for file in offered if file.of}
    said = {path: file.what for path, file in had.items()}
    made = {path: file.content() for path, file in had.items()}
    return {"README.md": texts.readme(unit, said, len(vectors), missing), **made}


def _encoded(vectors: VectorSet) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="fp9-package-") as name:
        paths = [export(vectors, Path(name), file_format=form) for form in ("vec", "memh")]
        return {path.name: path.read_bytes() for file in paths for path in (file, manifest_path(file))}


def _timing(unit: Unit) -> tuple[str | None, str | None]:
    try:
        return timing_svg(unit) if picture(unit) else None, None
    except MissingTool as error:
        return None, error.what


def _model_file(path: str) -> str:
    if path.endswith("_bench.c"):
        return "check of the golden model against the vectors, C"
    if path.endswith(".h"):
        return "the golden model, C99"
    return "its import by DPI-C" if path.endswith(".sv") else "its functions behind DPI-C"


def _vector_file(path: str) -> str:
    if path.endswith(".json"):
        return "its manifest: columns, policies, digest, how the inputs were made"
    return "golden vectors for $readmemh" if path.endswith(".memh") else "golden vectors, lines of hex"
