"""The command for zero-operand gating: toggles. It loads its packages when called."""

from __future__ import annotations

import dataclasses

import click

from fp9.cli.support import Command, extra, load_unit, progress_bar, settings_option, show, table
from fp9.cli.words import UNIT


@click.command(cls=Command)
@click.argument("name", metavar="UNIT", type=UNIT)
@click.option("--zeros", "shares", type=float, multiple=True, help="Share of zero products; default: 0, 0.5 and 0.9.")
@click.option("--count", type=click.IntRange(1, 1 << 20), default=20_480, show_default=True, help="Operations.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the operations.")
@settings_option
def toggles(
    name: str, shares: tuple[float, ...], count: int, seed: int, settings: tuple[str, ...], as_json: bool
) -> None:
    """Count the toggles of UNIT with and without gate_zeros.

    In a netlist of two-input gates, an operation a clock, by submodule. Toggles are not power: glitches, loads, wires
    and the clock are not counted.

    \b
      fp9 toggles mac_dlfloat16_gated
      fp9 toggles fma_fp32 --set stages=3 --zeros 0.75
    """
    with extra("sim"):
        from fp9_sim.netlists import toggles as counting  # slow to load
    unit, shares = load_unit(name, settings), shares or (0.0, 0.5, 0.9)
    measured = []
    with progress_bar() as progress:
        for done, zeros in enumerate(shares, start=1):
            measured.append(counting.toggles(unit, zeros, count=count, seed=seed))
            progress(f"{unit.name}: {zeros:.0%} zeros", done, len(shares))
    columns = [f"{pair[0].zeros:.0%}{', gated' * side.gated}" for pair in measured for side in pair]
    found = [side for pair in measured for side in pair]
    parts = dict.fromkeys(part for side in found for part in side.by_submodule)
    rows = [
        [part, *(f"{side.by_submodule[part]:.1f}" if part in side.by_submodule else "" for side in found)]
        for part in parts
    ]
    rows.append(["all", *(f"{side.total:.1f}" for side in found)])
    plain, gated = measured[0]
    sizes = (
        f"{plain.gates} gates and {plain.flip_flops} flip-flops, "
        f"gated {gated.gates} and {gated.flip_flops}; {plain.operations:,} operations"
    )
    record = [{**dataclasses.asdict(side), "total": side.total} for side in found]
    title = f"{unit.name}: toggles of an operation, by share of zero products"
    show(record, as_json, table(title, ["submodule", *columns], rows, numbers=columns), sizes)


COMMANDS = (toggles,)
"""Commands that count toggles."""
