"""Commands that measure or describe hardware. Packages load only when a command runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fp9.cli.support import (
    Command,
    UserError,
    extra,
    keeps,
    load_unit,
    progress_bar,
    settings_option,
    show,
    table,
)
from fp9.cli.words import UNIT, Words
from fp9.system.cache import recomputing
from fp9.system.files import write_whole

if TYPE_CHECKING:
    from fp9.units import Unit
    from fp9_rtl.synthesis.libraries import Library
    from fp9_rtl.synthesis.records import Synthesis
    from fp9_rtl.synthesis.run import Progress

_PATH = click.Path(path_type=Path)
_LIBRARY = "Standard cells; repeat for more."
_LEAVE_OUT = "With --liberty: cells never to use, * for any text."
MEASURED = "finished measurements are cached; run the same command again to measure the rest"


def _studies() -> Iterable[str]:
    with extra("rtl"):
        from fp9_rtl.studies import run_studies  # optional, slow to load
    return run_studies.questions()


def _libraries() -> Iterable[str]:
    with extra("rtl"):
        from fp9_rtl.synthesis.libraries import LIBRARIES  # optional, slow to load
    return LIBRARIES


def library_options(command: Callable[..., None]) -> Callable[..., None]:
    options = (
        click.option("--library", "libraries", type=Words(_libraries), multiple=True, help=_LIBRARY),
        click.option("--liberty", type=_PATH, multiple=True, help="Your own Liberty; several files make one library."),
        click.option("--leave-out", metavar="CELL", multiple=True, help=_LEAVE_OUT),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(cls=Command, page="how-to/area-and-energy.md")
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@library_options
@click.option("--repeat", metavar="N", type=click.IntRange(2, 99), help="Median and spread over N orders of the cells.")
@click.option("--compare", "other", metavar="UNIT", type=UNIT, help="Print the ratio of each UNIT to this one as well.")
@click.option("--out", type=_PATH, help="Folder for JSON, CSV and charts: area over delay, area by submodule.")
@click.option("--breakdown", is_flag=True, help="Print the area of each submodule as well.")
@click.option("--without", metavar="FIELD", multiple=True, help="Area without each value of FIELD; repeat for more.")
@click.option("--force", is_flag=True, help="Measure again, without cached results.")
@click.option("--fpga", type=Words(("ecp5", "ice40")), help="Place and route on an FPGA instead: ecp5 or ice40.")
@settings_option
def synth(
    names: tuple[str, ...],
    libraries: tuple[str, ...],
    liberty: tuple[Path, ...],
    leave_out: tuple[str, ...],
    repeat: int | None,
    other: str | None,
    out: Path | None,
    breakdown: bool,
    without: tuple[str, ...],
    force: bool,
    fpga: str | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate the area and delay of UNIT... in standard cells.

    Each unit is synthesised twice: area-optimised and delay-balanced. The estimates ignore wires, and power is not
    estimated. Use the results to compare units with each other. --set changes each UNIT argument, but not the unit that
    --compare names. The cell libraries are osu018 (the default), osu035, nangate45, and any Liberty file.

    \b
      fp9 synth fma_fp32 mac_fp32
      fp9 synth fma_fp32_ocp --compare fma_fp32_e5m2 --repeat 5
      fp9 synth fma_fp32 --library osu018 --library nangate45
      fp9 synth fma_fp32 --liberty sky130_fd_sc_hd__tt_025C_1v80.lib
      fp9 synth fma_fp32 --fpga ecp5
      fp9 synth cast_fp32 --breakdown --without targets
    """
    parts = breakdown or bool(without)
    if fpga is not None:
        if other is not None or out is not None or parts:
            raise UserError("--fpga excludes other measurements; leave out --compare, --out, --breakdown and --without")
        with recomputing(force):
            return _place([load_unit(name, settings) for name in names], fpga, as_json)
    with extra("rtl"):
        from fp9_rtl.synthesis import libraries as cells  # optional, slow to load
    if repeat is not None and out is not None:
        raise UserError("--repeat writes no files; leave out --out, or use --json")
    if parts and (repeat is not None or other is not None or out is not None):
        raise UserError("--breakdown and --without do not combine with --repeat, --compare and --out; leave those out")
    units = [load_unit(name, settings) for name in names]
    reference = load_unit(other) if other else None
    chosen = cells.chosen(libraries, liberty, leave_out)
    keeps(MEASURED)
    with recomputing(force):
        if repeat is not None:
            return _repeated(units, reference, repeat, chosen, as_json)
        if parts:
            return _in_parts(units, chosen, breakdown, without, as_json)
        _synthesised(units, reference, chosen, out, as_json)


