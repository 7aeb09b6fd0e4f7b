"""Names in the generated Verilog are legal, and no value is defined by itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rtl.export.texts import catalogue, text_of

from fp9.engines import engine
from fp9.formats import format
from fp9.units import CATALOGUE, Decoder, Fma, Unit
from fp9.units.reserved import VERILOG, VHDL
from fp9_rtl import verilog
from fp9_rtl.export.text.signals import Names

_IDENTIFIER = re.compile(r"[A-Za-z]\w*", re.ASCII)
_DECLARED = re.compile(r"^\s*(?:wire|reg)(?: signed)?(?: \[[^]]*\])? (\S+?)(?: =|;)", re.MULTILINE)
_ASSIGNED = re.compile(r"^  assign (\w+) =([^;]*);", re.MULTILINE)


@given(st.lists(st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True) | st.sampled_from(sorted(VERILOG))))
def test_every_name_given_is_an_identifier_no_reserved_word_and_new(wanted: list[str]) -> None:
    names = Names()
    given_names = [names.give(name) for name in wanted]
    assert all(_IDENTIFIER.fullmatch(name) and name not in VERILOG for name in given_names)
    assert len(set(given_names)) == len(given_names)


def test_a_difference_from_a_constant_has_a_name_that_begins_with_a_letter() -> None:
    """`1 - exponent` was once called `1_minus_...`, in staged multiply-adds with chunks alone."""
    e4m3 = (format("e4m3"),)
    text = verilog(Fma("unit_of_chunks", e4m3, e4m3, engine("fma_fp32(chunk=1)"), stages=2))
    names = _DECLARED.findall(text)
    assert any("1_minus" in name for name in names), "the unit has no such difference any more: find another"
    assert [name for name in names if not _IDENTIFIER.fullmatch(name)] == []


@catalogue
def test_no_assignment_reads_what_it_defines(unit: Unit) -> None:
    """Verilator takes it for a loop, though no bit depends on itself; `--lint-only` does not look for loops."""
    assigned = _ASSIGNED.findall(text_of(unit))
    assert [name for name, value in assigned if re.search(rf"\b{name}\b", value)] == []


@pytest.mark.parametrize("word", sorted(VERILOG) + [word.upper() for word in sorted(VHDL)])
def test_a_reserved_word_is_no_name_of_a_unit(word: str) -> None:
    with pytest.raises(ValueError, match=f"^name '{word}' given, a reserved word of .*; give another name"):
        Decoder(word, (format("e4m3"),))


def test_no_port_of_the_catalogue_is_a_reserved_word() -> None:
    ports = {p.name for unit in CATALOGUE.values() for p in (*unit.inputs, *unit.outputs, *unit.control_ports)}
    assert {name for name in ports if name in VERILOG or name in VHDL} == set()
