"""Command `fp9 recipes`: lists or shows training recipes, and measures claims of papers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import Command, UserError, echo, extra, progress_bar, show, table
from fp9.cli.words import Words

if TYPE_CHECKING:
    from fp9_ml.recipes import Recipe

_NO_UNIT = "none in the catalogue"
_HOST = "the host's FP32"
_NOTHING = {
    **dict.fromkeys(("activations", "weights", "gradients"), "not cast"),
    **dict.fromkeys(("forward", "dgrad", "wgrad"), _HOST),
    **dict.fromkeys(("output", "weight_gradients"), "not rounded"),
    **dict.fromkeys(("rounding", "backward_rounding"), "the format's own"),
    **dict.fromkeys(("first", "last", "depthwise"), "as all layers"),
}


def _recipes() -> Iterable[str]:
    from fp9_ml.recipes import RECIPES  # slow to load

    return RECIPES


def _claims() -> Iterable[str]:
    from fp9_ml.experiments.catalogue import CLAIMS  # slow to load

    return CLAIMS


@click.command(cls=Command, page="explanation/recipes.md")
@click.argument("name", metavar="[RECIPE]", required=False, type=Words(_recipes, files=True))
@click.option("--toml", is_flag=True, help="Print only the recipe, as a recipe file.")
@click.option("--units", is_flag=True, help="List the catalogue units that compute it.")
@click.option(
    "--reproduce",
    metavar="NAME",
    type=Words(_claims),
    help="Measure a claim: ptq, outliers, bias, gradients, softmax, bn, training, scratch, swamping, "
    "painting, residual, ring or scaling.",
)
@click.option("--seed", "seeds", type=int, multiple=True, help="Seed of --reproduce; repeat for more. Default: 7.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Also write the record and chart of --reproduce; an interrupted run continues.",
)
def recipes(
    name: str | None,
    toml: bool,
    units: bool,
    reproduce: str | None,
    seeds: tuple[int, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """List the training recipes, show RECIPE, or measure claims of papers.

    A training recipe sets a network's number formats, its accumulators, and the scaling of its tensors and its loss.
    RECIPE is the name of a training recipe or a TOML file. A name may change fields in parentheses. The exit code is 1
    if a measured value is out of bounds.

    
      fp9 recipes "hfp8(weights=f143(bias=14),wgrad=chunked(L=128))"
      fp9 recipes hfp8 --toml > mine.toml
      fp9 recipes mine.toml --units
      fp9 recipes --reproduce ptq --seed 7 --seed 8 --out build/recipes
    """
    if reproduce is not None:
        if name is not None or toml or units:
            raise UserError("--reproduce sets the networks and formats; leave RECIPE, --toml and --units out")
        _reproduce(reproduce, seeds, out, as_json)
        return
    if seeds or out is not None:
        raise UserError("--seed and --out are for --reproduce; name a claim, as in: fp9 recipes --reproduce ptq")
    from fp9_ml.recipes import RECIPES, dumps, recipe  # slow to load

    if name is None:
        if toml or units:
            raise UserError("--toml and --units are for one recipe; name it, as in: fp9 recipes hfp8 --units")
        every = [_record(spec) for spec in RECIPES.values()]
        columns = ["name", "activations", "weights", "gradients", "forward", "scale", "loss", "source"]
        rows = [
            [*(_shown(c, record[c]) for c in columns[:5]), r.scale.kind, r.loss.kind, r.source]
            for r, record in zip(RECIPES.values(), every, strict=True)
        ]
        show(every, as_json, table("Recipes", ["recipe", *columns[1:]], rows))
        return
    spec = recipe(name)
    if toml:
        echo(dumps(spec))
        return
    record = _record(spec)
    rows = [[field, _shown(field, value)] for field, value in record.items() if field != "units"]
    computed = [[what, ", ".join(names) or _NO_UNIT] for what, names in spec.units().items()]
    tables = [] if units else [table(spec.name, ["field", "value"], rows)]
    tables.append(table("Units that compute it", ["cast or product", "units"], computed or [["all", _HOST]]))
    show(record["units"] if units else record, as_json, *tables)


def _reproduce(name: str, seeds: tuple[int, ...], out: Path | None, as_json: bool) -> None:
    from fp9_ml.experiments.catalogue import NOT_REPRODUCED, claim  # slow to load
    from fp9_ml.experiments.claims_page import TWICE
    from fp9_ml.experiments.reproduce import SEEDS, reproduce, write

    claim(name)
    chosen = seeds or SEEDS[:1]
    with progress_bar() as progress:
        if out is None:
            record = reproduce(name, chosen, progress)
        else:
            with extra("rtl"):
                record = write(name, out, chosen, progress)
    rows = [
        [str(run["seed"]), bar["text"], *_limit(bar), f"{bar['measured']:.3g}", "holds" if bar["holds"] else "FAILS"]
        for run in record["runs"]
        for bar in run["bars"]
    ]
    bars = table(record["claim"], ["seed", "quantity", "bar", "measured", ""], rows, numbers=["seed", "measured"])
    spreads = [[bar["text"], bar["spread"]] for bar in record["runs"][0]["bars"] if "spread" in bar]
    set_from = [table(TWICE, ["quantity", "spread"], spreads)] if spreads else []
    missing = table("Not reproduced", ["claim", "why"], [list(item) for item in NOT_REPRODUCED.items()])
    over_seeds = [_spread(record)] if len(record["runs"]) > 1 else []
    show(record, as_json, bars, *over_seeds, *set_from, missing)
    if not record["reproduced"]:
        raise SystemExit(1)


def _spread(record: dict[str, Any]) -> Any:
    rows = []
    for bars in zip(*(run["bars"] for run in record["runs"]), strict=True):
        found = [bar["measured"] for bar in bars]
        rows.append([bars[0]["text"], *_limit(bars[0]), f"{min(found):.3g}", f"{max(found):.3g}"])
    title = f"Spread over {len(record['runs'])} seeds"
    return table(title, ["quantity", "bar", "least", "largest"], rows, numbers=["least", "largest"])


def _limit(bar: dict[str, Any]) -> list[str]:
    return [f"{side} {bar[side]:g}" for side in ("at least", "at most") if side in bar]


def _record(spec: Recipe) -> dict[str, Any]:
    said = {field: None if text == "none" else text for field, text in spec.spelled().items()}
    return said | {"units": {what: list(names) for what, names in spec.units().items()}}


def _shown(field: str, value: object) -> str:
    return _NOTHING.get(field, "-") if value is None else str(value)


COMMANDS = {"Numbers": (recipes,)}
