"""Entry point of the command `fp9`, which groups the commands of all installed packages."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import click

from fp9.cli.support import Commands
from fp9.system.version import __version__

# Each package registers its commands as entry points, so that `fp9` does not import the packages above it.
COMMANDS = "fp9.commands"


GROUPS = ("Numbers", "Units", "Verification", "Cost", "Other implementations", "Project")


class _Packages(Commands):
    """Command group that loads the commands of all installed packages on its first use."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.groups: dict[str, list[str]] = {group: [] for group in GROUPS}

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._load()
        return [name for names in self.groups.values() for name in names]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        self._load()
        return super().get_command(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._load()
        width = max(map(len, self.commands))
        for group, names in self.groups.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), self.commands[name].get_short_help_str(80)) for name in names])

    def _load(self) -> None:
        if self.commands:
            return
        for package in entry_points(group=COMMANDS):
            for group, commands in package.load().items():
                for command in commands:
                    self.add_command(command)
                    self.groups[group].append(command.name)


@click.group(
    cls=_Packages,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="UNIT is a name that `fp9 units` lists or a TOML file that describes a unit; --set FIELD=VALUE changes it. "
    "`fp9 help TOPIC` finds documentation, such as: fp9 help mutation testing",
)
@click.version_option(__version__, prog_name="fp9")
def main() -> None:
    """Model, verify and generate 8-bit floating-point hardware.

    One unit specification gives a bit-accurate model, golden vectors, Verilog, a regression on two simulators, and
    estimates of area and delay. Start with:

    \b
      fp9 formats                  list the number formats
      fp9 cast 0.3 17 --to hif8    cast numbers, bit by bit
      fp9 rtl fma_fp32 -o fma.v    write a unit's Verilog
      fp9 demo                     run the whole flow on real data
    """
