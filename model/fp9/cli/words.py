"""Parameter types for names such as UNIT, FORMAT and ENGINE, with shell completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from fp9.cli.output import TAKEN
from fp9.system.files import STANDARD_OUTPUT


class Words(click.ParamType):  # type: ignore[type-arg]
    """Parameter type for a name, with shell completion from a list of names.

    If `files` is true and no name matches, the shell completes file paths.
    """

    name = "text"

    def __init__(self, names: Iterable[str] | Callable[[], Iterable[str]], files: bool = False) -> None:
        self._names = names
        self._files = files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = self._names() if callable(self._names) else self._names
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if self._files else [])


class OutFile(click.Path):
    """Parameter type for an output file, where `-` means standard output."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if ctx is not None and str(path) == STANDARD_OUTPUT:
            ctx.meta[TAKEN] = True
        return path


def _units() -> Iterable[str]:
    from fp9.units import CATALOGUE  # slow to load

    return CATALOGUE


def _formats() -> Iterable[str]:
    from fp9.formats import FAMILIES, NAMED  # slow to load

    return [*NAMED, *FAMILIES]


def _formats_and_blocks() -> Iterable[str]:
    from fp9.formats.blocks import BLOCK_FORMATS  # slow to load

    return dict.fromkeys([*_formats(), *BLOCK_FORMATS])


def _engines() -> Iterable[str]:
    from fp9.engines import ENGINES  # slow to load

    return ENGINES


class Setting(click.ParamType):  # type: ignore[type-arg]
    """Parameter type for `FIELD=VALUE`, with shell completion of field names and values."""

    name = "text"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from fp9.units import CATALOGUE, form  # slow to load

        # While the option has no value yet, click keeps the preceding words in `ctx.args`.
        named = [
            word for word in (ctx.params.get("name"), *(ctx.params.get("names") or ()), *ctx.args) if word in CATALOGUE
        ]
        fields = {entry.name: entry for name in named for entry in form.entries(CATALOGUE[name])}
        field, equals, _ = incomplete.partition("=")
        if not equals:
            return [CompletionItem(f"{name}=") for name in fields if name.startswith(field)]
        offered = fields[field].offered if field in fields else ()
        settings = [f"{field}={value}" for value in offered]
        return [CompletionItem(setting) for setting in settings if setting.startswith(incomplete)]


def _roundings() -> Iterable[str]:
    from fp9.formats.rounding import Rounding  # slow to load

    return [rounding.value for rounding in Rounding]


OUT_FILE = OutFile()
UNIT = Words(_units, files=True)
FORMAT = Words(_formats)
FORMAT_OR_BLOCK = Words(_formats_and_blocks)
ENGINE = Words(_engines)
SETTING = Setting()
ROUNDING = Words(_roundings)
OVERFLOW = Words(("saturate", "inf", "directed"))
SIMULATOR = Words(("icarus", "verilator"))
