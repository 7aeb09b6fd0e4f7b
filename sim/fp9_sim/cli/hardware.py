"""Commands `rtl`, `package` and `demo`: write Verilog, package a unit, run the demo."""

from __future__ import annotations

from pathlib import Path

import click

from fp9.cli.support import (
    SEED,
    Command,
    UserError,
    doing,
    echo,
    extra,
    load_unit,
    progress_bar,
    settings_option,
    show,
)
from fp9.cli.words import OUT_FILE, UNIT, Words
from fp9.system.cache import recomputing
from fp9.system.files import write_whole

_PATH = click.Path(path_type=Path)


def _check_wrapper(wrapper: str | None, user_bits: int, other_style: bool) -> None:
    if wrapper not in (None, "axis"):
        raise UserError(f"unknown wrapper {wrapper!r}; choose axis")
    if user_bits and not wrapper:
        raise UserError("--user-bits belongs to a wrapper; give --wrapper axis too")
    if wrapper and other_style:
        raise UserError("--wrapper is plain Verilog of several modules; leave out --flat and --sv")


@click.command(cls=Command, page="explanation/generated-verilog.md")
@click.argument("name", metavar="UNIT", type=UNIT)
@click.option("-o", "--out", type=OUT_FILE, help="File to write; without it the Verilog is printed.")
@click.option("--modules", "folder", type=_PATH, help="Folder for one file per module and the file list UNIT.f.")
@click.option("--flat", is_flag=True, help="Write a single flat module.")
@click.option("--sv", is_flag=True, help="SystemVerilog: enums, packed structs, logic, always_ff.")
@click.option("--wrapper", type=Words(("axis",)), help="axis: behind AXI4-Stream ports, as module UNIT_axis.")
@click.option("--user-bits", type=int, default=0, help="Bits of the wrapper's tuser, which pass with an operation.")
@click.option("--sv-package", "package", type=OUT_FILE, help="File for a SystemVerilog package and interface.")
@click.option("--c-header", "header", type=OUT_FILE, help="File for a C header of the encodings.")
@settings_option
def rtl(
    name: str,
    out: Path | None,
    folder: Path | None,
    flat: bool,
    sv: bool,
    wrapper: str | None,
    user_bits: int,
    package: Path | None,
    header: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write the Verilog of UNIT.

    \b
      fp9 rtl fma_fp32 --out build/fma_fp32.v
      fp9 rtl mac_dlfloat16 --modules build/mac --sv
      fp9 rtl mac_dlfloat16 --set stages=4 --wrapper axis
      fp9 rtl cast_fp32 --out build/cast.v --sv-package build/cast_pkg.sv --c-header build/cast.h
    """
    _check_wrapper(wrapper, user_bits, flat or sv)
    if folder is not None and (out or wrapper or flat):
        raise UserError("--modules does not combine with other outputs; leave out --out, --wrapper and --flat")
    with extra("rtl"):
        import fp9_rtl  # slow to load
        from fp9_rtl.export import axis, interfaces  # slow to load
        from fp9_rtl.export import verilog as export  # slow to load
    unit = load_unit(name, settings)
    doing(f"{unit.name}: from its spec to Verilog")
    interfaces.write_interfaces(unit, package=package, c=header)
    if folder is not None:
        files = export.verilog_files(unit, sv)
        for file, content in files.items():
            write_whole(folder / file, content)
        show({"unit": unit.name, "files": [*files]}, as_json, f"{unit.name}: {len(files)} files in {folder}")
        return
    text = axis.axi_stream_verilog(unit, user_bits) if wrapper else fp9_rtl.verilog(unit, flat, sv)
    if out is None:
        show({"unit": unit.name, "verilog": text}, True) if as_json else echo(text)
        return
    write_whole(out, text)
    lines = text.count("\n")
    show({"unit": unit.name, "file": str(out), "lines": lines}, as_json, f"{unit.name}: {lines} lines in {out}")


@click.command(cls=Command, page="how-to/package-a-unit.md")
@click.argument("name", metavar="UNIT", type=UNIT)
@click.option("-o", "--out", type=_PATH, help="Folder to fill; without it build/packages/UNIT.")
@click.option("--suite", type=Words(("smoke", "corner")), default="corner", show_default=True, help="Golden vectors.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the vectors.")
@settings_option
def package(name: str, out: Path | None, suite: str, seed: int, settings: tuple[str, ...], as_json: bool) -> None:
    """Write a folder for UNIT that can be used without fp9.

    The folder holds the Verilog with a file list, an AXI4-Stream wrapper, a SystemVerilog package, a C header, a VHDL
    component, constraints, a FuseSoC core and a data sheet. For verification, the folder holds golden vectors,
    assertions and self-checking test benches in Verilog and C++. A Makefile runs all tests with only Icarus and
    Verilator.

    
      fp9 package mac_dlfloat16 --out mac
      cd mac && make
    """
    with extra("sim"):
        from fp9_sim.packages import write_package  # slow to load
    unit = load_unit(name, settings)
    folder = out or Path("build/packages") / unit.name
    with progress_bar() as progress:
        progress(f"{unit.name}: Verilog, {suite} vectors and benches", 0, 1)
        paths = write_package(unit, folder, suite, seed)
    show([str(path) for path in paths], as_json, f"{len(paths)} files in {folder}; run: make -C {folder}")


@click.command(cls=Command, page="start/tutorial-hardware.md")
@click.option("--out", type=_PATH, default=Path("build"), show_default=True, help="Folder to fill.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of training, vectors and stalls.")
@click.option("--force", is_flag=True, help="Simulate and measure again, without cached results.")
@click.option("--show", "report", metavar="FILE", type=_PATH, help="Show the report.json of an earlier run instead.")
def demo(out: Path, seed: int, force: bool, report: Path | None, as_json: bool) -> None:
    """Run the whole flow on a real network layer.

    The demo trains a small network on handwritten digits, quantises one layer and computes the layer in the golden
    model. The demo then writes Verilog and golden vectors, simulates on Icarus and Verilator, estimates area and delay,
    and writes a report. The exit code is 1 on any mismatch. A simulation that has passed with the same inputs is taken
    from the cache. With --show, the command prints the results of an earlier run and rewrites its HTML page.

    
      fp9 demo --out build
      fp9 demo --show build/report.json
    """
    with extra("demo"):
        from fp9_sim import demo as job  # slow to load
        from fp9_sim.demo import report as reporting  # slow to load
    if report is not None:
        summary = reporting.read(report)
        reporting.write(summary, report.parent)
        return show(summary, as_json, *reporting.summary_tables(summary))
    with recomputing(force), progress_bar(keep=True) as progress:
        summary = job.run(out, seed, progress)
        reporting.write(summary, out)
    show(summary, as_json, *reporting.summary_tables(summary))
    if not reporting.passed(summary):
        raise SystemExit(1)
    return None
