"""Commands of evidence: campaign, verify. They load their packages when called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fp9.cli.support import SEED, Command, Seconds, extra, keeps, load_unit, progress_bar, settings_option, show, table
from fp9.cli.words import UNIT, Words
from fp9_sim.records import PLACE, home

if TYPE_CHECKING:
    from fp9_sim.campaign import Debt

_CLAIMS = (
    "text",
    "recount",
    "functional",
    "proof",
    "grade",
    "last",
    "mapped",
    "constants",
    "area",
    "energy",
    "study",
    "peers",
    "sweep",
)


@click.command(cls=Command)
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@click.option("--claim", "wanted", type=Words(_CLAIMS), multiple=True, help="Only this kind of evidence; repeat.")
@click.option("--hours", type=float, help="Make what is owed, for so many hours.")
@click.option("--workers", type=click.IntRange(1), help="Processes; default: one for each core.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers do the work.")
@click.option(
    "--limit", type=Seconds(), metavar="SECONDS", default=600.0, show_default=True, help="Seconds for a case."
)
@click.option("--records", "folder", type=click.Path(path_type=Path), help=f"Folder of records; default: {PLACE}.")
def campaign(
    names: tuple[str, ...],
    wanted: tuple[str, ...],
    hours: float | None,
    workers: int | None,
    scheduler: str | None,
    limit: float,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Show what evidence is owed, and make it.

    Of each UNIT (default: the catalogue, and whatever else a page states figures of) and each kind of evidence: whether
    there is a record of the circuit that the unit has today. With --hours the records are made, the most valuable
    first: those that never were, then those of earlier circuits, the cheapest first. A campaign that was stopped goes
    on when the same command is run again. Exit code 1 where a record could not be made.

    \b
      fp9 campaign
      fp9 campaign fma_fp32_ocp --claim text
      fp9 campaign --hours 8 --scheduler tcp://10.0.0.1:8786
    """
    with extra("sim"):
        from fp9_sim import campaign as library  # slow to load
    unknown = next((name for name in wanted if name not in _CLAIMS), None)
    if unknown:
        raise ValueError(f"claim {unknown!r} given; give {', '.join(_CLAIMS)}")
    if hours is not None and not 0 < hours < float("inf"):
        raise ValueError(f"hours {hours:g} given; give a number of hours above 0")
    place = folder or home()
    units = [load_unit(name, ()) for name in names] or None
    chosen = [claim for claim in library.CLAIMS if claim.name in (wanted or _CLAIMS)]
    with progress_bar() as progress:
        debts = library.owed(units, place, chosen, progress)
    if hours is None:
        return _show(debts, as_json)
    keeps("the records that were made are kept, and the shards of a sweep; run the same command again for the others")
    with progress_bar() as progress:
        making = library.campaign(
            debts, place, hours=hours, limit=limit, workers=workers, scheduler=scheduler, progress=progress
        )
        ended = list(making)
    rows = [[end.debt.unit.name, end.debt.claim.name, f"{end.seconds:.1f}", end.said or str(end.path)] for end in ended]
    left = library.owed(units, place, chosen)
    record = {"made": [end.to_dict() for end in ended], "owed": [debt.to_dict() for debt in left]}
    show(record, as_json, table("Made", ["unit", "claim", "seconds", "record"], rows, numbers=["seconds"]), _sum(left))
    if any(end.path is None for end in ended):
        raise SystemExit(1)


def _show(debts: list[Debt], as_json: bool) -> None:
    rows = [[debt.unit.name, debt.claim.name, debt.why, _time(debt)] for debt in debts]
    owed = table("Owed", ["unit", "claim", "why", "made in"], rows)
    meant = [f"{claim.name}: {claim.says}" for claim in {debt.claim.name: debt.claim for debt in debts}.values()]
    show([debt.to_dict() for debt in debts], as_json, owed, *meant, _sum(debts))


def _time(debt: Debt) -> str:
    """How long the record takes; of one that a campaign does not pay, none."""
    if not debt.payable:
        return "-"
    return "unknown time" if debt.seconds is None else f"{debt.seconds:,.0f} s"


def _sum(debts: list[Debt]) -> str:
    """What is owed in all, in words."""
    payable = [debt for debt in debts if debt.payable]
    known = [debt.seconds for debt in payable if debt.seconds is not None]
    words = [f"{len(payable)} records to make, {sum(known) / 3600:.2f} hours of one worker"]
    if len(known) < len(payable):
        words.append(f"{len(payable) - len(known)} of unknown length beside them")
    if len(debts) > len(payable):
        words.append(f"{len(debts) - len(payable)} that a campaign does not pay")
    return "; ".join(words)


@click.command(cls=Command)
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Draws operations, case and mutants.")
@click.option(
    "--limit", type=Seconds(), metavar="SECONDS", default=30.0, show_default=True, help="Seconds for the case."
)
@settings_option
def verify(names: tuple[str, ...], seed: int, limit: float, settings: tuple[str, ...], as_json: bool) -> None:
    """Make a sample of the evidence of UNIT... again.

    The corner suite and random operations on its Verilog against the model, some of the model's results counted again
    in exact fractions, one case of its proof with a control that must be refuted, and single errors that the suite must
    notice. Exit code 1 where one of them fails.

    \b
      fp9 verify fma_dlfloat16_hfp8
      fp9 verify cast_fp32_ocp_rne --seed 7
    """
    with extra("sim"):
        from fp9_sim import campaign as library  # slow to load
    found = []
    with progress_bar() as progress:
        for done, unit in enumerate(load_unit(name, settings) for name in names):
            progress(unit.name, done, len(names))
            found += [(unit.name, sample) for sample in library.samples(unit, seed, limit)]
    ends = {None: "not decided", True: "passed", False: "FAILED"}
    rows = [[name, sample.what, ends[sample.passed], f"{sample.seconds:.1f}", sample.found] for name, sample in found]
    record = [{"unit": name, **sample.to_dict()} for name, sample in found]
    show(record, as_json, table("Verified", ["unit", "sample", "end", "seconds", "found"], rows, numbers=["seconds"]))
    if any(sample.passed is False for _, sample in found):
        raise SystemExit(1)


COMMANDS = (campaign, verify)
"""Commands of evidence."""
