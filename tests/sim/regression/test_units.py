"""The generated Verilog of the catalogue's units against the golden model: exhaustively where inputs are few."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import each_kind, one_of_each_kind, thinned, units

from fp9.formats import HFP8_BIASES, Format, Rounding
from fp9.suites.columns import drawn_port
from fp9.units import BIAS_BITS, CATALOGUE, Cast, Decoder, Dot, Fma, Fpu, Handshake, Mac, Port, Unit, Upcast
from fp9.vectors import sets as vectors
from fp9_sim import Verilated, check, compare, regress, verilated

Columns = dict[str, NDArray[np.uint32]]


def combinations(columns: dict[str, range | list[int]]) -> Columns:
    """Every combination of the columns' values."""
    grids = np.meshgrid(*(np.array(values, dtype=np.uint32) for values in columns.values()), indexing="ij")
    return {name: grid.ravel() for name, grid in zip(columns, grids, strict=True)}


FEW = 1 << 20
"""More operations than any of these tests has."""


def every(port: Port) -> range | list[int]:
    """All values of a select port that mean something, all biases of a bias port, all codes of an operand."""
    if port.choices:
        return range(len(port.choices))
    if port.name.endswith("_bias"):
        return [bias % (1 << BIAS_BITS) for bias in HFP8_BIASES]
    return range(1 << port.width)


def hold(unit: Unit, inputs: Columns, dut: Verilated | None = None) -> None:
    """Every operation gives the model's results."""
    found, total = check(unit, inputs, dut=dut)
    assert not total, f"{total} mismatches, the first: {found[0]}"


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", [*units(Decoder), *units(Upcast)], ids=lambda unit: unit.name)
def test_decoders_and_upcasts_take_every_code_of_every_format(unit: Unit) -> None:
    hold(unit, combinations({port.name: every(port) for port in unit.inputs}))


SOURCE_CODES = 1 << 16


@pytest.mark.slow
@pytest.mark.parametrize("unit", thinned(units(Cast)), ids=lambda unit: unit.name)
def test_casts_round_every_16_bit_operand_in_every_mode(unit: Cast) -> None:
    """All codes of a 16-bit source; of a 32-bit one, all upper halves, with lower halves that decide a rounding.

    Scales and random bits are drawn; lanes carry the operands in different order.
    """
    lower = [0] if unit.source.bits == 16 else [0x0000, 0x0001, 0x7FFF, 0x8000, 0xFFFF]
    modes = {port.name: every(port) for port in unit.inputs if port.choices}
    columns = combinations({"x": range(SOURCE_CODES), "lower": lower, **modes})
    below, x = columns.pop("lower"), columns.pop("x")
    if unit.source.bits == 32:
        x = (x << np.uint32(16)) | below
    columns |= {name: np.roll(x, lane * 7919) for lane, name in enumerate(unit.lane_names("x"))}
    rng = np.random.default_rng(0)
    columns |= {p.name: drawn_port(p, len(x), rng) for p in unit.inputs if p.name not in columns}
    hold(unit, columns)


@pytest.mark.every(3)
@pytest.mark.parametrize("unit", thinned(u for u in units(Cast) if u.inputs[0].width == 32), ids=lambda unit: unit.name)
def test_casts_round_random_operands(unit: Cast) -> None:
    hold(unit, dict(vectors.generate(unit, "random", 1_000_000, seed=1).inputs))


@pytest.mark.every(4)
@pytest.mark.parametrize("unit", thinned(units(Cast)), ids=lambda unit: unit.name)
def test_casts_agree_on_corners(unit: Cast) -> None:
    hold(unit, dict(vectors.generate(unit, "corner", seed=2).inputs))


def test_exact_numbers_never_move_under_stochastic_rounding() -> None:
    """Whatever the random bits, a number of the target is cast to itself, without a flag (numerics.md)."""
    unit = CATALOGUE["cast_fp32_sr"]
    assert isinstance(unit, Cast)
    dut = verilated(unit, operations=FEW)
    for index, fmt in enumerate(unit.targets):
        codes = np.flatnonzero(np.isfinite(fmt.table)).astype(np.uint32)
        bits = [0, 1, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF, *range(3, 1 << unit.random_bits, 997)]
        columns = combinations({"code": codes.tolist(), "random": bits, "overflow": [0, 1]})
        code = columns.pop("code")
        x = fmt.table[code].astype(np.float32).view(np.uint32)
        stochastic = unit.roundings.index(Rounding.SR)
        results = dut(x=x, target=np.full_like(x, index), rounding=np.full_like(x, stochastic), **columns)
        assert np.array_equal(results["result"], code)
        assert not results["flags"].any()


