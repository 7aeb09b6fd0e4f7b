"""The canonical digest ignores the order of commutative operands, and nothing else."""

from __future__ import annotations

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fp9_rtl.export.text.circuits.digest import canonical_digest, digest
from fp9_rtl.export.verilog import _words


class Accumulator(wiring.Component):
    """A sum, a difference and a register that holds their sum; `swapped` says which operands are exchanged."""

    def __init__(self, swapped: str = "", initial: int = 0, named: str = "held") -> None:
        self.swapped, self.initial, self.named = swapped, initial, named
        super().__init__({"a": In(4), "b": In(4), "y": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(8, name=self.named, init=self.initial)
        product = self.b * self.a if "product" in self.swapped else self.a * self.b
        difference = self.b - self.a if "difference" in self.swapped else self.a - self.b
        total = held + product if "sum" in self.swapped else product + held
        m.d.sync += held.eq(total ^ difference)
        m.d.comb += self.y.eq(held)
        return m


def digests(component: wiring.Component) -> tuple[str, str]:
    words = _words(component, "unit")[0]
    return digest(words), canonical_digest(words)


FORM, CANONICAL = digests(Accumulator())


@pytest.mark.parametrize("swapped", ["product", "sum", "product sum"])
def test_exchanged_operands_of_commutative_cells_are_another_form_of_the_same_circuit(swapped: str) -> None:
    form, canonical = digests(Accumulator(swapped))
    assert form != FORM and canonical == CANONICAL


def test_exchanged_operands_of_a_difference_are_another_circuit() -> None:
    assert digests(Accumulator("difference"))[1] != CANONICAL


def test_another_value_at_reset_is_another_circuit() -> None:
    assert digests(Accumulator(initial=3))[1] != CANONICAL


def test_names_of_nets_do_not_count() -> None:
    assert digests(Accumulator(named="total")) == (FORM, CANONICAL)
