"""The reference model finds a wrong result of the golden model, with its operation."""

from __future__ import annotations

import dataclasses

from fp9.units import CATALOGUE
from fp9.vectors import sets as vectors
from fp9_sim.cross_check import cross_check


def test_a_wrong_result_is_found_with_its_operation() -> None:
    made = vectors.generate(CATALOGUE["decoder_hif8"], "smoke")
    assert cross_check(made).different == 0
    sign = made.expected["sign"] ^ (made.inputs["code"] == 3)
    found = cross_check(dataclasses.replace(made, expected=dict(made.expected) | {"sign": sign}))
    assert found.different == 1
    (shown,) = found.shown
    assert (shown["inputs"]["code"], shown["golden"]["sign"], shown["reference"]["sign"]) == (3, 1, 0)
