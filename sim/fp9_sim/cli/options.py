"""Command-line options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def records_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for the folder of all records to a command.

    The command receives the folder as the argument `folder`.
    """
    return click.option(
        "--records",
        "folder",
        type=click.Path(path_type=Path),
        help="Folder of all records; default: records, where the current folder has it, else build/records.",
    )(function)
