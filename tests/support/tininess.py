"""Operations of a multi-format FPU whose exact result is just below the smallest normal number."""

from __future__ import annotations

import itertools

import numpy as np

from fp9.formats import FixedFormat
from fp9.suites.columns import Inputs
from fp9.units import MultiFpu, MultiFpuOp


def beside_smallest_normal(unit: MultiFpu) -> Inputs:
    """Return sums of a number near the smallest normal number and a small product, in each rounding."""
    fmt = unit.formats[0]
    assert isinstance(fmt, FixedFormat)
    sign, normal = 1 << fmt.bits - 1, 1 << fmt.fraction_bits
    powers = [(fmt.bias - below) << fmt.fraction_bits for below in range(7)]
    rows = itertools.product(
        [code ^ side for code in (1, 2, 3) for side in (0, sign)],
        powers,
        [code ^ side for code in (normal - 1, normal, normal + 1) for side in (0, sign)],
        range(len(unit.roundings)),
    )
    named = dict(zip(("a", "b", "c", "rounding"), np.array([*rows], np.uint32).T, strict=True))
    op = np.full_like(named["a"], unit.operations.index(MultiFpuOp.FMADD))
    return {port.name: np.zeros_like(op) for port in unit.inputs} | named | {"op": op}
