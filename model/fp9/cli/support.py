"""What all commands share: one-sentence errors, `--json` and `--debug`, the UNIT argument, tables."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fp9.system.missing import MissingTool

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from fp9.units import Unit

_Function = TypeVar("_Function", bound=Callable[..., Any])
_DEBUG = "fp9.debug"
_USER_ERRORS = (ValueError, TypeError, OSError, MissingTool)
"""What a user can cause."""


# --- errors --------------------------------------------------------------------------------------------------------


class UserError(click.ClickException):
    """One sentence for the user on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the sentence, on one line."""
        click.echo(f"fp9: {' '.join(self.message.split())}", file=file or sys.stderr)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        reason = (error.strerror or "cannot be used").lower()
        return f"{error.filename}: {reason}; give another path or change its rights"
    return str(error) or type(error).__name__


@contextlib.contextmanager
def _one_sentence(ctx: click.Context | None) -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fp9"
        raise UserError(f"{error.format_message().rstrip('.')}; see {command} --help") from error
    except BrokenPipeError:
        raise
    except _USER_ERRORS as error:
        if ctx is not None and ctx.meta.get(_DEBUG):
            raise
        raise UserError(_sentence(error)) from error


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Imports that need the optional packages of `fp9[name]`; their absence becomes a sentence."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("fp9"):
            raise
        raise UserError(
            f"this command needs {error.name}, which is not installed; run: pip install 'fp9[{name}]'"
        ) from error


class Group(click.Group):
    """Commands under one name; without a command, their help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the group's own options."""
        if not args:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


class Commands(Group):
    """The top group: turns every error a user can cause into one sentence and exit code 2."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.append(_debug_option())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the group's own options."""
        with _one_sentence(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _one_sentence(ctx):
            return super().invoke(ctx)


class Command(click.Command):
    """A command with `--json` (passed on as `as_json`) and `--debug`."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of tables."))
        self.params.append(_debug_option())


def _debug_option() -> click.Option:
    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[_DEBUG] = ctx.meta.get(_DEBUG, False) or value

    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=remember, help="Show a traceback with an error."
    )


# --- the UNIT argument ---------------------------------------------------------------------------------------------


def settings_option(function: _Function) -> _Function:
    """Adds `--set FIELD=VALUE`, passed on as `settings`."""
    option = click.option(
        "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Change a field of the spec; repeat for more."
    )
    return option(function)


def load_unit(name: str, settings: Iterable[str] = ()) -> Unit:
    """The unit that a UNIT argument and its settings mean."""
    from fp9.units import toml as unitfile

    return unitfile.load(name, settings)


# --- output --------------------------------------------------------------------------------------------------------

PIPED_WIDTH = 140
"""Columns of a table where standard output is no terminal."""


def console(stderr: bool = False) -> Console:
    """Rich's console on standard output, or on standard error for progress."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else PIPED_WIDTH)


def show(record: object, as_json: bool, *tables: RenderableType) -> None:
    """Print the record as JSON, or the tables made from it."""
    if as_json:
        click.echo(json.dumps(record, indent=2))
        return
    out = console()
    for table in tables:
        out.print(table)


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], numbers: Iterable[str] = ()) -> Table:
    """A rich table; the columns named in `numbers` are right-aligned."""
    from rich import box
    from rich.table import Table

    right = set(numbers)
    result = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        result.add_column(column, justify="right" if column in right else "left")
    for row in rows:
        result.add_row(*(str(cell) for cell in row))
    return result


@contextlib.contextmanager
def progress_bar(keep: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Progress on standard error, as a function of what was finished, the steps done and the steps in all.

    A bar on a terminal. With `keep` what was finished stays as a line, also where there is no terminal.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("starting", total=None)

        def show_step(what: str, done: int, steps: int) -> None:
            bar.update(task, description=what, completed=done, total=steps)
            if keep:
                screen.print(f"[{done}/{steps}] {what}", markup=False, highlight=False)

        yield show_step