def addends(fmt: Format) -> list[int]:
    """Zero, a number whose sum needs rounding, and the smallest negative number."""
    return [0, fmt.code_of(Fraction(1)) + fmt.smallest_code, fmt.code_of(fmt.value_of(fmt.smallest_code), True)]


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", thinned(u for u in units(Fma) if not u.stages), ids=lambda unit: unit.name)
def test_multiply_adders_form_every_product_of_each_operand_pair(unit: Fma) -> None:
    dut = verilated(unit, operations=FEW)
    selects = [port for port in unit.inputs if port.choices]
    for choice in itertools.product(*(every(port) for port in selects)):
        chosen = {port.name: [value] for port, value in zip(selects, choice, strict=True)}
        columns = combinations({"a": range(256), "b": range(256), "c": addends(unit.engine.result.format), **chosen})
        hold(unit, columns, dut)


MULTIPLIERS = [*units(Fma), *units(Dot), *units(Mac), *units(Fpu)]


@pytest.mark.slow
@pytest.mark.parametrize("unit", each_kind(MULTIPLIERS), ids=lambda unit: unit.name)
def test_multiply_adders_agree_on_corners(unit: Unit) -> None:
    hold(unit, dict(vectors.generate(unit, "corner", seed=2).inputs))


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", each_kind(MULTIPLIERS), ids=lambda unit: unit.name)
def test_multiply_adders_agree_at_random(unit: Unit) -> None:
    hold(unit, dict(vectors.generate(unit, "random", 200_000, seed=2).inputs))


counts = pytest.mark.parametrize("count", [1000, pytest.param(3000, marks=pytest.mark.long)])
"""Operations through both simulators, of whom each takes as long for some hundreds as to start."""


@pytest.mark.every(6)
@counts
@pytest.mark.parametrize("unit", one_of_each_kind(stages=False), ids=lambda unit: unit.name)
def test_combinational_units_agree_on_both_simulators(unit: Unit, count: int, build_dir: Path) -> None:
    result = compare(unit, vectors.generate(unit, "random", count), build_dir=build_dir)
    assert result.passed, [run.to_dict() for run in result.runs]


@pytest.mark.every(5)
@counts
@pytest.mark.parametrize("unit", one_of_each_kind(stages=True), ids=lambda unit: unit.name)
def test_units_with_stages_agree_on_both_simulators_under_stalls(unit: Unit, count: int, build_dir: Path) -> None:
    result = compare(unit, vectors.generate(unit, "random", count), seed=3, build_dir=build_dir)
    assert result.passed, [run.to_dict() for run in result.runs]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stages"),
    thinned(
        [
            ("decoder_all", 1),
            ("cast_fp32", 3),
            ("cast_fp32_x4", 1),
            ("upcast_fp32", 4),
            ("fpu_dlfloat16_hfp8", 5),
            ("cast_fp32_x4", 6),
            ("fma_fp32", 1),
            ("fma_fp32", 6),
            ("mac_dlfloat16", 1),
            ("mac_fp32", 6),
        ]
    ),
)
def test_units_of_every_depth_keep_their_results(name: str, stages: int) -> None:
    unit = dataclasses.replace(CATALOGUE[name], stages=stages)  # type: ignore[type-var]
    hold(unit, dict(vectors.generate(unit, "random", 20_000, seed=stages).inputs))


GATED = [
    dataclasses.replace(CATALOGUE[name], stages=stages, gate_zeros=True, handshake=handshake)  # type: ignore[type-var]
    for name, stages, handshake in (
        ("dot4_fp32_ocp", 4, Handshake.READY),
        ("dot4_fp16_hif8", 3, Handshake.VALID),
        ("dot4_fp32_mxfp8", 2, Handshake.READY),
        ("dot4_fp32_ace", 2, Handshake.READY),
        ("dot4_e8m13_ocp", 4, Handshake.READY),
        ("mac4_fp32_mxfp8", 3, Handshake.READY),
        ("mac_dlfloat16_chunked", 4, Handshake.READY),
    )
]
"""Units whose factors are held in registers that no reset clears."""


@pytest.mark.every(6)
@pytest.mark.parametrize("unit", thinned(GATED), ids=lambda unit: unit.name)
def test_zero_products_after_a_reset_give_known_bits(unit: Dot, build_dir: Path) -> None:
    """Zero factors in the first operations, so that a register which gating holds would keep its unknown bits."""
    inputs = dict(vectors.generate(unit, "random", 200, seed=4).inputs)
    for lane in unit.lane_names("a"):
        inputs[lane][:50] = 0
    result = regress(unit, vectors.from_inputs(unit, inputs), simulator="icarus", build_dir=build_dir)
    assert result.passed, (result.mismatches, result.violations)
