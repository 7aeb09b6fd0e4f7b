"""Test the identification of accumulators on accumulator presets and random models.

    python -m fp9_compare.identify.trials presets --out records/identify/presets.json
    python -m fp9_compare.identify.trials random --count 1000 --out records/identify/random.json

If the record exists, only missing random seeds are tested and added to the record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fp9.engines import ENGINES, Engine
from fp9.engines import engine as find_engine
from fp9.formats import fixed_format, format
from fp9.sums.products import dot
from fp9.system.files import write_whole
from fp9_compare.identify import fields
from fp9_compare.identify.box import Box
from fp9_compare.identify.identification import CALLS, fit
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.probes.structured import drawn, structured
from fp9_compare.identify.unobservable import plain
from fp9_compare.identify.vectors import Predictions

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOTS = 10**6
"""Number of random sums on which two accumulator models with different fields must agree."""

_PART = 20_000
_DEPTH = 32
_PRODUCTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
_SIDES = (
    *(("e4m3", "e4m3", "fp32"), ("e5m2", "e5m2", "fp16"), ("e4m3", "e5m2", "fp16"), ("e5m2", "e4m3", "fp32")),
    ("e4m3", "e4m3", "bf16"),
)


@dataclass(frozen=True)
class Trial:
    """Result of a test that identifies a known accumulator model."""

    seed: int
    given: str
    found: str | None
    operands: str
    depth: int
    calls: int
    # Whether the given and the found model are equal, apart from fields without effect.
    same: bool
    # Whether both models give equal results for all probe sums and for `dots` random sums.
    equal: bool
    dots: int


def boxed(engine: Engine, interface: Interface) -> Box:
    def ask(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Any:
        return dot(a, b, interface.a, interface.b, engine, c, format_c=engine.addend_format)

    return Box("a box", interface, ask)


def interface_of(preset: Engine) -> Interface:
    # A sum has at least twice as many products as an accumulation step or a chunk.
    operand = format("e2m1" if preset.step.group else "e4m3")
    depth = max(_DEPTH, 2 * (preset.chunk.length or preset.step.products))
    return Interface(operand, operand, preset.addend_format, depth)


def random_interface(seed: int) -> Interface:
    a, b, output = _SIDES[seed % len(_SIDES)]
    return Interface(format(a), format(b), fixed_format(output), _DEPTH)


def random_engine(interface: Interface, rng: np.random.Generator) -> Engine:
    while True:
        values: dict[str, Any] = {}
        for field in fields.hypotheses(interface):
            choices = [value for value in field.values if not isinstance(value, int) or isinstance(value, bool)]
            if len(choices) > 1 and rng.random() < 0.5:
                values[field.name] = choices[rng.integers(len(choices))]
        # The number of products and the window width are typical of hardware.
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
    found = fit(boxed(engine, interface), CALLS, seed)
    same = found.engine is not None and _shown(found.engine, interface) == _shown(engine, interface)
    equal = same or (found.engine is not None and _equal(engine, found.engine, interface, seed, dots))
    compared = 0 if same or found.engine is None else dots
    operands = f"{interface.a.name} x {interface.b.name} to {interface.output.name}"
    name = found.engine.name if found.engine else None
    return Trial(seed, fields.named(engine).name, name, operands, interface.depth, found.calls, same, equal, compared)


def _shown(engine: Engine, interface: Interface) -> tuple[Any, ...]:
    return fields.key(plain(engine, interface))


def _equal(engine: Engine, other: Engine, interface: Interface, seed: int, dots: int) -> bool:
    # The identification did not use these random sums.
    rng = np.random.default_rng([seed, dots])
    for start in range(0, dots, _PART):
        vectors = drawn(interface, min(_PART, dots - start), rng)
        predictions = Predictions(interface, vectors if start else structured(interface) + vectors)
        if not np.array_equal(predictions.of(engine), predictions.of(other)):  # type: ignore[arg-type]
            return False
    return True


def compared(done: Trial, dots: int) -> Trial:
    assert done.found is not None, "there must be an answer to compare"
    given, found = find_engine(done.given), find_engine(done.found)
    equal = _equal(given, found, random_interface(done.seed), done.seed, dots)
    return replace(done, equal=equal, dots=dots)


@click.group()
def main() -> None:
    """Run the command line of this module."""


def _write(trials: Sequence[Trial], out: Path) -> None:
    rows = ",\n".join(json.dumps(asdict(each)) for each in trials)
    write_whole(out, f"[\n{rows}\n]\n")


def summary(trials: Sequence[Trial]) -> str:
    equal = [each for each in trials if each.equal]
    least = min((each.dots for each in equal if not each.same), default=0)
    known = (
        f"{sum(each.same for each in equal)} of these known to be the same, the others equal on {least} sums or more"
    )
    return f"{len(equal)} of {len(trials)} recovered, {known}; {max(each.calls for each in trials)} sums asked at most"


@main.command()
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--dots", type=int, default=DOTS, show_default=True)
def presets(out: Path, dots: int) -> None:
    """Test whether the identification finds every accumulator preset, and write the results to a JSON record."""
    asked = [(preset.name, trial(preset, interface_of(preset), 0, dots)) for preset in ENGINES.values()]
    trials = [replace(made, given=name) for name, made in asked]
    _write(trials, out)
    click.echo(summary(trials))


@main.command()
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--first", type=int, default=0, show_default=True)
@click.option("--count", type=int, default=1000, show_default=True)
@click.option("--dots", type=int, default=DOTS, show_default=True)
def random(out: Path, first: int, count: int, dots: int) -> None:
    """Identify one random accumulator model for each seed, and write the results to a JSON record."""
    record = [Trial(**row) for row in json.loads(out.read_text())] if out.exists() else []
    done = {each.seed: each for each in record}
    for seed in range(first, first + count):
        before = done.get(seed)
        if before is None:
            done[seed] = _random_trial(seed, dots)
        elif before.equal and not before.same and before.dots < dots:
            done[seed] = compared(before, dots)
        if done[seed] is not before:
            _write([done[key] for key in sorted(done)], out)
            click.echo(f"{seed}: {'recovered' if done[seed].equal else done[seed]}")
    click.echo(summary([done[seed] for seed in sorted(done)]))


def _random_trial(seed: int, dots: int) -> Trial:
    interface = random_interface(seed)
    return trial(random_engine(interface, np.random.default_rng(seed)), interface, seed, dots)


if __name__ == "__main__":
    main()
