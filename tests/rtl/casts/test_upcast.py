"""The upcast component against the golden model, for results and formats beyond the catalogue's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rtl.compared import assert_equal
from tests.support.rosters import ACCUMULATORS, OPERANDS, by_source, taken

from fp9.formats import HFP8_BIASES, Format, format
from fp9.suites import inputs_of
from fp9.units import BIAS_BITS, Upcast

Simulate = Callable[..., dict[str, NDArray[Any]]]


@pytest.mark.every(2)
@pytest.mark.parametrize("result", ACCUMULATORS, ids=str)
@pytest.mark.parametrize("formats", by_source(OPERANDS).values(), ids=by_source(OPERANDS))
def test_every_code_goes_up_exactly(formats: tuple[Format, ...], result: Format, simulate: Simulate) -> None:
    """Of the formats of which the result holds the small numbers."""
    unit = Upcast("upcast", taken(formats, lambda fmt: Upcast("upcast", (fmt,), result)), result)
    inputs = inputs_of(unit, "full", None, 0)
    assert_equal(unit, inputs, simulate(unit, inputs))


def test_hfp8_overflows_fp16_at_extreme_biases_alone(simulate: Simulate) -> None:
    """With extra bias -8 the largest 1-4-3 number is 1.75 * 2^16, beyond fp16's 65504 (ISSCC21)."""
    unit = Upcast("upcast", ("hfp8_143",), format("fp16"), bias_port=True)  # type: ignore[arg-type]
    biases = [bias % (1 << BIAS_BITS) for bias in (HFP8_BIASES[0], 4, HFP8_BIASES[-1])]
    inputs = {
        "code": np.tile(np.arange(256, dtype=np.uint32), len(biases)),
        "code_bias": np.repeat(np.array(biases, dtype=np.uint32), 256),
    }
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.parametrize(("source", "result"), [("f161(bias=40)", "fp16"), ("f161(bias=40)", "dlfloat16")])
def test_a_result_that_would_round_small_numbers_is_refused(source: str, result: str) -> None:
    with pytest.raises(ValueError, match="would round its small numbers"):
        Upcast("upcast", (source,), format(result))  # type: ignore[arg-type]
