"""The C functions of engines give the model's dot products, with flags, of any number of products."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.compilers import GCC, write

import fp9
from fp9.cmodel import library_header
from fp9.cmodel.matrix_products import kernels
from fp9.cmodel.text import identifier
from fp9.engines import ENGINES, Engine, Scaling, engine
from fp9.formats import format

TAKEN = [entry for entry in ENGINES.values() if entry.step.group is None]
"""Engines whose terms are products."""

GROUPED = [entry for entry in ENGINES.values() if entry.step.group is not None]

CHANGED = [
    engine(name) for name in ("hopper(G=4,truncation=floor,addend=outside)", "chunked(L=3)", "exact(rounding=rdn)")
]

_LOOP = """\
#include "fp9_formats.h"
void loop(
    const uint32_t *a, const uint32_t *b, const uint32_t *scale, int block, int count, const uint32_t *c, uint32_t *y,
    uint32_t *flags, long n)
{
    static fp9_number x[512], z[512], s[512];
    long row;
    int k, blocks = block ? (count + block - 1) / block : 0;
    for (row = 0; row < n; ++row) {
        for (k = 0; k < count; ++k) {
            x[k] = fp9_@A_decode(a[row * count + k]);
            z[k] = fp9_@B_decode(b[row * count + k]);
        }
        for (k = 0; k < blocks; ++k) s[k] = fp9_e8m0_decode(scale[row * blocks + k]);
        for (k = 0; k < blocks; ++k) s[k] = fp9_product(s[k], fp9_e8m0_decode(127));
        y[row] = @ENGINE_dot(x, z, block ? s : 0, block, count, c[row], &flags[row]);
    }
}
"""


def built(tmp_path: Path, entry: Engine, a: str, b: str) -> ctypes.CDLL:
    """The dot products of an engine over rows of codes."""
    header = library_header([format(a), format(b), format("e8m0")], [entry])
    name = next(line.split("_dot(")[0].split()[-1] for line in header.splitlines() if "_dot(" in line)
    loop = _LOOP.replace("@ENGINE", name).replace("@A", identifier(format(a))).replace("@B", identifier(format(b)))
    write(tmp_path, {"fp9_formats.h": header, "loop.c": loop})
    GCC.build(tmp_path / "loop.c", tmp_path / "loop.so", "-shared", "-fPIC")
    return ctypes.CDLL(str(tmp_path / "loop.so"))


def dots(
    library: ctypes.CDLL, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], scale: NDArray[Any] | None, block: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Codes and flags of every row."""
    arrays = [np.ascontiguousarray(x, dtype=np.uint32) for x in (a, b, np.zeros(1) if scale is None else scale, c)]
    codes, flags = np.empty(len(c), dtype=np.uint32), np.empty(len(c), dtype=np.uint32)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*arrays, codes, flags)]
    library.loop(*pointers[:3], block, a.shape[1], *pointers[3:], ctypes.c_long(len(c)))
    return codes, flags


def addends(entry: Engine, random: np.random.Generator, size: int) -> NDArray[Any]:
    """Codes of C: any bits, zeros, and numbers near the products."""
    fmt = entry.addend_format
    near = fp9.encode(random.standard_normal(size) * 2.0 ** random.integers(-30, 12, size), fmt)
    anything = random.integers(0, 1 << fmt.bits, size).astype(fmt.dtype)
    return np.where(random.random(size) < 0.2, anything, np.where(random.random(size) < 0.1, 0, near)).astype(fmt.dtype)


