"""Commands of the group `fp9 records`: status, update, verify, pages and study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import (
    SEED,
    Command,
    Group,
    Seconds,
    UserError,
    extra,
    keeps,
    load_unit,
    progress_bar,
    settings_option,
    show,
    table,
)
from fp9.cli.words import UNIT, Words
from fp9.system.files import write_whole
from fp9_sim.cli.options import records_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fp9_sim.evidence import Claim, Item

_ABOUT = ("function", "form", "all")


@click.group(cls=Group, page="verification/records.md")
def records() -> None:
    """Show, update and verify the records of measurements.

    A claim about a unit's function (sweep, proof) is also valid for circuits proven equivalent to the measured circuit.
    If the circuit of a unit changes, claims about the circuit's form (mutation, area, energy) are measured again.

    \b
      fp9 records status
      fp9 records update --claims function
    """


def _claims_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--claims",
        "about",
        type=Words(lambda: _claims()),  # the names are slow to load
        default="all",
        show_default=True,
        help="Claims about the function of a circuit, its form, or all. Or one claim, such as area.",
    )


@records.command(cls=Command, page="verification/records.md")
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@_claims_option()
@records_option
@click.option("--every", is_flag=True, help="Show valid records, too.")
@click.option("--studies", "compare", is_flag=True, help="Compare the circuits of cost studies with the recorded ones.")
def status(names: tuple[str, ...], about: str, folder: Path | None, every: bool, compare: bool, as_json: bool) -> None:
    """List stale and missing records, and the time to measure.

    The state of a record is: valid, valid by an equivalence proof, stale, missing, or failed. A unit is certified if
    every claim about the unit holds. Without UNIT, the command examines the whole catalogue, and also lists missing
    studies and comparisons. With --studies, the command also compares the circuits of the cost studies with the
    recorded circuits, which takes minutes.

    
      fp9 records status
      fp9 records status fma_fp32_ocp --every
    """
    _known(about)
    place = _place(folder)
    items = _items(names, about, place)
    with extra("sim"):
        from fp9_sim import evidence  # slow to load
        from fp9_sim.evidence import measurements  # slow to load
    others = [] if names else list(measurements.status(place, compare))
    shown = [item for item in items if every or not item.finding.holds]
    rows = [[i.unit.name, i.claim.name, i.claim.about, i.finding.state.value, i.finding.why, _cost(i)] for i in shown]
    columns = ["unit", "claim", "about", "state", "why", "seconds"]
    units = {item.unit.name for item in items}
    lines = [f"{len(evidence.certified(items))} of {len(units)} units are certified", evidence.summary(items)]
    tables = [table("Records", columns, rows, numbers=["seconds"])]
    if others:
        told = [other for other in others if every or not other.finding.holds]
        cells = [[other.file, other.finding.state.value, other.finding.why, other.command] for other in told]
        tables += [table("Studies and comparisons", ["record", "state", "why", "command"], cells)] if told else []
        valid = sum(other.finding.holds for other in others)
        lines.append(f"{valid} of {len(others)} studies and comparisons are recorded")
    show([item.to_dict() for item in items] + [other.to_dict() for other in others], as_json, *tables, *lines)


@records.command(cls=Command, page="verification/records.md")
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@_claims_option()
@click.option("--hours", type=float, help="Measure what is stale or missing, for so many hours.")
@click.option("--jobs", "workers", type=click.IntRange(1), help="Processes; default: one for each core.")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers do the work.")
@click.option(
    "--timeout",
    "limit",
    type=Seconds(),
    metavar="SECONDS",
    default=600.0,
    show_default=True,
    help="Seconds for one comparison of circuits and for one case of a proof.",
)
@records_option
def update(
    names: tuple[str, ...],
    about: str,
    hours: float | None,
    workers: int | None,
    scheduler: str | None,
    limit: float,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Bring records up to date.

    Without UNIT, the command updates all units of the catalogue. If a unit's circuit has changed, a solver compares it
    with the circuit that the records certify. If the two circuits are equivalent, records about the unit's function are
    valid again. With --hours, the command compares circuits first, and then makes missing records and repeats stale
    measurements. Missing records come first, and short measurements come before long measurements. To continue a
    stopped update, run the same command again. The exit code is 1 if a record could not be made.

    
      fp9 records update --claims function
      fp9 records update fma_fp32_ocp --hours 2
      fp9 records update --hours 8 --scheduler tcp://10.0.0.1:8786
    """
    if hours is not None and not 0 < hours < float("inf"):
        raise ValueError(f"hours {hours:g} given; give a number of hours above 0")
    _known(about)
    place = _place(folder)
    with extra("sim"):
        from fp9_sim import evidence  # slow to load
    keeps("finished records and shards of sweeps are stored; run the same command again for the others")
    items = _items(names, about, place)
    with progress_bar() as progress:
        options: dict[str, Any] = {"limit": limit, "workers": workers, "scheduler": scheduler, "progress": progress}
        compared = list(evidence.joined(items, place, **options))
        if any(found and found.proven for _, found in compared):
            items = _items(names, about, place)
        ended = list(evidence.update(items, place, hours=hours, **options)) if hours else []
    left = _items(names, about, place) if ended else items
    pairs = [
        [unit.name, found.state.value, found.control.value, found.tool, f"{found.seconds:.1f}"]
        if found
        else [unit.name, "no certified circuit", "", "", ""]
        for unit, found in compared
    ]
    made = [[e.item.unit.name, e.item.claim.name, f"{e.seconds:.1f}", e.complaint or str(e.path)] for e in ended]
    result = {
        "compared": [{"unit": row[0], "state": row[1], "control": row[2]} for row in pairs],
        "made": [end.to_dict() for end in ended],
        "left": [item.to_dict() for item in left if not item.finding.holds],
    }
    columns = ["unit", "equivalence", "control", "tool", "seconds"]
    tables = [table("Compared with certified circuits", columns, pairs, numbers=["seconds"])] if pairs else []
    if made:
        tables.append(table("Measured", ["unit", "claim", "seconds", "record"], made, numbers=["seconds"]))
    show(result, as_json, *tables, evidence.summary(left))
    if any(end.path is None for end in ended):
        raise SystemExit(1)


