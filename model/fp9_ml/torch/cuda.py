"""CUDA kernels that multiply matrices of codes. NVRTC compiles the kernels at run time.

The module needs `cuda-bindings` and NVRTC. Install them by `pip install fp9[cuda]`.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch
from torch import Tensor

from fp9.cmodel.matrix_products import THREADS, TILE, Kernels, kernels
from fp9.engines import Engine
from fp9.engines import engine as find_engine
from fp9.formats import Format, format
from fp9.system.missing import install_hint

try:
    from cuda.bindings import driver, nvrtc
except ImportError as error:
    raise ImportError(f"fp9_ml.torch.cuda needs cuda-bindings; install it with: {install_hint('cuda')}") from error

# Content of the header stdint.h, which NVRTC lacks.
_INTEGERS = """\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
"""


def _checked(found: tuple[Any, ...], log: Any = None) -> Any:
    status, *results = found
    if int(status) != 0:
        raise RuntimeError(f"{status.name} from {type(status).__name__}{log() if log else ''}")
    return results[0] if results else None


def compiled(source: str, architecture: str, options: tuple[str, ...] = ()) -> tuple[bytes, str]:
    """Return machine code for an architecture such as `sm_90`, and the compiler's messages. No GPU is needed."""
    headers, names = [_INTEGERS.encode()], [b"stdint.h"]
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), b"fp9.cu", len(headers), headers, names))
    words = [f"--gpu-architecture={architecture}".encode(), *(option.encode() for option in options)]

    def log() -> str:
        text = b" " * _checked(nvrtc.nvrtcGetProgramLogSize(program))
        _checked(nvrtc.nvrtcGetProgramLog(program, text))
        return "\n" + str(text.decode()).strip(" \0")

    _checked(nvrtc.nvrtcCompileProgram(program, len(words), words), log)
    code = b" " * _checked(nvrtc.nvrtcGetCUBINSize(program))
    _checked(nvrtc.nvrtcGetCUBIN(program, code))
    messages = log()
    _checked(nvrtc.nvrtcDestroyProgram(program))
    return code, messages


@functools.lru_cache(maxsize=128)
def source(format_a: Format, format_b: Format, engine: Engine) -> Kernels:
    return kernels(format_a, format_b, engine)


@functools.lru_cache(maxsize=128)
def _loaded(made: Kernels, device: int) -> dict[str, Any]:
    major, minor = torch.cuda.get_device_capability(device)
    module = _checked(driver.cuModuleLoadData(compiled(made.source, f"sm_{major}{minor}")[0]))
    names = ["fp9_sums", *["fp9_tiles"] * made.tiled]
    return {name: _checked(driver.cuModuleGetFunction(module, name.encode())) for name in names}


def matmul(a: Tensor, b: Tensor, format_a: Format | str, format_b: Format | str, engine: Engine | str) -> Tensor:
    """Multiply the codes `a` (m, k) by the codes `b` (k, n) on a CUDA device.

    The result holds codes in the accumulator model's output format.

    The dtype of codes is uint8, int16 or int32, depending on the width of the format. The result is bit-identical to
    `fp9.matmul`.

    Raises ValueError if a dtype, shape or device is wrong. Raises ValueError for accumulator models with scaled groups,
    stochastic rounding or `zero_bypass`.
    """
    record, formats = find_engine(engine), (format(format_a), format(format_b))
    made = source(*formats, record)
    for side, codes, fmt in zip("ab", (a, b), formats, strict=True):
        if codes.dim() != 2 or codes.element_size() != fmt.dtype.itemsize or codes.dtype.is_floating_point:
            raise ValueError(
                f"{side} given as {codes.dtype} of {codes.dim()} dimensions; give codes of {fmt.name} as a matrix of "
                f"integers of {8 * fmt.dtype.itemsize} bits"
            )
    if a.shape[1] != b.shape[0] or a.device != b.device or not a.is_cuda:
        raise ValueError(
            f"a {tuple(a.shape)} on {a.device} and b {tuple(b.shape)} on {b.device} given; give (m, k) and (k, n) on "
            "one CUDA device"
        )
    return _launched(made, a, b, record)


_RESULTS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


def _launched(made: Kernels, a: Tensor, b: Tensor, engine: Engine) -> Tensor:
    (m, k), n = a.shape, b.shape[1]
    d = torch.empty((m, n), dtype=_RESULTS[engine.output.dtype.itemsize], device=a.device)
    if not d.numel():
        return d
    with torch.cuda.device(a.device):
        functions = _loaded(made, torch.cuda.current_device())
        tiled = made.tiled and k > 0
        redo = torch.empty((m, n), dtype=torch.uint8, device=a.device) if tiled else None
        marks = 0 if redo is None else redo.data_ptr()
        values = (a.data_ptr(), b.data_ptr(), d.data_ptr(), marks, m, n, k, *a.stride(), *b.stride())
        if tiled:
            _launch(functions["fp9_tiles"], (-(-n // TILE), -(-m // TILE)), values)
        _launch(functions["fp9_sums"], (-(-m * n // THREADS), 1), values)
    return d


def _launch(function: Any, grid: tuple[int, int], values: tuple[int, ...]) -> None:
    kinds = (ctypes.c_void_p,) * 4 + (ctypes.c_int,) * 3 + (ctypes.c_longlong,) * 4
    stream = torch.cuda.current_stream().cuda_stream
    _checked(driver.cuLaunchKernel(function, *grid, 1, THREADS, 1, 1, 0, stream, (values, kinds), 0))
