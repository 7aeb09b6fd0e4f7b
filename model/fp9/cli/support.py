"""Base classes and parameter types of all fp9 commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fp9.cli.errors import DEBUG, UserError, extra, keeps, need_standard_output, one_sentence, sentence
from fp9.cli.output import console, echo, show, table
from fp9.cli.progress import QUIET, doing, progress_bar, under_way
from fp9.cli.words import SETTING

if TYPE_CHECKING:
    from fp9.units import Unit

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Group(click.Group):
    """Command group that prints its help if no command is given.

    `page` is the path of the group's documentation page under docs/.
    """

    def __init__(self, *args: Any, page: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **({"epilog": _documentation(page)} | settings))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)


class Commands(Group):
    """Top command group that turns a user error into one sentence and exit code 2."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.append(_debug_option())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with one_sentence(ctx):
            need_standard_output()
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with one_sentence(ctx):
            return super().invoke(ctx)


class Command(click.Command):
    """Command with the options `--json`, `--quiet` and `--debug`, and with a progress display.

    `page` is the path of the command's documentation page under docs/.
    """

    def __init__(self, *args: Any, page: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **({"epilog": _documentation(page)} | settings))
        self.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of tables."))
        self.params.append(_quiet_option())
        self.params.append(_debug_option())

    def invoke(self, ctx: click.Context) -> Any:
        with under_way(ctx):
            return super().invoke(ctx)


def _documentation(page: str | None) -> str | None:
    return None if page is None else f"Documentation: docs/{page}"


def _quiet_option() -> click.Option:
    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[QUIET] = value

    return click.Option(["--quiet"], is_flag=True, expose_value=False, callback=remember, help="Show no progress.")


def _debug_option() -> click.Option:
    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        ctx.meta[DEBUG] = ctx.meta.get(DEBUG, False) or value

    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=remember, help="Show a traceback with an error."
    )


SEED = click.IntRange(0)


class Integer(click.ParamType):  # type: ignore[type-arg]
    """Parameter type for a non-negative integer, decimal or with the prefix 0x or 0b."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(str(value), 0)
        except ValueError:
            number = -1
        if number < 0:
            self.fail(f"{value!r} given; give an integer of 0 or more, such as 4660 or 0x1234", param, ctx)
        return number


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """Parameter type for a time limit in seconds: above 0, and at most a week."""

    name = "seconds"
    _MOST = 7 * 24 * 3600

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds <= self._MOST:
            self.fail(f"{value!r} given; give a number of seconds above 0, at most {self._MOST}", param, ctx)
        return seconds


# --- the UNIT argument ---------------------------------------------------------------------------------------------


def settings_option(function: _Function) -> _Function:
    """Add the option `--set FIELD=VALUE` to a command.

    The command function receives the values given with `--set` in its argument `settings`.
    """
    option = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="FIELD=VALUE",
        type=SETTING,
        help="Change a field of the spec; repeat for more.",
    )
    return option(function)


def load_unit(name: str, settings: Iterable[str] = ()) -> Unit:
    """Return the unit that a command's argument UNIT and its options `--set` describe."""
    from fp9.units import toml as unitfile  # slow to load

    return unitfile.load(name, settings)


__all__ = [
    "SEED",
    "Command",
    "Commands",
    "Group",
    "Integer",
    "Seconds",
    "UserError",
    "console",
    "doing",
    "echo",
    "extra",
    "keeps",
    "load_unit",
    "need_standard_output",
    "one_sentence",
    "progress_bar",
    "sentence",
    "settings_option",
    "show",
    "table",
]
