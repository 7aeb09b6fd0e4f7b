"""The upcast component against the golden model, for results and formats beyond the catalogue's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fp9.formats import HFP8_BIASES, format
from fp9.golden import evaluate
from fp9.suites import inputs_of
from fp9.units import BIAS_BITS, Upcast

Simulate = Callable[..., dict[str, NDArray[Any]]]

FORMATS = {
    "ocp": ("e4m3", "e5m2"),
    "fnuz": ("e4m3fnuz", "e5m2fnuz"),
    "hif8": ("hif8", "hfp8_143", "hfp8_152"),
    "graphcore": ("f143(bias=10)", "f152(bias=7)"),
}


def hold(unit: Upcast, inputs: dict[str, NDArray[Any]], got: dict[str, NDArray[Any]]) -> None:
    """Every result is the golden one."""
    for name, values in evaluate(unit, inputs).items():
        wrong = np.flatnonzero(values != got[name])
        assert not wrong.size, {k: hex(c[wrong[0]]) for k, c in {**inputs, "got": got[name], "want": values}.items()}


@pytest.mark.parametrize("result", ["fp32", "fp16", "bf16", "dlfloat16", "e8m13"])
@pytest.mark.parametrize("formats", FORMATS.values(), ids=list(FORMATS))
def test_every_code_goes_up_exactly(result: str, formats: tuple[Any, ...], simulate: Simulate) -> None:
    unit = Upcast("upcast", formats, format(result))
    inputs = inputs_of(unit, "full", None, 0)
    hold(unit, inputs, simulate(unit, inputs))


def test_hfp8_overflows_fp16_at_extreme_biases_alone(simulate: Simulate) -> None:
    """With extra bias -8 the largest 1-4-3 number is 1.75 * 2^16, beyond fp16's 65504 (spec 1.1)."""
    unit = Upcast("upcast", ("hfp8_143",), format("fp16"), bias_port=True)  # type: ignore[arg-type]
    biases = [bias % (1 << BIAS_BITS) for bias in (HFP8_BIASES[0], 4, HFP8_BIASES[-1])]
    inputs = {
        "code": np.tile(np.arange(256, dtype=np.uint32), len(biases)),
        "code_bias": np.repeat(np.array(biases, dtype=np.uint32), 256),
    }
    hold(unit, inputs, simulate(unit, inputs))


@pytest.mark.parametrize(("source", "result"), [("f161(bias=40)", "fp16"), ("f161(bias=40)", "dlfloat16")])
def test_a_result_that_would_round_small_numbers_is_refused(source: str, result: str) -> None:
    with pytest.raises(ValueError, match="rounds small numbers of"):
        Upcast("upcast", (source,), format(result))  # type: ignore[arg-type]
