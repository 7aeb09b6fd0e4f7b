"""Specifications of multi-format FPUs that are refused, and the ports that their fields add."""

from __future__ import annotations

import numpy as np
import pytest

from fp9.formats import format
from fp9.formats.rounding import Overflow, Rounding
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import FpuGroup, MultiFpu, MultiFpuOp
from fp9.units.toml import load


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["roundings=srb"], "roundings=srb given; give some of rne, rna, rtz, rup, rdn, rto, sr, hybrid"),
        (
            ["roundings=hybrid"],
            "roundings=hybrid given with formats=e4m3, e5m2, fp16; give hif8, and fp32, fp16 or bf16",
        ),
        (
            ["roundings=hybrid", "formats=hif8,dlfloat16"],
            "roundings=hybrid given with formats=hif8, dlfloat16; give hif8, and fp32, fp16 or bf16",
        ),
        (
            ["roundings=hybrid", "formats=hif8,bf16", "groups=addmul"],
            "roundings=hybrid given without the group conv; add conv to groups",
        ),
        (["formats=e2m1,fp16", "nan_boxing=true"], "nan_boxing=true given with formats=e2m1; give formats with a NaN"),
        (
            ["formats=binary6p3ue"],
            "formats=binary6p3ue given; give signed formats of at most 8 bits, and fp16, bf16, dlfloat16 or fp32",
        ),
        (["lanes=3"], "lanes=3 given for formats with a word of 16 bits; give 1 or 2"),
        (["formats=e4m3,e5m2", "lanes=2"], "lanes=2 given for formats with a word of 8 bits; give 1"),
        (
            ["half_lanes=true"],
            "half_lanes=true given with formats=e4m3, e5m2, fp16; give a format of 16 bits and one of 32 bits",
        ),
        (
            ["half_lanes=true", "formats=fp16,fp32", "nan_boxing=true"],
            "nan_boxing=true given with half_lanes=true; give one of them",
        ),
        (
            ["half_lanes=true", "formats=e4m3,fp16,fp32", "groups=dot"],
            "half_lanes=true given with groups=dot alone; leave it out",
        ),
        (["roundings=sr", "random_bits=25"], "random_bits=25 given; give 1 to 24"),
        (["roundings=sr", "groups=divsqrt"], "roundings=sr given with groups=divsqrt; give one of them"),
        (["division=iterative"], "division=iterative given without the group divsqrt; add divsqrt to groups"),
        (
            ["division=iterative", "groups=divsqrt", "handshake=valid", "stages=2"],
            "division=iterative given with handshake=valid; give handshake=ready",
        ),
        (["division=iterative", "groups=divsqrt"], "0 stages given beside division=iterative; give 2 to 6"),
        (["division=iterative", "groups=divsqrt", "stages=1"], "1 stages given beside division=iterative; give 2 to 6"),
    ],
)
def test_fields_that_do_not_fit_are_refused(settings: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^fpu_ocp_fp16: {sentence}$"):
        load("fpu_ocp_fp16", settings)


def test_suites_fill_lanes_that_read_fewer_operands_than_the_word() -> None:
    unit = MultiFpu("unit", (format("e4m3"), format("fp16")), (FpuGroup.CONV, FpuGroup.DOT), lanes=2)
    columns = inputs_of(unit, "corner", None, 1)
    assert {0, 1} == {*columns["vector"].tolist()} and "b" in columns


@pytest.mark.parametrize(("wide", "code"), [(False, 0x7C00), (True, 0x7BFF)])
def test_fp16_sums_saturate_if_wide_results_have_the_selected_policy(wide: bool, code: int) -> None:
    fp16 = (format("fp16"),)
    unit = MultiFpu("unit", fp16, (FpuGroup.ADDMUL,), overflow=(Overflow.SATURATE, Overflow.INF), wide_overflow=wide)
    columns = {port.name: np.zeros(1, np.uint32) for port in unit.inputs}
    columns |= {"op": columns["op"] + unit.operations.index(MultiFpuOp.ADD)}
    columns |= {name: np.array([0x7BFF], np.uint32) for name in "ac"}
    made = evaluate(unit, columns)
    assert (made["result"][0], made["flags"][0]) == (code, 5)
    assert ("overflow" in columns) is wide


@pytest.mark.parametrize(
    ("names", "wide", "chosen"),
    [
        ("e4m3,e5m2,fp16", False, "e4m3, e5m2"),
        ("e4m3,e5m2,fp16", True, "e4m3, e5m2, fp16"),
        ("e2m1,e5m2,fp16", False, "e5m2"),
        ("e2m1,fp16", True, "fp16"),
        ("e2m1,e3m2,fp16", False, None),
        ("e2m1,e3m2", True, None),
    ],
)
def test_the_port_overflow_names_the_formats_whose_policy_is_selected(
    names: str, wide: bool, chosen: str | None
) -> None:
    formats = tuple(map(format, names.split(",")))
    unit = MultiFpu("unit", formats, overflow=(Overflow.SATURATE, Overflow.INF), wide_overflow=wide)
    docs = [port.doc for port in unit.inputs if port.name == "overflow"]
    assert docs == ([f"overflow policy of results in {chosen}"] if chosen else [])


@pytest.mark.parametrize(("lanes", "names"), [(1, ["random"]), (2, ["random0", "random1"])])
def test_every_lane_has_its_random_bits(lanes: int, names: list[str]) -> None:
    unit = MultiFpu("unit", (format("e4m3"), format("fp16")), roundings=(Rounding.SR,), lanes=lanes, random_bits=9)
    assert [(port.name, port.width) for port in unit.inputs if "random" in port.name] == [(name, 9) for name in names]
