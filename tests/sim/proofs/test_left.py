"""What is left of a proof is told by its cases without an end, and the times of cases like them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fp9_rtl
from fp9.system import cache
from fp9.units import CATALOGUE
from fp9_sim.netlists.solvers.solver import Obligation, State, Verdict
from fp9_sim.proofs import claims_of, seconds_left
from fp9_sim.proofs.journal import Part, journal

UNIT = CATALOGUE["fma_fp32_ocp"]
"""Four pairs of formats, each with special operands, sums and differences."""

(VALUES,) = claims_of(UNIT)
OF_A_PAIR = {"zero, infinity or NaN": 1.0, "sum": 10.0, "difference": 20.0}


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.PLACE, str(tmp_path))


def record(pair: str, times: dict[str, float]) -> dict[str, Any]:
    cases = [{"name": f"{pair}, {name}", "seconds": seconds} for name, seconds in times.items()]
    return {"claims": [{"name": "values", "cases": cases}]}


class Ended(Obligation):
    def decide(self, timeout: float) -> Verdict:
        return Verdict(State.PROVEN if timeout > 1 else State.UNFINISHED, 7.0)


def end(place: int, limit: float) -> None:
    """Note in the journal that a case ended."""
    part = Part("values", VALUES.cases[place].name, False)
    journal(UNIT, fp9_rtl.verilog(UNIT)).decide(Ended(str(place), {}), part, limit)


def test_nothing_says_what_a_first_proof_takes() -> None:
    assert seconds_left(UNIT, []) is None
    assert seconds_left(UNIT, [("cast", {"claims": [{"name": "handshake", "cases": []}]})]) is None


def test_a_case_takes_what_cases_of_other_formats_took() -> None:
    assert seconds_left(UNIT, [("fma", record("hif8 x e5m2", OF_A_PAIR))]) == 4 * 31
    dear = {name: 3 * seconds for name, seconds in OF_A_PAIR.items()}
    known = [("fma", record("hif8 x e5m2", times)) for times in (OF_A_PAIR, dear)]
    assert seconds_left(UNIT, known) == 4 * 62


def test_a_case_unlike_all_others_takes_the_mean_of_its_claim() -> None:
    assert seconds_left(UNIT, [("fma", record("hif8 x e5m2", {"sum": 10.0, "product": 30.0}))]) == 4 * (10 + 20 + 20)


def test_a_case_that_has_ended_is_not_left_and_says_what_the_others_take() -> None:
    known = [("fma", record("hif8 x e5m2", OF_A_PAIR))]
    end(1, 60)
    assert VALUES.cases[1].name.endswith(", sum")
    assert seconds_left(UNIT, known) == pytest.approx(4 * 21 + 3 * (10 + 7) / 2)
    end(2, 1)
    assert seconds_left(UNIT, known) == pytest.approx(4 * 21 + 3 * (10 + 7) / 2)
