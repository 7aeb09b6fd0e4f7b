"""The generated Verilog of the catalogue's units against the golden model: exhaustively where inputs are few."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fp9 import vectors
from fp9.formats import HFP8_BIASES
from fp9.units import BIAS_BITS, CATALOGUE, Cast, Decoder, Fma, Mac, Port, Unit, Upcast
from fp9_sim import Verilated, check, compare, verilated

Columns = dict[str, NDArray[np.uint32]]


def combinations(columns: dict[str, range | list[int]]) -> Columns:
    """Every combination of the columns' values."""
    grids = np.meshgrid(*(np.array(values, dtype=np.uint32) for values in columns.values()), indexing="ij")
    return {name: grid.ravel() for name, grid in zip(columns, grids, strict=True)}


def every(port: Port) -> range | list[int]:
    """All values of a select port that mean something, all biases of a bias port, all codes of an operand."""
    if port.choices:
        return range(len(port.choices))
    if port.name.endswith("_bias"):
        return [bias % (1 << BIAS_BITS) for bias in HFP8_BIASES]
    return range(1 << port.width)


def units(kind: type[Unit]) -> list[Unit]:
    """The catalogue's units of exactly this kind."""
    return [unit for unit in CATALOGUE.values() if type(unit) is kind]


def hold(unit: Unit, inputs: Columns, dut: Verilated | None = None) -> None:
    """Every operation gives the model's results."""
    found, total = check(unit, inputs, dut=dut)
    assert not total, f"{total} mismatches, the first: {found[0]}"


@pytest.mark.parametrize("unit", [*units(Decoder), *units(Upcast)], ids=lambda unit: unit.name)
def test_decoders_and_upcasts_take_every_code_of_every_format(unit: Unit) -> None:
    hold(unit, combinations({port.name: every(port) for port in unit.inputs}))


SOURCE_CODES = 1 << 16


@pytest.mark.parametrize("unit", units(Cast), ids=lambda unit: unit.name)
def test_casts_round_every_16_bit_operand_in_every_mode(unit: Cast) -> None:
    """All codes of a 16-bit source; of a 32-bit one, all upper halves, with lower halves that decide a rounding."""
    lower = [0] if unit.source.bits == 16 else [0x0000, 0x0001, 0x7FFF, 0x8000, 0xFFFF]
    modes = {port.name: every(port) for port in unit.inputs[1:]}
    columns = combinations({"x": range(SOURCE_CODES), "lower": lower, **modes})
    below = columns.pop("lower")
    if unit.source.bits == 32:
        columns["x"] = (columns["x"] << np.uint32(16)) | below
    hold(unit, columns)


@pytest.mark.parametrize("unit", [u for u in units(Cast) if u.inputs[0].width == 32], ids=lambda unit: unit.name)
def test_casts_round_random_operands(unit: Cast) -> None:
    hold(unit, dict(vectors.generate(unit, "random", 500_000, seed=1).inputs))


# Zero, a number whose sum needs rounding, and the smallest negative number.
ADDENDS = {"fp32": [0, 0x3F80_0001, 0x8000_0001], "dlfloat16": [0, 0x3E01, 0x8001]}


@pytest.mark.parametrize("unit", [u for u in units(Fma) if not u.stages], ids=lambda unit: unit.name)
def test_multiply_adders_form_every_product_of_each_operand_pair(unit: Fma) -> None:
    dut = verilated(unit)
    selects = [port for port in unit.inputs if port.choices]
    for choice in itertools.product(*(every(port) for port in selects)):
        chosen = {port.name: [value] for port, value in zip(selects, choice, strict=True)}
        columns = combinations({"a": range(256), "b": range(256), "c": ADDENDS[unit.engine.result.name], **chosen})
        hold(unit, columns, dut)


@pytest.mark.parametrize("unit", [*units(Fma), *units(Mac)], ids=lambda unit: unit.name)
@pytest.mark.parametrize("suite", ["corner", "random"])
def test_multiply_adders_agree_on_corners_and_at_random(unit: Fma, suite: str) -> None:
    count = 200_000 if suite == "random" else None
    hold(unit, dict(vectors.generate(unit, suite, count, seed=2).inputs))


@pytest.mark.parametrize("name", ["decoder_all", "cast_fp32", "fma_fp32", "fma_dlfloat16"])
def test_combinational_units_agree_on_both_simulators(name: str, build_dir: Path) -> None:
    unit = CATALOGUE[name]
    result = compare(unit, vectors.generate(unit, "random", 3000), build_dir=build_dir)
    assert result.passed, [run.to_dict() for run in result.runs]


@pytest.mark.parametrize("name", ["mac_fp32", "mac_dlfloat16", "fma_dlfloat16_bias"])
def test_units_with_stages_agree_on_both_simulators_under_stalls(name: str, build_dir: Path) -> None:
    unit = CATALOGUE[name]
    result = compare(unit, vectors.generate(unit, "random", 3000), seed=3, build_dir=build_dir)
    assert result.passed, [run.to_dict() for run in result.runs]


@pytest.mark.parametrize(
    ("name", "stages"),
    [("decoder_all", 1), ("cast_fp32", 3), ("fma_fp32", 1), ("fma_fp32", 6), ("mac_dlfloat16", 1), ("mac_fp32", 6)],
)
def test_units_of_every_depth_keep_their_results(name: str, stages: int) -> None:
    unit = dataclasses.replace(CATALOGUE[name], stages=stages)  # type: ignore[type-var]
    hold(unit, dict(vectors.generate(unit, "random", 20_000, seed=stages).inputs))
