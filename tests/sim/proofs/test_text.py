"""That a text is its circuit, and that another one is not."""

from __future__ import annotations

import pytest
from tests.support.rosters import thinned

import fp9_rtl
from fp9.engines import ENGINES, engine
from fp9.formats import format
from fp9.units import CATALOGUE, Dot, Mac, Unit
from fp9_sim.netlists.solvers.abc import program
from fp9_sim.proofs import State, prove_text

pytestmark = pytest.mark.skipif(not program(), reason="ABC is not installed")

_TWO = (format("e5m2"), format("hfp8_152"))


@pytest.mark.parametrize("name", thinned(["decoder_hif8", "mac_dlfloat16_gated"]))
def test_a_text_is_its_circuit(name: str) -> None:
    assert prove_text(CATALOGUE[name]).proven


_MAC = Mac("mac", _TWO, _TWO, ENGINES["dlfloat"], stages=2)
"""With types of formats and of operations."""


@pytest.mark.slow
@pytest.mark.parametrize("unit", [CATALOGUE["decoder_hif8"], _MAC], ids=lambda unit: unit.name)
def test_its_systemverilog_is_the_same_circuit(unit: Unit) -> None:
    assert prove_text(unit, fp9_rtl.verilog(unit, system=True)).proven


@pytest.mark.slow
def test_products_are_the_same_circuit_however_wide_the_text_has_them() -> None:
    """A sum times two scales: in the width of the result this multiplication was not compared within a minute."""
    unit = Dot("unit", (format("e2m1"),), (format("e2m1"),), engine("mx(G=4)"), scale=format("ue4m3"))
    assert prove_text(unit, timeout=30).proven


def test_another_text_is_refuted() -> None:
    unit = CATALOGUE["decoder_ocp"]
    wrong = fp9_rtl.verilog(unit).replace("assign sign = code[7]", "assign sign = code[6]")
    assert wrong != fp9_rtl.verilog(unit)
    assert prove_text(unit, wrong).state == State.REFUTED.value
