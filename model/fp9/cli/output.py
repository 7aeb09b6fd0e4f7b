"""What commands print: JSON or tables that fold and never cut, and progress on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

TAKEN = "fp9.standard_output_is_a_file"
"""Where a command's context notes that standard output is the file it writes; what it says then goes to the other."""

PIPED_WIDTH = 140
"""Columns that text is folded to where standard output is no terminal; tables are as wide there as they are."""

_BESIDE = 2
"""Blanks before the fields of a row that is shown on lines of its own."""


def console(stderr: bool = False) -> Console:
    """Rich's console on standard output, or on standard error for progress."""
    from rich.console import Console  # slow to load

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the command, which knows what that means."""
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    return Plain(stderr=stderr, width=None if stream is not None and stream.isatty() else PIPED_WIDTH)


def show(record: object, as_json: bool, *tables: RenderableType) -> None:
    """Print the record as JSON, or the tables made from it; to standard error where standard output is a file's."""
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
    """A table folded at words; where its longest words do not fit, the fields of each row on lines of their own."""
    from rich.measure import Measurement  # slow to load

    for column in shown.columns:
        column.overflow = "fold"
    measured = Measurement.get(out, out.options.update(max_width=10**6), shown)
    if not out.is_terminal and "COLUMNS" not in os.environ:
        out.print(shown, width=measured.maximum, soft_wrap=True)
    elif measured.minimum <= out.width:
        out.print(shown)
    else:
        _show_rows(out, shown)


def _show_rows(out: Console, shown: Table) -> None:
    from rich.text import Text  # slow to load

    titles = [str(column.header) for column in shown.columns]
    longest = max(map(len, titles))
    if shown.title:
        out.print(Text(str(shown.title), style="bold"))
    for row in zip(*(column.cells for column in shown.columns), strict=True):
        head, *rest = (cell.plain if isinstance(cell, Text) else str(cell) for cell in row)
        out.print(Text(head, style="bold"), soft_wrap=True)
        for title, cell in zip(titles[1:], rest, strict=True):
            line = f"{' ' * _BESIDE}{title.ljust(longest)} {cell}".rstrip()
            out.print(line, soft_wrap=True, markup=False, highlight=False)
    if shown.caption:
        out.print(str(shown.caption), markup=False, highlight=False)


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], numbers: Iterable[str] = ()) -> Table:
    """A rich table; the columns named in `numbers` are right-aligned."""
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


@contextlib.contextmanager
def progress_bar(keep: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Progress on standard error, as a function of what was finished, the steps done and the steps in all.

    A bar on a terminal. With `keep` what was finished stays as a line, also where there is no terminal.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # slow to load

    screen = console(stderr=True)
    columns: tuple[Any, ...] = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("starting", total=None)

        def show_step(what: str, done: int, steps: int) -> None:
            bar.update(task, description=what, completed=done, total=steps)
            if keep:
                screen.print(f"[{done}/{steps}] {what}", markup=False, highlight=False)

        yield show_step
