"""Command-line options that choose the simulated operations and the Verilog files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import SEED
from fp9.cli.words import Words

if TYPE_CHECKING:
    from fp9.units import Unit
    from fp9.vectors import VectorSet

_PATH = click.Path(path_type=Path)
_SUITES = ("smoke", "corner", "random", "full")


@dataclass(frozen=True)
class Wanted:
    """Option values that choose the simulated operations, the Verilog files to read, and the files to write."""

    simulators: tuple[str, ...]
    path: Path | None
    verilog: tuple[Path, ...]
    suite: str | None
    count: int
    first: int | None
    around: int | None
    seed: int
    waves: Path | None
    coverage: Path | None

    def vectors(self, unit: Unit) -> VectorSet:
        from fp9 import vectors as library  # slow to load
        from fp9_sim.regression import neighbourhood  # slow to load

        if self.path is not None:
            made = library.read_for(unit, self.path)
        elif self.suite is not None:
            made = library.generate(unit, self.suite, self.count if self.suite == "random" else None, self.seed)
        else:
            corner = library.generate(unit, "corner", seed=self.seed)
            made = library.concatenate([corner, library.generate(unit, "random", self.count, self.seed)])
        if self.around is not None:
            return neighbourhood(made, self.around)
        return neighbourhood(made, 0, self.first) if self.first is not None else made


def operation_options(function: Any) -> Any:
    options = (
        click.option("--vectors", "path", type=_PATH, help="Vector file to simulate; default: generated."),
        click.option("--verilog", type=_PATH, multiple=True, help="Files of an edited UNIT; default: generated."),
        click.option("--suite", type=Words(_SUITES), help=f"{', '.join(_SUITES)}; default: corner and random."),
        click.option("--count", type=click.IntRange(1), default=2000, show_default=True, help="Random operations."),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of operations and stalls."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def edited(unit: Unit, files: tuple[Path, ...]) -> str | None:
    from fp9_sim.third_party import source_text  # slow to load

    return source_text(files, unit.name) if files else None
