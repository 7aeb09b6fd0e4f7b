"""Output of commands as JSON or as tables that wrap long text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

TAKEN = "fp9.standard_output_is_a_file"
"""Context key of a command that writes its output file to standard output, and messages to standard error."""

PIPED_WIDTH = 100
"""Line width in columns if standard output is not a terminal."""

_BESIDE = "  "

# Layouts from wide to narrow: the cell padding, and whether the table has edges.
_TIGHTER = (((0, 1), True), ((0, 1, 0, 0), False), ((0, 0), False))

_BOUNDLESS = 10**6


_BEFORE = "fp9.before_output"


def at_show(call: Callable[[], None]) -> None:
    """Register a function that is called before the current command prints its results."""
    click.get_current_context().meta[_BEFORE] = call


def _output_begins() -> None:
    context = click.get_current_context(silent=True)
    call = context.meta.get(_BEFORE) if context is not None else None
    if call is not None:
        call()


def echo(text: str) -> None:
    _output_begins()
    click.echo(text, nl=False)


def console(stderr: bool = False) -> Console:
    from rich.console import Console  # slow to load

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            # The caller sets the exit code.
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    return Plain(stderr=stderr, width=None if stream is not None and stream.isatty() else PIPED_WIDTH)


def show(record: object, as_json: bool, *tables: RenderableType) -> None:
    """Print `record` as JSON if `as_json` is true, and otherwise print the tables."""
    _output_begins()
    context = click.get_current_context(silent=True)
    aside = context is not None and context.meta.get(TAKEN, False)
    if as_json:
        click.echo(json.dumps(record, indent=2), err=aside)
        return
    from rich.table import Table  # slow to load

    out = console(stderr=aside)
    for shown in tables:
        if isinstance(shown, str):
            out.print(shown, soft_wrap=True, markup=False)
        elif isinstance(shown, Table):
            _show_table(out, shown)
        else:
            out.print(shown)


def _show_table(out: Console, shown: Table) -> None:
    texts = [[_plain(cell) for cell in (column.header, *column.cells)] for column in shown.columns]
    natural = [max((len(line) for text in column for line in text.splitlines()), default=0) for column in texts]
    least = [max((len(word) for text in column for word in text.split()), default=0) for column in texts]
    for padding, edge in _TIGHTER:
        shown.padding, shown.show_edge = padding, edge
        beside = _beside(out, shown, natural)
        if sum(least) + beside <= out.width:
            for column, width in zip(shown.columns, _widths(natural, least, out.width - beside), strict=True):
                column.width = width
            out.print(shown)
            return
    _show_rows(out, shown)


def _beside(out: Console, shown: Table, widths: list[int]) -> int:
    from rich.measure import Measurement  # slow to load

    return Measurement.get(out, out.options.update(max_width=_BOUNDLESS), shown).maximum - sum(widths)


def _widths(natural: list[int], least: list[int], room: int) -> list[int]:
    widths, spare = list(least), room - sum(least)
    order = sorted(range(len(least)), key=lambda i: natural[i] - least[i])
    for place, i in enumerate(order):
        more = min(natural[i] - least[i], spare // (len(order) - place))
        widths[i] += more
        spare -= more
    return widths


def _plain(cell: object) -> str:
    return getattr(cell, "plain", None) or str(cell)


def _show_rows(out: Console, shown: Table) -> None:
    from rich.text import Text  # slow to load

    first, *others = (_plain(column.header) for column in shown.columns)
    longest = max(map(len, others), default=0)
    if shown.title:
        out.print(Text(str(shown.title), style="bold"))
    for row in zip(*(column.cells for column in shown.columns), strict=True):
        head, *rest = map(_plain, row)
        out.print(Text(f"{first} {head}", style="bold"), soft_wrap=True)
        for title, cell in zip(others, rest, strict=True):
            if cell:
                out.print(f"{_BESIDE}{title.ljust(longest)} {cell}", soft_wrap=True, markup=False, highlight=False)
    if shown.caption:
        out.print(str(shown.caption), markup=False, highlight=False)


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], numbers: Iterable[str] = ()) -> Table:
    """Return a Rich table in which the columns named in `numbers` are right-aligned."""
    from rich import box  # slow to load
    from rich.table import Table  # slow to load
    from rich.text import Text  # slow to load

    right = set(numbers)
    result = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        result.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        result.add_row(*(Text(str(cell)) for cell in row))
    return result