def _repeated(
    units: list[Unit], reference: Unit | None, repeat: int, libraries: Sequence[Library], as_json: bool
) -> None:
    from fp9_rtl.synthesis import report  # slow to load
    from fp9_rtl.synthesis.run import repeated_side_by_side  # slow to load

    with progress_bar() as progress:
        repeats, medians = repeated_side_by_side(units, reference, repeat, libraries, progress)
    record = {"repeats": [r.to_dict() for r in repeats], "ratios": [dataclasses.asdict(m) for m in medians]}
    show(record, as_json, report.repeats_table(repeats), *([report.medians_table(medians)] if medians else []))


def _synthesised(
    units: list[Unit], reference: Unit | None, libraries: Sequence[Library], out: Path | None, as_json: bool
) -> None:
    from fp9_rtl.synthesis import report, run  # slow to load

    with progress_bar() as progress:
        results = [run.synthesise_unit(u, library=library, progress=progress) for library in libraries for u in units]
        ratios = [
            ratio
            for library in libraries
            for unit in units
            if reference is not None
            for ratio in run.compare(unit, reference, library=library, progress=progress)
        ]
        if out is not None:
            _write(units, results, libraries, out, progress)
    record = {
        "results": [result.to_dict() for result in results],
        "ratios": [dataclasses.asdict(ratio) for ratio in ratios],
    }
    show(record, as_json, report.table(results), *([report.ratio_table(ratios)] if ratios else []))


def _in_parts(
    units: list[Unit], libraries: Sequence[Library], breakdown: bool, without: tuple[str, ...], as_json: bool
) -> None:
    from fp9_rtl.synthesis import breakdown as submodules  # slow to load
    from fp9_rtl.synthesis import left_out  # slow to load

    with progress_bar() as progress:
        rests = [
            found
            for library in libraries
            for unit in units
            for field in without
            for found in left_out.measure(unit, field, library=library, progress=progress)
        ]
        apart = [submodules.breakdown(u, library=cells) for cells in libraries for u in units if breakdown]
    record = {
        "breakdown": [submodules.as_record(result) for result in apart],
        "without": [found.to_dict() for found in rests],
    }
    tables = [submodules.table(apart)] if apart else []
    show(record, as_json, *tables, *([left_out.table(rests)] if rests else []))


def _write(
    units: list[Unit], results: list[Synthesis], libraries: Sequence[Library], out: Path, progress: Progress | None
) -> None:
    from fp9_rtl.studies import submodules  # slow to load
    from fp9_rtl.synthesis import report  # slow to load

    for library in libraries:
        folder = out if len(libraries) == 1 else out / library.name
        report.write([result for result in results if result.library == library.name], folder)
        submodules.write_chart(submodules.measure(units, (library,), progress=progress), folder)


@click.command(cls=Command, page="how-to/area-and-energy.md")
@click.argument("names", metavar="[NAME]...", nargs=-1, type=Words(_studies))
@click.option("--out", type=_PATH, default=Path("build/study"), show_default=True, help="Folder of pages and charts.")
@click.option("--library", "libraries", type=Words(_libraries), multiple=True, help="Standard cells; repeat for more.")
@click.option("--list", "only_list", is_flag=True, help="List the studies and their questions.")
@click.option("--force", is_flag=True, help="Measure again, without cached results.")
def study(
    names: tuple[str, ...], out: Path, libraries: tuple[str, ...], only_list: bool, force: bool, as_json: bool
) -> None:
    """Measure the hardware cost of formats, policies, rounding modes and sizes.

    A study answers one question with tables and a chart. The folder of --out receives the study as Markdown, SVG, JSON
    and CSV. A study compares the cell libraries osu018 and nangate45, or the given libraries. Without NAME, all studies
    run. Cached measurements are reused, except with --force.

    \b
      fp9 study --list
      fp9 study mixed_fp32 flags --out build/study
      fp9 study decoders --library osu018
      fp9 study --out build/study
    """
    with extra("rtl"):
        from fp9_rtl.studies import run_studies  # optional, slow to load
        from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE  # slow to load
    if only_list:
        questions = run_studies.questions()
        rows = list(questions.items())
        show(questions, as_json, table("Studies", ["name", "question"], rows))
        return
    keeps(MEASURED)
    with recomputing(force), progress_bar(keep=True) as progress:
        written = run_studies.run(names, out, progress, libraries or SIDE_BY_SIDE)
    record = {name: [str(path) for path in paths] for name, paths in written.items()}
    show(record, as_json, table(f"Written to {out}", ["study", "page"], [(n, paths[0]) for n, paths in record.items()]))