@pytest.mark.every(5)
@pytest.mark.parametrize("formats", [("e4m3", "e5m2"), ("hif8", "e4m3fnuz")], ids="-".join)
@pytest.mark.parametrize("entry", [*TAKEN, *CHANGED], ids=lambda entry: entry.name)
def test_dot_products_are_those_of_the_model(entry: Engine, formats: tuple[str, str], tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    library = built(tmp_path, entry, *formats)
    for depth in (1, 3, entry.step.products, 70, 300):
        size = 300
        a, b = (random.integers(0, 256, (size, depth)).astype(np.uint8) for _ in formats)
        # Special codes would hide the numbers of long sums.
        for operand, fmt in ((a, format(formats[0])), (b, format(formats[1]))):
            special = ~np.isfinite(fmt.table[operand]) & (random.random(operand.shape) > 0.02)
            operand[special] = 0x31
        c = addends(entry, random, size)
        expected, flags = fp9.dot(a, b, *formats, engine=entry, c=c, format_c=entry.addend_format, flags=True)
        found, raised = dots(library, a, b, c, None, 0)
        wrong = np.flatnonzero((found != expected) | (raised != flags))
        assert not wrong.size, (
            depth,
            wrong.size,
            hex(found[wrong[0]]),
            hex(expected[wrong[0]]),
            raised[wrong[0]],
            flags[wrong[0]],
        )


@pytest.mark.parametrize("scaled", [False, True], ids=["", "scaled"])
@pytest.mark.parametrize("entry", GROUPED, ids=lambda entry: entry.name)
def test_groups_are_those_of_the_model(entry: Engine, scaled: bool, tmp_path: Path) -> None:
    random, formats, size = np.random.default_rng(3), ("e2m1", "e2m3"), 500
    library = built(tmp_path, entry, *formats)
    for depth in (1, 16, 17, 64, 80, 200):
        a, b = (random.integers(0, 1 << format(fmt).bits, (size, depth)).astype(np.uint8) for fmt in formats)
        scale = random.integers(110, 140, (size, -(-depth // 16))).astype(np.uint8)
        scale[random.random(scale.shape) < 0.02] = 0xFF
        scales = {"scale_a": scale, "scale_b": np.full_like(scale, 127), "scale_format": "e8m0", "block": 16}
        c = addends(entry, random, size)
        expected, flags = fp9.dot(
            a, b, *formats, engine=entry, c=c, format_c=entry.addend_format, flags=True, **(scales if scaled else {})
        )
        found, raised = dots(library, a, b, c, scale if scaled else None, 16 if scaled else 0)
        assert np.array_equal(found, expected) and np.array_equal(raised, flags), depth


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "entry",
    [entry for entry in TAKEN if entry.step.exact or entry.step.scaling is Scaling.PRODUCTS or entry.chunk.length],
    ids=lambda entry: entry.name,
)
def test_scaled_dot_products_are_those_of_the_model(entry: Engine, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    library = built(tmp_path, entry, "e4m3", "e5m2")
    block, size = entry.chunk.length if entry.step.scaling is Scaling.SUMS and entry.chunk.length else 32, 300
    if entry.chunk.length and block % entry.chunk.length:
        block = entry.chunk.length
    blocks = 2
    a, b = (random.integers(0, 120, (size, block * blocks)).astype(np.uint8) for _ in range(2))
    scale = random.integers(110, 140, (size, blocks)).astype(np.uint8)
    scale[random.random(scale.shape) < 0.02] = 0xFF
    c = addends(entry, random, size)
    ones = np.full_like(scale, 127)
    given = {"scale_a": scale, "scale_b": ones, "scale_format": "e8m0", "block": block}
    expected, flags = fp9.dot(
        a, b, "e4m3", "e5m2", engine=entry, c=c, format_c=entry.addend_format, flags=True, **given
    )
    found, raised = dots(library, a, b, c, scale, block)
    wrong = np.flatnonzero((found != expected) | (raised != flags))
    assert not wrong.size, (
        wrong.size,
        hex(found[wrong[0]]),
        hex(expected[wrong[0]]),
        raised[wrong[0]],
        flags[wrong[0]],
    )


@pytest.mark.parametrize("name", ["dlfloat(zero_bypass=true)", "fma_fp32(rounding=sr)", "exact(result=hif8)"])
def test_an_engine_that_has_no_functions_is_refused_by_its_field(name: str) -> None:
    with pytest.raises(ValueError, match=r"zero_bypass=True|rounding=sr|result=hif8"):
        library_header([format("e4m3")], [engine(name)])


def test_an_engine_with_groups_needs_formats_of_numbers_alone() -> None:
    with pytest.raises(ValueError, match="without a format of its factors; give one, such as e2m1"):
        library_header([format("e4m3")], [engine("blackwell_nvfp4")])


@pytest.mark.parametrize("pair", [("e4m3", "e2m1"), ("e2m1", "e4m3")])
def test_a_kernel_for_groups_needs_two_formats_of_numbers_alone(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="=e4m3 given with engine blackwell_nvfp4; give formats of numbers alone"):
        kernels(*pair, ENGINES["blackwell_nvfp4"])
