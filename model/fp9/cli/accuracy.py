"""Command `fp9 accuracy`: rounding errors of accumulators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fp9.cli.support import SEED, Command, extra, progress_bar, show, table
from fp9.cli.words import ENGINE, FORMAT, OUT_FILE, Words

if TYPE_CHECKING:
    from fp9.studies.accumulators import Errors

_PATH = click.Path(path_type=Path, dir_okay=False)
MEASURES = {
    "mean": "mean |error| / |exact|",
    "median": "median |error| / |exact|",
    "largest": "largest |error| / |exact|",
    "relative": "rms error / rms exact",
    "worst": "largest |error| / rms exact",
    "bias": "mean error / mean |exact|",
}


def _distributions() -> Iterable[str]:
    from fp9.studies.accumulators import DISTRIBUTIONS  # slow to load

    return DISTRIBUTIONS


@click.command(cls=Command, page="how-to/pick-an-accumulator.md")
@click.argument("engines", metavar="[ENGINE]...", nargs=-1, type=ENGINE)
@click.option(
    "--formats", nargs=2, type=FORMAT, default=("e4m3", "e4m3"), show_default=True, help="Formats of A and of B."
)
@click.option("--k", "depths", type=click.IntRange(1), multiple=True, help="Products of a sum; repeat for a curve.")
@click.option(
    "--distribution",
    type=Words(_distributions),
    default="normal",
    show_default=True,
    help="Distribution of the operands before rounding.",
)
@click.option("--a", "file_a", type=_PATH, help="Numbers of A, shape (n, k), as .npy; with --b.")
@click.option("--b", "file_b", type=_PATH, help="Numbers of B, shape (n, k), as .npy.")
@click.option("--count", type=click.IntRange(1), default=256, show_default=True, help="Number of sums.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the operands.")
@click.option(
    "--reproduce",
    metavar="NAME",
    type=Words(("swamping", "exsdotp", "deepseek")),
    help="A published experiment: swamping, exsdotp or deepseek.",
)
@click.option("--out", type=OUT_FILE, help="Chart of error over K to write: .svg, .png or .pdf; - prints SVG.")
@click.option("--measure", type=click.Choice(list(MEASURES)), help="What the chart shows; default: relative.")
def accuracy(
    engines: tuple[str, ...],
    formats: tuple[str, str],
    depths: tuple[int, ...],
    distribution: str,
    file_a: Path | None,
    file_b: Path | None,
    count: int,
    seed: int,
    reproduce: str | None,
    out: Path | None,
    measure: str | None,
    as_json: bool,
) -> None:
    """Measure the rounding error of accumulators.

    The command compares each ENGINE's sums with exact sums of the same codes.

    \b
      fp9 accuracy hopper deepseek fma_fp32 --k 512 --k 4096
      fp9 accuracy 'chunked(L=64)' dlfloat --a x.npy --b w.npy --formats hfp8_143 hfp8_143
      fp9 accuracy --reproduce swamping --out swamping.svg
    """
    from fp9.studies import accumulators as study  # slow to load

    if reproduce and (engines or depths or file_a or file_b):
        raise ValueError("--reproduce sets the engines, lengths and data; leave them out")
    with progress_bar() as progress:
        if reproduce:
            results = study.reproduce(reproduce, seed, progress)
        else:
            a, b = study.operands(formats, count, max(depths, default=0), distribution, seed, (file_a, file_b))
            lengths = depths or (a.shape[1],)
            results = study.sum_errors(a, b, formats, engines or ("hopper", "fma_fp32"), lengths, progress)
    published = study.PUBLISHED[reproduce] if reproduce else None
    figures = published.figures if published else {}
    shown = measure or (published.measure if published else "relative")
    if out is not None:
        with extra("rtl"):
            from fp9.studies import plots as accuracy_plot  # slow to load
        accuracy_plot.draw(results, shown, MEASURES[shown], out)
    title = f"{published.setup} ({published.source})" if published else f"{' x '.join(formats)}, against the exact sums"
    rows = [[*_row(e), figures.get((e.engine, e.depth), "")] for e in results]
    columns = ["engine", "K", *MEASURES, "published"]
    if not published:
        rows, columns = [row[:-1] for row in rows], columns[:-1]
    show([asdict(e) for e in results], as_json, table(title, columns, rows, numbers=["K", *MEASURES]))


def _row(e: Errors) -> list[str]:
    return [e.engine, str(e.depth), *(f"{getattr(e, name):.2e}" for name in MEASURES)]