@click.command(cls=Command, page="how-to/describe-a-unit.md")
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@click.option("--out", type=_PATH, default=Path("build/units"), show_default=True, help="Folder of the data sheets.")
@click.option("--library", "libraries", type=Words(_libraries), multiple=True, help="Standard cells; repeat for more.")
def datasheet(names: tuple[str, ...], out: Path, libraries: tuple[str, ...], as_json: bool) -> None:
    """Write data sheets of UNIT..., or of the whole catalogue.

    A data sheet, NAME.md, has ports, formats, rounding, a timing diagram, a block diagram (Mermaid), area and
    delay. Areas are measured in osu018 and nangate45, or in the given cell libraries. Units with the same number of
    stages share a timing diagram. Without UNIT, the command also writes an index, and a page of the values that the
    RTL accepts in each field.

    \b
      fp9 datasheet fma_fp32
      fp9 datasheet fma_fp32 --library nangate45
      fp9 datasheet --out docs/units
    """
    with extra("docs"):
        from fp9_rtl.datasheets import conditions  # slow to load
        from fp9_rtl.datasheets import sheet as sheets  # optional, slow to load
        from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE  # slow to load
    from fp9.units import CATALOGUE  # slow to load

    units = [load_unit(name) for name in names or CATALOGUE]
    keeps(MEASURED)
    with progress_bar(keep=True) as progress:
        paths = sheets.write(units, out, libraries=libraries or SIDE_BY_SIDE, progress=progress)
    if not names:
        write_whole(out / sheets.INDEX, sheets.index(units))
        write_whole(out / conditions.CONDITIONS, conditions.page())
    show([str(path) for path in paths], as_json, f"{len(units)} data sheets in {out}")


def _place(units: list[Unit], device: str, as_json: bool) -> None:
    with extra("rtl"):
        from fp9_rtl.synthesis import fpga  # optional, slow to load
    keeps(MEASURED)
    with progress_bar() as progress:
        placed = fpga.measure(units, device, progress)
    show([result.to_dict() for result in placed], as_json, fpga.table(placed))


@click.command(cls=Command, page="how-to/readable-verilog.md")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--top", metavar="MODULE", help="Name of the top module; default: the module without an instance.")
@click.option("--flat", is_flag=True, help="Write one module.")
@click.option("--sv", "system", is_flag=True, help="Write SystemVerilog.")
@click.option("--out", "-o", type=_PATH, help="File to write; standard output without it.")
def rtlil2verilog(file: Path, top: str | None, flat: bool, system: bool, out: Path | None, as_json: bool) -> None:
    """Write readable Verilog of a design in RTLIL.

    FILE is the output of Yosys' `write_rtlil` or Amaranth's `rtlil.convert`. The Verilog has expressions instead of
    nets, writes equal modules only once, and takes its names from the source.

    \b
      fp9 rtlil2verilog design.il -o design.v
      fp9 rtlil2verilog design.il --top core --sv
    """
    with extra("rtl"):
        from fp9_rtl.export.rtlil import rtlil2verilog as converted  # optional, slow to load
    text = converted(file.read_text(), top, flat, system)
    if out is not None:
        write_whole(out, text)
    show({"file": str(out) if out else None, "verilog": text}, as_json, f"{out}" if out else text)


COMMANDS = {"Units": (rtlil2verilog,), "Cost": (synth, study, datasheet)}
