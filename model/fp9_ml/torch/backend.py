"""Implement the array operations of scaled matrix products with PyTorch tensors, on any device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fp9.engines import Engine
from fp9.formats import Format
from fp9.formats.dtypes import named_or_carried
from fp9.profiles.backends import NumpyBackend
from fp9.sums.operands import operand_codes
from fp9_ml.torch import integers

TYPES = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
"""Dtypes of results, by format."""
_CODES = {1: torch.uint8, 2: torch.int16, 4: torch.int32}


@dataclass(frozen=True)
class _Operand:
    codes: Tensor
    format: Format

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.codes.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)


def codes_of(tensor: Tensor) -> Tensor:
    return tensor.view(_CODES[tensor.element_size()]) if tensor.is_floating_point() else tensor


class TensorBackend:
    """Operations of a scaled matrix product on tensors of one device."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._host = device, NumpyBackend()

    def operand(self, side: str, given: Any, fmt: Format | str | None) -> Any:
        found = named_or_carried(given, fmt, f"format_{side}")
        operand_codes(given.new_empty((0,), device="cpu"), found)  # checks the dtype
        return _Operand(codes_of(given), found)

    def numbers(self, name: str, given: Any) -> Any:
        tensor = torch.as_tensor(given)
        if tensor.is_complex() or tensor.dtype == torch.bool:
            raise TypeError(f"{name} of {tensor.dtype} given; give a tensor of floating-point numbers")
        return tensor.to(self._device, torch.float32)

    def scale_codes(self, given: Any, fmt: Format) -> Any:
        return self._host.scale_codes(given.cpu(), fmt)

    def multiply(self, a: Any, b: Any, engine: Engine, some: Any = None, **scales: Any) -> Any:
        # Products with scales inside the accumulator model (MX and NVFP4) are computed on the CPU, by fp9's kernels.
        if scales:
            x, y = (self._host.operand(side, each.codes.cpu(), each.format) for side, each in (("a", a), ("b", b)))
            return torch.from_numpy(self._host.multiply(x, y, engine, some, **scales)).to(self._device)
        x, y = (a.codes, b.codes) if some is None else (a.codes[:, some], b.codes[some])
        codes = integers.matmul(x, y, a.format, b.format, engine)
        dtype = TYPES[engine.addend_format.name]
        return codes.to(_CODES[dtype.itemsize]).view(dtype).float()

    def zeros(self, rows: int, columns: int) -> Any:
        return torch.zeros((rows, columns), device=self._device)

    def encode(self, numbers: Any, fmt: Format) -> Any:
        return codes_of(numbers.to(TYPES[fmt.name], copy=True))
