"""The command of recipes: how the formats are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fp9.cli.support import Command, UserError, show, table

if TYPE_CHECKING:
    from fp9.recipes import Recipe

_NO_UNIT = "none in the catalogue"
_HOST = "the host's FP32"
_NOTHING = {
    **dict.fromkeys(("activations", "weights", "gradients"), "not cast"),
    **dict.fromkeys(("forward", "dgrad", "wgrad"), _HOST),
    **dict.fromkeys(("output", "weight_gradients"), "not rounded"),
    **dict.fromkeys(("rounding", "backward_rounding"), "the format's own"),
    **dict.fromkeys(("first", "last", "depthwise"), "as all layers"),
}
"""What it means that a field has none."""


@click.command(cls=Command)
@click.argument("name", metavar="[RECIPE]", required=False)
@click.option("--toml", is_flag=True, help="Print the recipe alone, as the file that it is.")
@click.option("--units", is_flag=True, help="The units of the catalogue that compute it.")
def recipes(name: str | None, toml: bool, units: bool, as_json: bool) -> None:
    """List the recipes, or show RECIPE.

    A recipe says how formats are used: formats by role, engines, scaling of tensors and of the loss. RECIPE is a name,
    fields changed in parentheses where they shall be, or a TOML file.

    \b
      fp9 recipes "hfp8(weights=f143(bias=14),wgrad=chunked(L=128))"
      fp9 recipes hfp8 --toml > mine.toml
      fp9 recipes mine.toml --units
    """
    from fp9.recipes import RECIPES, dumps, recipe

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
        click.echo(dumps(spec), nl=False)
        return
    record = _record(spec)
    rows = [[field, _shown(field, value)] for field, value in record.items() if field != "units"]
    computed = [[what, ", ".join(names) or _NO_UNIT] for what, names in spec.units().items()]
    tables = [] if units else [table(spec.name, ["field", "value"], rows)]
    tables.append(table("Units that compute it", ["cast or product", "units"], computed or [["all", _HOST]]))
    show(record["units"] if units else record, as_json, *tables)


def _record(spec: Recipe) -> dict[str, Any]:
    """The recipe as its fields' texts (None for none), and the units that compute it."""
    said = {field: None if text == "none" else text for field, text in spec.spelled().items()}
    return said | {"units": {what: list(names) for what, names in spec.units().items()}}


def _shown(field: str, value: object) -> str:
    return _NOTHING.get(field, "-") if value is None else str(value)


COMMANDS = (recipes,)
