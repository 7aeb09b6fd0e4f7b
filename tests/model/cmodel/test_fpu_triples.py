"""Multiply-adds of 8-bit operands with 8-bit results: golden model and C model agree on all 2^24 triples."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from tests.support.compilers import GCC, write

from fp9.cmodel import files
from fp9.formats import format
from fp9.formats.rounding import Overflow, Rounding
from fp9.golden import evaluate
from fp9.units import FpuGroup, MultiFpu

MODES = tuple(mode for mode in Rounding if not (mode.needs_bits or mode.reads_source))
FORMATS = [("e4m3", "e5m2", "e4m3"), ("hif8", "hif8", "hif8"), ("e5m2", "e4m3", "e5m2"), ("binary8p3se",) * 3]
"""Formats of a, of b, and of c and the result."""

CHUNK = 1 << 18
"""Number of operations that one comparison holds in memory."""

_LOOP = """\
#include "fp9_triples.h"
void triples(uint32_t first, uint32_t step, uint32_t count, const uint8_t *select, uint8_t *result, uint8_t *flags)
{
    triples_in in;
    triples_out out;
    uint32_t i, place = first;
    in.rounding = select[0];
    in.a_format = select[1];
    in.b_format = select[2];
    in.c_format = in.result_format = select[3];
    in.op = triples_fmadd;
    for (i = 0; i < count; ++i, place += step) {
        in.a = (uint8_t)place;
        in.b = (uint8_t)(place >> 8);
        in.c = (uint8_t)(place >> 16);
        triples_model(&in, &out);
        result[i] = out.result;
        flags[i] = out.flags;
    }
}
"""


@pytest.mark.parametrize("step", [251, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.long])])
@pytest.mark.parametrize("names", FORMATS, ids="-".join)
def test_multiply_adds_of_8_bits_agree(names: tuple[str, str, str], step: int, tmp_path: Path) -> None:
    formats = tuple(dict.fromkeys(map(format, (*names, "e4m3", "e5m2"))))
    unit = MultiFpu("triples", formats, (FpuGroup.ADDMUL,), MODES, (Overflow.INF,))
    write(tmp_path, files(unit) | {"loop.c": _LOOP})
    GCC.build(tmp_path / "loop.c", tmp_path / "loop.so", "-shared", "-fPIC")
    triples = ctypes.CDLL(str(tmp_path / "loop.so")).triples
    selects = [formats.index(format(name)) for name in names]
    for mode in range(len(MODES)):
        select = np.array([mode, *selects], np.uint8)
        for first in range(mode % step, 1 << 24, CHUNK * step):
            place = np.arange(first, min(1 << 24, first + CHUNK * step), step).astype(np.uint32)
            result, flags = np.zeros((2, len(place)), np.uint8)
            triples(first, step, len(place), *(ctypes.c_void_p(each.ctypes.data) for each in (select, result, flags)))
            columns = {port.name: np.zeros(len(place), np.uint32) for port in unit.inputs}
            columns |= {name: (place >> 8 * i & 0xFF).astype(np.uint32) for i, name in enumerate("abc")}
            chosen = zip(("a_format", "b_format", "c_format", "result_format"), (*selects, selects[2]), strict=True)
            columns |= {port: np.full_like(place, value) for port, value in (("rounding", mode), *chosen)}
            golden = evaluate(unit, columns)
            np.testing.assert_array_equal(golden["result"], result)
            np.testing.assert_array_equal(golden["flags"], flags)
