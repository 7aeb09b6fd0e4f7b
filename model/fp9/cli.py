"""The command `fp9`: every command parses, calls the library and prints. Errors are one sentence."""

from __future__ import annotations

import click

import fp9
from fp9 import (
    cli_error,
    cli_foreign,
    cli_gemm,
    cli_hardware,
    cli_model,
    cli_prove,
    cli_study,
    cli_sweep,
    cli_tables,
    cli_toggles,
)
from fp9.cli_support import Commands


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="UNIT is a name that `fp9 units` lists or a TOML file that describes a unit; --set FIELD=VALUE changes it.",
)
@click.version_option(fp9.__version__, prog_name="fp9")
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


for command in (
    *cli_model.COMMANDS,
    *cli_hardware.COMMANDS,
    *cli_gemm.COMMANDS,
    *cli_prove.COMMANDS,
    *cli_sweep.COMMANDS,
    *cli_foreign.COMMANDS,
    *cli_study.COMMANDS,
    *cli_tables.COMMANDS,
    *cli_toggles.COMMANDS,
    *cli_error.COMMANDS,
):
    main.add_command(command)
