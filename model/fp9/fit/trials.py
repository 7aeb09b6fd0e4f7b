"""Whether fits find what they are given: every preset, and engines at random, as boxes.

python -m fp9.fit.trials presets --out docs/fit/presets.json
python -m fp9.fit.trials random --count 1000 --out trials.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fp9.engines import ENGINES, Engine
from fp9.fit import fields
from fp9.fit.box import Box
from fp9.fit.interface import Interface
from fp9.fit.job import CALLS, fit
from fp9.fit.probes import drawn, structured
from fp9.fit.vectors import Predictions
from fp9.formats import fixed_format, format
from fp9.sums.products import dot
from fp9.system.files import write_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOTS = 10**6
"""Sums on which an engine that is not the same must be equal."""

_PART = 20_000
_DEPTH = 32
_PRODUCTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
_SIDES = (
    *(("e4m3", "e4m3", "fp32"), ("e5m2", "e5m2", "fp16"), ("e4m3", "e5m2", "fp16"), ("e5m2", "e4m3", "fp32")),
    ("e4m3", "e4m3", "bf16"),
)


@dataclass(frozen=True)
class Trial:
    """What a fit made of a known engine: `same` fields, or `equal` on all sums that were compared."""

    seed: int
    given: str
    found: str | None
    operands: str
    depth: int
    calls: int
    same: bool
    equal: bool


def boxed(engine: Engine, interface: Interface) -> Box:
    """An engine of the model as a unit whose inside is not known."""

    def ask(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Any:
        return dot(a, b, interface.a, interface.b, engine, c, format_c=engine.addend_format)

    return Box("a box", interface, ask)


def interface_of(preset: Engine) -> Interface:
    """Operands and depth at which a preset shows what it is: two steps, or two chunks."""
    operand = format("e2m1" if preset.group else "e4m3")
    depth = max(_DEPTH, 2 * (preset.chunk or preset.products))
    return Interface(operand, operand, preset.addend_format, depth)


def random_interface(seed: int) -> Interface:
    """The operands of a trial, in turn."""
    a, b, output = _SIDES[seed % len(_SIDES)]
    return Interface(format(a), format(b), fixed_format(output), _DEPTH)


def random_engine(interface: Interface, rng: np.random.Generator) -> Engine:
    """An engine of any choices and truth values, with steps, windows and exponents as hardware may have them."""
    while True:
        values: dict[str, Any] = {}
        for field in fields.hypotheses(interface):
            choices = [value for value in field.values if not isinstance(value, int) or isinstance(value, bool)]
            if len(choices) > 1 and rng.random() < 0.5:
                values[field.name] = choices[rng.integers(len(choices))]
        products = values["products"] = int(rng.choice(_PRODUCTS))
        if rng.random() < 0.7:
            values["window"] = int(rng.integers(2, 41))
        if rng.random() < 0.5:
            values["zero_exponent"] = int(rng.integers(-140, 1))
        if rng.random() < 0.4:
            values["chunk"] = products * int(rng.integers(1, 6))
        if rng.random() < 0.5:
            values["interleave"] = int(rng.choice([1, 2, 4, 8]))
        made = fields.made(values)
        if made is not None and fields.is_possible(made, interface):
            return made


def trial(engine: Engine, interface: Interface, seed: int = 0, dots: int = DOTS) -> Trial:
    """Fit an engine as a box, and compare what is found with it."""
    found = fit(boxed(engine, interface), CALLS, seed)
    same = found.engine is not None and fields.key(found.engine) == fields.key(engine)
    equal = same or (found.engine is not None and _equal(engine, found.engine, interface, seed, dots))
    operands = f"{interface.a.name} x {interface.b.name} to {interface.output.name}"
    name = found.engine.name if found.engine else None
    return Trial(seed, fields.named(engine).name, name, operands, interface.depth, found.calls, same, equal)


def _equal(engine: Engine, other: Engine, interface: Interface, seed: int, dots: int) -> bool:
    """Whether two engines give the same for all probes and so many random sums, none of which the fit has seen."""
    rng = np.random.default_rng([seed, dots])
    for start in range(0, dots, _PART):
        vectors = drawn(interface, min(_PART, dots - start), rng)
        predictions = Predictions(interface, vectors if start else structured(interface) + vectors)
        if not np.array_equal(predictions.of(engine), predictions.of(other)):  # type: ignore[arg-type]
            return False
    return True


@click.group()
def main() -> None:
    """Fit known engines."""


def _written(trials: Sequence[Trial], out: Path) -> None:
    write_whole(out, json.dumps([asdict(each) for each in trials], indent=1) + "\n")
    equal = sum(each.equal for each in trials)
    most = max(each.calls for each in trials)
    same = sum(each.same for each in trials)
    click.echo(f"{equal} of {len(trials)} recovered, {same} to the field, {most} sums at most")


@main.command()
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--dots", type=int, default=DOTS, show_default=True)
def presets(out: Path, dots: int) -> None:
    """Every engine of the catalogue."""
    _written([trial(preset, interface_of(preset), 0, dots) for preset in ENGINES.values()], out)


@main.command()
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--first", type=int, default=0, show_default=True)
@click.option("--count", type=int, default=1000, show_default=True)
@click.option("--dots", type=int, default=DOTS, show_default=True)
def random(out: Path, first: int, count: int, dots: int) -> None:
    """Engines at random, one for each seed."""
    trials = []
    for seed in range(first, first + count):
        interface = random_interface(seed)
        trials.append(trial(random_engine(interface, np.random.default_rng(seed)), interface, seed, dots))
        if not trials[-1].equal:
            click.echo(f"not recovered: {trials[-1]}")
    _written(trials, out)


if __name__ == "__main__":
    main()
