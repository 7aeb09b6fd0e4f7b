"""Reader of dot products measured on GPUs, in the layout of MATLAB-tensor-core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fp9.formats import fixed_format, format
from fp9_compare import measured_rows
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.rows import Rows
from fp9_compare.identify.vectors import Vectors, patterns


def read(folder: Path) -> Iterator[Rows]:
    """Yield the measured sums for each combination of GPU, operand format and output format.

    `folder` is a clone of the GitHub repository north-numerical-computing/MATLAB-tensor-core.
    """
    for found in measured_rows.read(folder):
        operands = format(found.operands)
        interface = Interface(operands, operands, fixed_format(found.output), found.a.shape[1], any_nan=True)
        c, d = (column.view(np.float32).astype(np.float64) for column in (found.c, found.d))
        vectors = Vectors(found.a, found.b, c, ("row",) * len(c))
        name = f"{found.gpu} {found.operands} {found.output}"
        yield Rows(name, interface, vectors, patterns(d))
