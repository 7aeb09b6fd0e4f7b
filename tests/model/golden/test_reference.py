"""The reference model against golden results of every unit, and its separate process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.rosters import QUANTISED, QUANTISER_SOURCES, SCALES, each_kind, thinned

from fp9.engines import engine
from fp9.formats import Format, format
from fp9.golden import evaluate
from fp9.reference import isolated_results, reference_results
from fp9.reference.process import FORBIDDEN
from fp9.suites import inputs_of
from fp9.units import CATALOGUE, Dot, Mac, MacOp, Quantiser, Unit

_FP4, _FP6, _OCP = (format("e2m1"),), (format("e3m2"), format("e2m3")), (format("e4m3"), format("e5m2"))
_HFP8 = (format("hfp8_143"), format("hfp8_152"))
OTHERS: tuple[Unit, ...] = (
    Dot("steps_of_a_chunk", _OCP, _OCP, engine("hopper_mma(G=4,L=8)")),
    Dot("blocks_of_fp4", _FP4, _FP4, engine("mx(G=4)"), scale=format("ue4m3")),
    Dot("blocks_of_any", (*_OCP, *_FP6), (*_FP6, *_FP4), engine("mx(G=3)"), scale=format("e8m0")),
    Dot("two_groups", _FP4, _FP4, engine("blackwell_nvfp4(G=8,group=4)"), scale=format("ue4m3"), block=4),
    Dot("scaled_window", _OCP, _FP4, engine("blackwell(G=4)"), scale=format("e8m0"), block=2),
    Mac("scaled_sums", _OCP, _FP6, engine("mx(G=3)"), scale=format("e8m0")),
    Mac("two_blocks", _FP4, _FP4, engine("mx(G=4)"), scale=format("ue4m3"), block=2),
    Mac("sums_of_groups", _FP4, _FP4, engine("blackwell_nvfp4(G=8,group=4)"), scale=format("e8m0"), block=8),
    Mac("scaled_chunks", _OCP, _FP4, engine("blackwell(G=2,L=4)"), scale=format("e8m0"), stages=2),
    Mac("flushed_totals", _OCP, _OCP, engine("fma_fp16(G=2,L=2,rounding=rup,flush_addend=true)"), stages=2),
    Mac("addends_longer_than_totals", _OCP, _OCP, engine("fma_fp32(result=e8m13,chunk=1)"), stages=2),
    Mac("kulisch_hif8", (format("hif8"),), _OCP, engine("exact(G=3,result=fp16,rounding=rdn)")),
    Mac("kulisch_bias", _HFP8, _HFP8, engine("exact(result=dlfloat16,rounding=rna)"), bias_port=True),
)
"""Specs with what the catalogue's units do not have."""

QUANTISERS = tuple(
    Quantiser(f"quantiser_{block.name}_{source.name}", source, replace(block, length=4), block.rules)
    for block, source in zip(QUANTISED, cycle(QUANTISER_SOURCES), strict=False)
)
"""One for each block format, the sources in turn."""


def operations(unit: Unit, count: int) -> dict[str, NDArray[Any]]:
    """Of a unit without state a sample of its corner suite; of another one its first operations, and random ones."""
    corner = inputs_of(unit, "corner", None, 0)
    if not unit.has_state:
        size = len(next(iter(corner.values())))
        drawn = np.random.default_rng(1).choice(size, min(count, size), replace=False)
        return {name: column[drawn] for name, column in corner.items()}
    random, half = inputs_of(unit, "random", count // 2, 3), count // 2 // unit.group * unit.group
    return {name: np.concatenate([column[:half], random[name][:half]]) for name, column in corner.items()}


def rows_of(inputs: dict[str, NDArray[Any]]) -> list[dict[str, int]]:
    columns = (column.tolist() for column in inputs.values())
    return [dict(zip(inputs, row, strict=True)) for row in zip(*columns, strict=True)]


@pytest.mark.every(9)
@pytest.mark.parametrize(
    "unit", [*each_kind(CATALOGUE.values()), *thinned(OTHERS), *QUANTISERS], ids=lambda unit: unit.name
)
def test_golden_results_are_those_of_exact_fractions(unit: Unit) -> None:
    inputs = operations(unit, 1500 if unit.name in CATALOGUE else 500)
    golden, rows = evaluate(unit, inputs), rows_of(inputs)
    care = unit.care(golden)
    again = list(reference_results(unit, rows))
    assert len(again) == len(rows)
    for i, row in enumerate(again):
        expected = {name: int(column[i]) for name, column in golden.items() if name not in care or care[name][i]}
        assert {name: row[name] for name in expected} == expected, rows[i]


SUMS = {"fma_fp16(G=2)": SCALES, "blackwell(G=2)": tuple(fmt for fmt in SCALES if fmt.precision == 1)}


@pytest.mark.parametrize(
    ("name", "scale"), thinned([(name, fmt) for name, formats in SUMS.items() for fmt in formats], 6), ids=str
)
def test_scales_of_every_format_are_those_of_exact_fractions(name: str, scale: Format) -> None:
    """Exact sums, and windows of scales that are powers of two; every fourth scale is the lowest code, zero or not."""
    unit = Dot("unit", _OCP, _OCP, engine(name), scale=scale)
    inputs = inputs_of(unit, "random", 200, 4)
    inputs["a_scale"][::4] = 0
    inputs["b1"][::5] = 0x7C  # e5m2's infinity
    again, golden = list(reference_results(unit, rows_of(inputs))), evaluate(unit, inputs)
    for port, values in golden.items():
        assert [row[port] for row in again] == values.tolist()


@pytest.mark.slow
def test_a_sum_beyond_the_register_wraps_in_both() -> None:
    """49 bits in units of 2^-18: 5350 products of 448 * 448 are the first that do not fit, and 5350 more go round."""
    unit = Mac("mac", _OCP[:1], _OCP[:1], engine("exact(G=64)"))
    largest = _OCP[0].max_code
    inputs = {port.name: np.full(100, largest, dtype=np.uint8) for port in unit.inputs}
    inputs["op"] = np.full(100, MacOp.ACCUMULATE, dtype=np.uint8)
    inputs["a0"][90:] |= 0x80
    results = evaluate(unit, inputs)["result"]
    assert (results >> 31).any() and not (results >> 31).all()
    assert [row["result"] for row in reference_results(unit, rows_of(inputs))] == results.tolist()


@pytest.mark.slow
def test_the_isolated_process_gives_the_same() -> None:
    unit = CATALOGUE["mac4_deepseek_ocp"]
    rows = rows_of(operations(unit, 40))
    assert isolated_results(unit, rows) == list(reference_results(unit, rows))


@pytest.mark.every(6)
@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_isolated_process_can_import_neither_kernel_nor_golden_model(name: str) -> None:
    code = f"from fp9.reference.process import forbid_imports; forbid_imports(); import {name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode and "ModuleNotFoundError" in done.stderr and name in done.stderr
    assert subprocess.run([sys.executable, "-c", f"import {name}"]).returncode == 0, f"{name} is there otherwise"


def test_what_cannot_be_counted_is_one_sentence() -> None:
    unit = CATALOGUE["fma_dlfloat16_bias"]
    rows = [{port.name: 9 if port.name == "a_bias" else 0 for port in unit.inputs}]
    with pytest.raises(RuntimeError, match="fma_dlfloat16_bias: the reference model failed: ValueError: "):
        isolated_results(unit, rows)
