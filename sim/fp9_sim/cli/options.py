"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def records_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for the folder of all records. The command receives it as argument `folder`."""
    return click.option(
        "--records",
        "folder",
        type=click.Path(path_type=Path),
        help="Folder of all records; default: records, where the current folder has it, else build/records.",
    )(function)
