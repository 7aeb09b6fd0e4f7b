"""The C functions of block formats give the codes of `fp9.blocks.quantise`, for every block format and scale rule."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.compilers import COMPILERS, GCC, Compiler, write

import fp9
from fp9.blocks import BlockFormat, quantise, tensor_scale
from fp9.cmodel import library_files

BLOCKS = 600

_CALLED = """
void blocks(const uint32_t *x, uint32_t tensor, int rule, int count, uint32_t *scale, uint8_t *element);
void blocks(const uint32_t *x, uint32_t tensor, int rule, int count, uint32_t *scale, uint8_t *element)
{{
    int i;
    for (i = 0; i < count; ++i) {{
        scale[i] = fp9_{name}_quantise(x + i * {length}, tensor, rule, element + i * {length});
    }}
}}
"""

_TENSOR = """
uint32_t tensor(uint32_t largest, int rule);
uint32_t tensor(uint32_t largest, int rule)
{{
    return fp9_{name}_tensor_scale(fp9_fp32_decode(largest), rule);
}}
"""


def _source(block: BlockFormat) -> str:
    (header,) = library_files(block.name, "", "blocks").values()
    called = _CALLED.format(name=block.name, length=block.length)
    return "\n".join([header, called, _TENSOR.format(name=block.name) if block.tensor else ""])


def _built(block: BlockFormat, folder: Path, compiler: Compiler) -> ctypes.CDLL:
    (source,) = write(folder, {"blocks.c": _source(block)})
    library = folder / "blocks.so"
    compiler.build(source, library, "-shared", "-fPIC")
    return ctypes.CDLL(str(library))


def _numbers(length: int) -> NDArray[np.float32]:
    """Blocks of any FP32 code, of numbers of similar size, of sizes at which scales saturate, and of simple numbers."""
    random = np.random.default_rng(length)
    shape = (BLOCKS, length)
    patterns = random.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.float32)
    near = random.normal(size=shape) * 2.0 ** random.integers(-12, 12, (BLOCKS, 1))
    far = random.normal(size=shape) * 2.0 ** random.integers(-150, 127, (BLOCKS, 1))
    simple = random.integers(-12, 13, shape) * 2.0 ** random.integers(-150, 4, (BLOCKS, 1))
    with np.errstate(over="ignore", under="ignore"):
        made = np.concatenate([patterns, near.astype(np.float32), far.astype(np.float32), simple.astype(np.float32)])
    made[::97] = np.copysign(np.float32(0), made[::97])
    made[::101, 0] = np.inf
    made[::103, -1] = np.nan
    return made


def _codes(library: ctypes.CDLL, x: NDArray[np.float32], tensor: np.float32, rule: int) -> tuple[NDArray, NDArray]:
    scales, elements = np.zeros(len(x), dtype=np.uint32), np.zeros(x.shape, dtype=np.uint8)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, scales, elements)]
    library.blocks(pointers[0], int(tensor.view(np.uint32)), rule, len(x), *pointers[1:])
    return elements, scales


def _agree(block: BlockFormat, folder: Path, compiler: Compiler) -> None:
    library, x = _built(block, folder, compiler), _numbers(block.length)
    tensors = [np.float32(value) for value in (1.0, 0.3, 2.0**-126, 3e38)] if block.tensor else [np.float32(1)]
    for number, rule in enumerate(block.rules):
        for tensor in tensors:
            own = {"tensor_scale": tensor} if block.tensor else {}
            expected = quantise(x, block, rule=rule, **own)
            elements, scales = _codes(library, x, tensor, number)
            assert np.array_equal(scales, expected.scales[:, 0]), (rule, tensor)
            assert np.array_equal(elements, expected.elements), (rule, tensor)


@pytest.mark.parametrize("block", fp9.block_formats(), ids=str)
def test_blocks_are_those_of_quantise(block: BlockFormat, tmp_path: Path) -> None:
    _agree(block, tmp_path, GCC)


@pytest.mark.slow
@pytest.mark.parametrize("machine", ["clang", "portable"])
@pytest.mark.parametrize("block", fp9.block_formats(), ids=str)
def test_blocks_agree_with_other_compilers(block: BlockFormat, machine: str, tmp_path: Path) -> None:
    _agree(block, tmp_path, COMPILERS[machine])


@pytest.mark.parametrize("block", [block for block in fp9.block_formats() if block.tensor], ids=str)
def test_tensor_scales_are_those_of_tensor_scale(block: BlockFormat, tmp_path: Path) -> None:
    library = _built(block, tmp_path, GCC)
    library.tensor.restype = ctypes.c_uint32
    codes = np.random.default_rng(9).integers(0, 0x7F800000, BLOCKS, dtype=np.uint32)
    for code in [0, 1, 0x7F7FFFFF, *map(int, codes)]:
        largest = np.array([code], dtype=np.uint32).view(np.float32)
        for number, rule in enumerate(block.rules):
            assert library.tensor(code, number) == tensor_scale(largest, block, rule).view(np.uint32), (code, rule)
