"""Command-line options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def records_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--records",
        "folder",
        type=click.Path(path_type=Path),
        help="Folder of all records; default: records, where the current folder has it, else build/records.",
    )(function)
