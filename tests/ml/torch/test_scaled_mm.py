"""Scaled products and layers on a device: the bits of the processor, for all profiles, kinds of scales and recipes.

Without a GPU, the operations of a device run on tensors of the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.ml.torch import device_calls  # noqa: E402

import fp9  # noqa: E402
from fp9.sums.operands import operand  # noqa: E402
from fp9_ml.torch.products import multiply  # noqa: E402

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")


@pytest.mark.parametrize("case", list(device_calls.cases()), ids=str)
def test_a_device_has_the_bits_of_the_processor(case: Any) -> None:
    results, differ = device_calls.differences(case, (6, 128, 320), DEVICE, 1)
    assert results and not differ


@pytest.mark.skipif(not GPU, reason="no CUDA device is there")
@pytest.mark.parametrize(("name", "layer"), list(device_calls.layers()) if GPU else [])
def test_a_layer_on_a_gpu_has_the_bits_of_the_processor(name: str, layer: Any) -> None:
    assert not device_calls.layer_differences(layer, torch.randn(64, 96), DEVICE)


@pytest.mark.parametrize(
    ("engine", "fmt"),
    [("hopper", "e4m3"), ("cdna3", "hif8"), pytest.param("amx_fp8", "e5m2", id="unsupported by integers")],
)
def test_the_product_of_a_layer_has_the_bits_of_the_kernels(engine: str, fmt: str) -> None:
    rng, record = np.random.default_rng(1), fp9.engine(engine)
    codes = [np.asarray(fp9.encode(rng.normal(size=shape), fmt)) for shape in ((2, 3, 40), (2, 5, 40))]
    a, b = (operand(each, fmt) for each in codes)
    found, want = multiply(DEVICE, a, b.mT, engine=record), fp9.matmul(a, b.mT, engine=record)
    assert found.dtype == want.dtype and np.array_equal(found, want)
