"""Random unit specifications: golden model, reference model and circuit agree, and refusals are sentences.

`python -m tests.units.fuzz --help` says how to check more of them.
"""

from __future__ import annotations

import dataclasses
import tomllib
from random import Random

import pytest
from tests.units import checks, shrink
from tests.units.spread import Spread, draw, first_units
from tests.units.values import values

from fp9.engines import Engine
from fp9.units import CATALOGUE
from fp9.units.toml import KINDS, build, dumps


@pytest.mark.parametrize("record", [*KINDS.values(), Engine], ids=lambda record: record.__name__)
def test_generator_has_values_for_every_field(record: type) -> None:
    assert all(values(record, field.name) for field in dataclasses.fields(record))


def test_field_without_values_is_noticed() -> None:
    @dataclasses.dataclass(frozen=True)
    class Widened(Engine):
        turns: int = 1

    with pytest.raises(KeyError, match="turns has no values"):
        values(Widened, "turns")


@pytest.mark.parametrize("seed", range(20))
def test_refusals_name_a_field_and_its_value_in_one_sentence(seed: int) -> None:
    spread = Spread()
    for number in range(20 * seed, 20 * seed + 3):
        _, refused = spread.next(number, [*KINDS])
        assert not [(each.fields, each.error) for each in refused if checks.misfit(each.fields, each.error)]


def test_pairs_meet_sooner_than_by_chance() -> None:
    chosen, drawn = Spread(), Spread()
    rng = Random(1)
    for unit in first_units(1, 12, ("decoder",)):
        chosen.add(unit)
    while drawn.units["decoder"] < 12:
        try:
            drawn.add(build(draw(rng, "decoder")))
        except ValueError:
            continue
    assert len(chosen.pairs["decoder"]) > len(drawn.pairs["decoder"])


def test_fault_is_shrunk_to_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_clock_enable(run: checks.Run) -> None:
        if run.unit.enable:
            raise checks.Fault("planted", "an enable")

    monkeypatch.setattr(shrink, "CIRCUITS", (no_clock_enable,))
    unit = build(tomllib.loads(dumps(CATALOGUE["cast_bf16"])) | {"stages": 4, "enable": True})
    small, _ = shrink.shrunk(unit, 0, checks.Fault("planted", "an enable"))
    assert {*shrink.full_table(small)} == {"kind", "name", "source", "targets", "roundings", "stages", "enable"}
    assert (small.stages, len(small.targets)) == (1, 1)
