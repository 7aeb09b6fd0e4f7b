"""Quantisers as circuits against the golden model: every block format and rule, both sources, pipelined and not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.rtl.compared import assert_equal
from tests.support.rosters import QUANTISED, QUANTISER_SOURCES, thinned, together

from fp9.formats import Format, format
from fp9.formats.blocks import BlockFormat, block_format
from fp9.suites import inputs_of
from fp9.units import Quantiser

Columns = dict[str, NDArray[Any]]
Simulate = Callable[..., Columns]


def quantiser(block: BlockFormat, source: Format, stages: int = 0) -> Quantiser:
    """A quantiser of blocks of three, which a simulator is through with soon, with every rule."""
    return Quantiser("quantiser", source, replace(block, length=3), tuple(map(block.rule, block.rules)), stages)


@pytest.mark.every(3)
@pytest.mark.parametrize(("block", "source"), together(QUANTISED, QUANTISER_SOURCES), ids=str)
def test_every_rule_of_a_block_format(block: BlockFormat, source: Format, simulate: Simulate) -> None:
    unit = quantiser(block, source)
    corner = inputs_of(unit, "corner", None, 0)
    drawn = np.sort(np.random.default_rng(2).choice(len(corner["x0"]), 700, replace=False))
    inputs = {name: column[drawn] for name, column in corner.items()}
    assert_equal(unit, inputs, simulate(unit, inputs))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "stages"), thinned([("mxfp4", 1), ("mxfp4", 4), ("nvfp4", 3)], 2))
def test_blocks_keep_their_order_under_stalls(name: str, stages: int, simulate: Simulate) -> None:
    unit = quantiser(block_format(name), format("bf16"), stages)
    inputs = inputs_of(unit, "random", 40, 5)
    for stalls in (0.0, 0.5):
        assert_equal(unit, inputs, simulate(unit, inputs, stalls=stalls, seed=stages))


STREAMS = [(lanes, stages, name) for lanes, stages in ((1, 1), (2, 2), (4, 1), (4, 3)) for name in ("mxfp4", "nvfp4")]


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "stages", "name"), thinned(STREAMS))
def test_a_stream_of_operations_keeps_every_number_under_stalls(
    lanes: int, stages: int, name: str, simulate: Simulate
) -> None:
    block = replace(block_format(name), length=8)
    rules = tuple(rule for rule in map(block.rule, block.rules) if not rule.tries)
    unit = Quantiser("quantiser", format("bf16"), block, rules, stages, lanes)
    inputs = inputs_of(unit, "random", 12 * 8 // lanes, lanes)
    for stalls in (0.0, 0.3, 0.7):
        assert_equal(unit, inputs, simulate(unit, inputs, stalls=stalls, seed=stages))
