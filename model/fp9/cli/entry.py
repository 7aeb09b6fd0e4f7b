"""The command `fp9`: every command parses, calls the library and prints. Errors are one sentence."""

from __future__ import annotations

from importlib.metadata import entry_points

import click

from fp9.cli.support import Commands
from fp9.version import __version__

COMMANDS = "fp9.commands"
"""Group of entry points: each package brings its own commands, so that nothing here knows the packages above."""


class _Packages(Commands):
    """The commands of all installed packages, loaded when the first one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of a name."""
        self._load()
        return super().get_command(ctx, name)

    def _load(self) -> None:
        if self.commands:
            return
        for package in entry_points(group=COMMANDS):
            for command in package.load():
                self.add_command(command)


@click.group(
    cls=_Packages,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="UNIT is a name that `fp9 units` lists or a TOML file that describes a unit; --set FIELD=VALUE changes it.",
)
@click.version_option(__version__, prog_name="fp9")
def main() -> None:
    """8-bit floating point, from a format's name to gates.

    One spec of a unit gives a bit-accurate model, golden vectors, Verilog, a regression on two simulators, and an
    estimate of area and delay. To begin with:

    \b
      fp9 formats                  the number formats
      fp9 cast 0.3 17 --to hif8    a cast, bit by bit
      fp9 rtl fma_fp32 -o fma.v    a unit's Verilog
      fp9 demo                     the whole line on real data
    """
