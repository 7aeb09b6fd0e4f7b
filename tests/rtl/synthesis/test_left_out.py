"""Areas of the parts of a unit: without each value of a field, and by submodule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fp9.cli import main
from fp9.units import CATALOGUE, MultiFpu
from fp9_rtl.synthesis.left_out import measure, units_without
from fp9_rtl.synthesis.libraries import LIBRARIES

with_library = pytest.mark.skipif(
    not LIBRARIES["osu018"].file.path().is_file(), reason="the Liberty file is missing; `make setup` installs it"
)


def test_each_value_is_left_out_once() -> None:
    unit = CATALOGUE["fpu_ocp_fp16"]
    assert isinstance(unit, MultiFpu)
    found = dict(units_without(unit, "groups"))
    assert [*found] == ["addmul", "conv", "noncomp"]
    for name, rest in found.items():
        assert isinstance(rest, MultiFpu)
        assert [group.value for group in unit.groups if group not in rest.groups] == [name]


def test_values_that_the_specification_needs_are_omitted() -> None:
    """Four lanes need a word of 32 bits."""
    assert [name for name, _ in units_without(CATALOGUE["fpu_ocp_fp32"], "formats")] == ["e4m3", "e5m2"]


@pytest.mark.parametrize("field", ["group", "stages", "name"])
def test_a_field_without_several_values_is_named(field: str) -> None:
    sentence = f"fpu_ocp_fp16: field '{field}' given, .* give one of formats, groups, roundings, overflow$"
    with pytest.raises(ValueError, match=sentence):
        next(units_without(CATALOGUE["fpu_ocp_fp16"], field))


@with_library
def test_a_format_of_a_decoder_has_a_part_of_its_area(tmp_path: Path) -> None:
    unit = CATALOGUE["decoder_ocp"]
    found = measure(unit, "formats", cache=tmp_path)
    assert [one.value for one in found] == ["e4m3", "e5m2"]
    for one in found:
        whole, rest = (result.estimate("area-optimised").area_um2 for result in (one.whole, one.rest))
        assert 0 < rest < whole
        assert one.to_dict()["part_um2"]["area-optimised"] == whole - rest  # type: ignore[index]


@pytest.mark.slow
@with_library
def test_the_command_prints_submodules_and_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FP9_CACHE", str(tmp_path))
    arguments = ["synth", "decoder_ocp", "--breakdown", "--without", "formats"]
    record = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)
    assert [one["top"] for one in record["breakdown"]] == ["decoder_ocp"]
    assert [one["value"] for one in record["without"]] == ["e4m3", "e5m2"]
    shown = CliRunner().invoke(main, arguments).output
    assert "Area by submodule" in shown and "Area that each value adds" in shown
    refused = CliRunner().invoke(main, [*arguments, "--repeat", "2"])
    assert refused.exit_code == 2 and "do not combine with --repeat, --compare and --out" in refused.output