@records.command(cls=Command, page="verification/records.md")
@click.argument("names", metavar="UNIT...", nargs=-1, required=True, type=UNIT)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Seed that selects operations, a proof case and mutants."
)
@click.option(
    "--timeout",
    "limit",
    type=Seconds(),
    metavar="SECONDS",
    default=30.0,
    show_default=True,
    help="Seconds for the proof case.",
)
@click.option("--whole", is_flag=True, help="Compute whole suites by the reference model; a minute for each unit.")
@settings_option
def verify(
    names: tuple[str, ...], seed: int, limit: float, whole: bool, settings: tuple[str, ...], as_json: bool
) -> None:
    """Check a random sample of the evidence about UNIT... again.

    For the corner suite and random operations, the simulated Verilog must give the golden results. For random
    operations, the independent reference model must also give the golden results. A solver must prove one case of the
    unit's proofs and refute the control, a deliberately wrong specification. The corner suite must kill some random
    mutants. The exit code is 1 if a check fails.

    
      fp9 records verify fma_dlfloat16_hfp8
      fp9 records verify cast_fp32_ocp_rne --seed 7
    """
    with extra("sim"):
        from fp9_sim import evidence  # slow to load
    found = []
    with progress_bar() as progress:
        for done, unit in enumerate(load_unit(name, settings) for name in names):
            progress(unit.name, done, len(names))
            found += [(unit.name, sample) for sample in evidence.samples(unit, seed, limit, whole)]
    ends = {None: "not decided", True: "passed", False: "FAILED"}
    rows = [[name, sample.what, ends[sample.passed], f"{sample.seconds:.1f}", sample.found] for name, sample in found]
    record = [{"unit": name, **sample.to_dict()} for name, sample in found]
    show(record, as_json, table("Verified", ["unit", "sample", "end", "seconds", "found"], rows, numbers=["seconds"]))
    if any(sample.passed is False for _, sample in found):
        raise SystemExit(1)


@records.command(cls=Command, page="verification/records.md")
@click.argument("names", metavar="[UNIT]...", nargs=-1, type=UNIT)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("build/pages"),
    show_default=True,
    help="Folder of the pages.",
)
@records_option
def pages(names: tuple[str, ...], out: Path, folder: Path | None, as_json: bool) -> None:
    """Build the pages of results from the records.

    The pages are the data sheet of each UNIT (default: the catalogue), the verification results, and the energy study.
    A page says so if a record is stale or missing.

    
      fp9 records pages
      fp9 records pages fma_fp32_ocp --out build/pages
    """
    place = _place(folder)
    with extra("docs"):
        from fp9_sim.evidence import site  # slow to load
    units = [load_unit(name, ()) for name in names] or None
    written = []
    with progress_bar() as progress:
        total = len(names) + 4 if names else len(site.names())
        for path, text in site.built(place, units):
            write_whole(out / path, text)
            written.append(str(out / path))
            progress(path, len(written), total)
    show(written, as_json, f"{len(written)} pages and pictures in {out}")


@records.command(cls=Command, page="verification/records.md")
@click.argument("names", metavar="STUDY...", nargs=-1, required=True)
@records_option
def study(names: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """Measure cost studies and write their records.

    The command `fp9 study --list` lists the studies. Each STUDY is measured in the cell libraries osu018 and nangate45.

    
      fp9 records study decoders
    """
    place = _place(folder)
    with extra("rtl"):
        from fp9_sim.evidence import studies  # slow to load
    keeps("mapped netlists are cached; run the same command again to map the rest")
    with progress_bar(keep=True) as progress:
        written = [str(studies.measure(name, place, progress)) for name in names]
    show(written, as_json, *written)


def _known(about: str) -> None:
    if about not in (offered := _claims()):
        raise UserError(f"claims {about!r} given; give {', '.join(offered)}")


def _claims() -> tuple[str, ...]:
    """Return the values that the option --claims accepts: groups of claims, then names of single claims."""
    with extra("sim"):
        from fp9_sim import evidence  # slow to load
    return (*_ABOUT, *(claim.name for claim in evidence.CLAIMS))


def _place(folder: Path | None) -> Path:
    with extra("sim"):
        from fp9_sim.records import HOME  # slow to load
    place = folder or HOME
    if folder is None and not place.is_dir():
        raise UserError(f"no folder {place.absolute()}; run in a checkout of fp9 or give --records FOLDER")
    return place


def _items(names: tuple[str, ...], about: str, place: Path) -> list[Item]:
    with extra("sim"):
        from fp9_sim import evidence  # slow to load
    claims: Sequence[Claim] = [claim for claim in evidence.CLAIMS if about in (claim.about, claim.name, "all")]
    units = [load_unit(name, ()) for name in names] or None
    with progress_bar() as progress:
        return evidence.status(units, place, claims, progress)


def _cost(item: Item) -> str:
    if not item.pending:
        return ""
    return "unknown" if item.seconds is None else f"{item.seconds:,.0f}"
