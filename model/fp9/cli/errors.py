"""One-sentence error messages of commands, and their exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import click

from fp9.system.missing import MissingTool, install_hint
from fp9.system.reading import not_text

DEBUG = "fp9.debug"
_KEPT = "fp9.kept"
_USER_ERRORS = (ValueError, TypeError, OSError, MissingTool)

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the signal's number, as in shells."""

BROKEN_PIPE = 141
"""Exit code after a closed pipe on standard output: 128 plus the signal's number."""


class UserError(click.ClickException):
    """User error that prints one sentence on standard error and exits with code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"fp9: {' '.join(self.message.split())}", file=file or sys.stderr)


class Interrupted(UserError):
    """Error that Ctrl-C raises.

    The error message says how the user can continue the interrupted command.
    """

    exit_code = INTERRUPTED


def keeps(sentence: str) -> None:
    """Set the message that Ctrl-C prints: which results are stored, and how to continue the command."""
    click.get_current_context().meta[_KEPT] = sentence


_NOTHING_KEPT = "files are written whole or not at all; run the same command to start again"


@contextlib.contextmanager
def one_sentence(ctx: click.Context | None) -> Iterator[None]:
    """Context manager that turns exceptions of a command into one-sentence error messages."""
    try:
        yield
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fp9"
        raise UserError(f"{error.format_message().rstrip('.')}; see {command} --help") from error
    except KeyboardInterrupt:
        # Amaranth warns about objects that the interrupt leaves unused.
        warnings.filterwarnings("ignore", message=".* created but never used")
        kept = ctx.meta.get(_KEPT) if ctx is not None else None
        raise Interrupted(f"interrupted; {kept or _NOTHING_KEPT}") from None
    except BrokenPipeError as error:
        if error.filename is not None:
            raise UserError(sentence(error)) from error
        _drop_output()
        raise SystemExit(BROKEN_PIPE) from None
    except MemoryError as error:
        if _is_loud(ctx):
            raise
        raise UserError("there is not enough memory for this; ask for less at once") from error
    except _USER_ERRORS as error:
        if isinstance(error, OSError) and error.filename is None:
            _drop_output()
        if _is_loud(ctx):
            raise
        raise UserError(sentence(error)) from error


def _is_loud(ctx: click.Context | None) -> bool:
    return ctx is not None and ctx.meta.get(DEBUG, False)


def sentence(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"the input {not_text(error)}; give text"
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error) or type(error).__name__
    if error.filename is None:
        return f"standard output: {error.strerror.lower()}; send it elsewhere"
    return f"{error.filename}: {error.strerror.lower()}; give another path or change its rights"


def _drop_output() -> None:
    # Without the null device, Python would fail when it writes the buffered output at exit.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def need_standard_output() -> None:
    """Raise UserError if standard output is closed, before the command does any work."""
    if sys.stdout is None:
        raise UserError("standard output is closed; open it, or send it to /dev/null")


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Context manager that raises a one-sentence error if an import needs a missing pip extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("fp9"):
            raise
        raise UserError(
            f"this command needs {error.name}, which is not installed; run: {install_hint(name)}"
        ) from error
