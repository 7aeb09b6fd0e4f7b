"""Report of `fp9 energy --toggles`, which counts toggles with and without zero gating."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fp9.cli.support import extra, progress_bar, show, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fp9.units import Unit
    from fp9_sim.netlists.toggles import Toggles


def show_toggles(units: Iterable[Unit], shares: tuple[float, ...], count: int, seed: int, as_json: bool) -> None:
    """Print a table of the toggles of each unit, with and without zero-operand gating (`gate_zeros`)."""
    with extra("sim"):
        from fp9_sim.netlists import toggles as counting  # slow to load
    records: list[dict[str, object]] = []
    tables: list[RenderableType] = []
    for unit in units:
        measured = []
        with progress_bar() as progress:
            for done, zeros in enumerate(shares, start=1):
                measured.append(counting.toggles(unit, zeros, count=count, seed=seed))
                progress(f"{unit.name}: {zeros:.0%} zeros", done, len(shares))
        records += [{**dataclasses.asdict(side), "total": side.total} for pair in measured for side in pair]
        tables += _table(unit.name, measured)
    show(records, as_json, *tables)


def _table(name: str, measured: list[tuple[Toggles, Toggles]]) -> list[RenderableType]:
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
    title = f"{name}: toggles of an operation, by share of zero products"
    return [table(title, ["submodule", *columns], rows, numbers=columns), sizes]
