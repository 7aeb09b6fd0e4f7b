"""Commands that measure hardware at length or describe it: study, datasheet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fp9.cli.support import Command, extra, keeps, load_unit, progress_bar, show, table
from fp9.cli.words import UNIT, Words
from fp9.system.cache import anew
from fp9.system.files import write_whole

if TYPE_CHECKING:
    from fp9.units import Unit

_PATH = click.Path(path_type=Path)
MEASURED = "what was measured is kept; run the same command again, and the rest is measured"
"""What an interrupted measurement leaves."""


def _studies() -> Iterable[str]:
    with extra("rtl"):
        from fp9_rtl.studies import job as study_job  # optional, slow to load
    return study_job.questions()


@click.command(cls=Command)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=Words(_studies))
@click.option("--out", type=_PATH, default=Path("build/study"), show_default=True, help="Folder of pages and charts.")
@click.option("--list", "only_list", is_flag=True, help="List the studies and their questions.")
@click.option("--again", is_flag=True, help="Measure again what was measured before and kept.")
def study(names: tuple[str, ...], out: Path, only_list: bool, again: bool, as_json: bool) -> None:
    """Measure what formats, policies, roundings and sizes cost.

    Each study answers one question with a table and a chart, and lies in FOLDER as Markdown, SVG, JSON and CSV. Without
    NAME: all of them. What was measured before is not measured again, but with --again.

    \b
      fp9 study --list
      fp9 study mixed_fp32 flags --out build/study
      fp9 study --out docs/study
    """
    with extra("rtl"):
        from fp9_rtl.studies import job as study_job  # optional, slow to load
    if only_list:
        questions = study_job.questions()
        rows = list(questions.items())
        show(questions, as_json, table("Studies", ["name", "question"], rows))
        return
    keeps(MEASURED)
    with anew(again), progress_bar(keep=True) as progress:
        written = study_job.run(names, out, progress)
    record = {name: [str(path) for path in paths] for name, paths in written.items()}
    show(record, as_json, table(f"Written to {out}", ["study", "page"], [(n, paths[0]) for n, paths in record.items()]))


@click.command(cls=Command)
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@click.option("--out", type=_PATH, default=Path("build/units"), show_default=True, help="Folder of the data sheets.")
def datasheet(names: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Write data sheets of UNIT..., or of the whole catalogue.

    Ports, formats, rounding, timing diagram, area and delay, as NAME.md; units with as many stages share the picture of
    their timing. The whole catalogue gets an index as well.

    \b
      fp9 datasheet fma_fp32
      fp9 datasheet --out docs/units
    """
    with extra("docs"):
        from fp9_rtl.datasheets import sheet as sheets  # optional, slow to load
    from fp9.units import CATALOGUE  # slow to load

    units = [load_unit(name) for name in names or CATALOGUE]
    keeps(MEASURED)
    with progress_bar(keep=True) as progress:
        paths = sheets.write(units, out, progress=progress)
    if not names:
        write_whole(out / sheets.INDEX, sheets.index(units))
    show([str(path) for path in paths], as_json, f"{len(units)} data sheets in {out}")


def place_units(units: list[Unit], device: str, as_json: bool) -> None:
    """What `fp9 synth --fpga` does: LUTs, flip-flops and clock of units on an FPGA."""
    with extra("rtl"):
        from fp9_rtl.synthesis import fpga  # optional, slow to load
    keeps(MEASURED)
    with progress_bar() as progress:
        placed = fpga.measure(units, device, progress)
    show([result.to_dict() for result in placed], as_json, fpga.table(placed))


COMMANDS = (study, datasheet)
