"""Engines that a unit refuses: those that ask for a port or for a step that it does not have."""

import pytest

from fp9.engines import ENGINES, PARAMETERS, Engine, NanPolicy, Result, Step
from fp9.formats import format
from fp9.formats.rounding import Rounding
from fp9.units import Dot, Fma, Fpu, Mac

E4M3 = (format("e4m3"),)

_CHANGES = {
    **{"window": 13, "zero_exponent": -21, "interleaved": 31, "exact": True, "chunk": 2, "promotion": "fp32"},
    **{"zero_bypass": True, "interleave": 2, "overflow": "sat_none", "group": 2, "flush_result": True},
    **{"flush_addend": True, "nan": 0x7FFF, "invalid_nan": 0x7FFF, "infinity_run": 1, "truncation": "jam"},
}
_NEEDED = {
    **{"zero_exponent": {"window": 13}, "interleaved": {"window": 13}, "group": {"window": 13}},
    **{"promotion": {"chunk": 2}, "interleave": {"chunk": 2}},
}


@pytest.mark.parametrize("rounding", [mode for mode in Rounding if mode.needs_bits])
@pytest.mark.parametrize(("kind", "products", "stages"), [(Fma, 1, 0), (Dot, 2, 0), (Mac, 1, 1), (Fpu, 2, 0)])
def test_rounding_by_random_bits_is_refused(kind: type[Dot], products: int, stages: int, rounding: Rounding) -> None:
    engine = Engine("drawn", Result(format("fp16"), rounding), step=Step(products))
    with pytest.raises(ValueError, match=f"^unit: rounding {rounding.value} of engine drawn takes random bits"):
        kind("unit", E4M3, E4M3, engine, stages=stages)


@pytest.mark.parametrize("field", [name for name in PARAMETERS if name in _CHANGES])
def test_fpu_takes_one_exact_step(field: str) -> None:
    changes = _NEEDED.get(field, {}) | {field: _CHANGES[field]}
    engine = Engine("changed", Result(format("fp16")), Step(2)).changed(**changes)
    paths = "|".join(PARAMETERS[name].path for name in changes)
    with pytest.raises(ValueError, match=rf"engine\.({paths})=\S+ given; leave it out"):
        Fpu("unit", E4M3, E4M3, engine)


@pytest.mark.parametrize("name", ["int8", "e2m1", "hfp8_143(bias=4,reserve_top=False)"])
def test_fpu_with_casts_takes_what_casts_take(name: str) -> None:
    formats = (format(name),)
    with pytest.raises(ValueError, match=r"a=\S+ given with casts=true; give 8-bit formats with a NaN, or casts=false"):
        Fpu("unit", formats, E4M3, ENGINES["fmma"])
    assert Fpu("unit", formats, E4M3, ENGINES["fmma"], casts=False)


def test_merged_nan_has_one_code() -> None:
    with pytest.raises(ValueError, match="nan=0xffff given; leave it out"):
        Engine(result=Result(format("dlfloat16")), nan=NanPolicy(0xFFFF))
