"""Demonstrate fp9 on one layer of a neural network, from formats to hardware."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fp9
from fp9.engines import engine
from fp9_sim.demo import block_products, hardware, layer, network

Record = dict[str, Any]
# Arguments: the name of a finished step, the number of finished steps, and the number of all steps.
Progress = Callable[[str, int, int], None]

ACCURACY_FORMATS = ("e3m4", "e4m3", "hif8", "e5m2", "e2m1")
STEPS = 3 + hardware.STEPS
FIGURE_BINS = range(-40, 17)


def run(out: Path, seed: int = 0, progress: Progress | None = None) -> Record:
    """Run the demonstration and return its results as a dictionary, the content of `report.json`.

    The run writes Verilog to `OUT/rtl`, golden vectors to `OUT/vectors` and simulator builds to `OUT/sim`. Tasks are
    skipped if a tool is not installed; the entry `skipped` names the missing tools. Raises OSError for an unwritable
    folder.
    """
    started = time.perf_counter()
    steps = _Steps(progress)
    out.mkdir(parents=True, exist_ok=True)
    data = network.digits(seed)
    trained = network.train(data, seed)
    real = network.accuracy(trained.activations(data.test_images)[-1], data.test_labels)
    steps.done(f"Trained the network on {len(data.train_labels)} digits: {real:.1%} of the test digits right in FP32")
    tensors = network.tensors(trained, data)
    products = layer.products(tensors)
    in_blocks = block_products.products(tensors)
    steps.done(
        f"Computed one layer in {len(layer.SCHEMES)} format pairs under {len(layer.ACCUMULATORS)} accumulators, and in "
        f"{len(block_products.BLOCKS)} formats of blocks"
    )
    shares = [{"format": "fp32", "engine": "float32", "accuracy": real}, *accuracies(trained, data)]
    steps.done(f"Ran the network on {len(data.test_labels)} test digits in {len(ACCURACY_FORMATS)} formats")
    line = hardware.Line(out, seed, steps.done)
    line.prepare(tensors, products)
    built = line.measure()
    return {
        "fp9": fp9.__version__,
        "seed": seed,
        "network": network_record(data),
        "accuracy": shares,
        "tensors": [tensor_record(name, getattr(tensors, name)) for name in ("activations", "weights", "gradient")],
        "layer": [*(product_record(p) for p in products), *(block_record(p) for p in in_blocks)],
        "units": list(built.units.values()),
        "ratios": built.ratios,
        "recipes": built.recipes,
        "broken": built.broken,
        "skipped": built.skipped,
        "folder": str(out),
        "seconds": time.perf_counter() - started,
    }


class _Steps:
    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.count = 0

    def done(self, what: str) -> None:
        self.count += 1
        if self.progress:
            self.progress(what, self.count, STEPS)


def accuracies(trained: network.Network, data: network.Digits) -> list[Record]:
    """Return the classification accuracy of the network for each number format and accumulator model."""
    return [
        {
            "format": fp9.format(fmt).name,
            "engine": by,
            "accuracy": network.accuracy(
                layer.scores(trained, data.test_images, fp9.format(fmt), engine(by)), data.test_labels
            ),
        }
        for fmt in ACCURACY_FORMATS
        for by in layer.ACCUMULATORS
    ]


def network_record(data: network.Digits) -> Record:
    """Return the layer sizes, the number of training epochs, and the numbers of training and test images."""
    return {
        "layers": list(network.LAYER_SIZES),
        "layer": network.LAYER,
        "epochs": network.EPOCHS,
        "train": len(data.train_labels),
        "test": len(data.test_labels),
    }


def tensor_record(name: str, tensor: NDArray[np.float32]) -> Record:
    """Return the shape of a tensor and the number of elements in each binade."""
    binades = np.frexp(tensor[tensor != 0])[1] - 1
    counts = [int(np.count_nonzero(binades == exponent)) for exponent in FIGURE_BINS]
    return {
        "name": name,
        "shape": list(tensor.shape),
        "max": float(np.abs(tensor).max()),
        "zeros": int(np.count_nonzero(tensor == 0)),
        "lowest_binade": FIGURE_BINS.start,
        "binades": counts,
    }


def product_record(product: layer.Product) -> Record:
    """Return the formats, scales and relative errors of one matrix product."""
    return {
        "direction": product.scheme.direction,
        "a": product.scheme.a.name,
        "b": product.scheme.b.name,
        "engine": product.engine.name,
        "result": product.engine.result.format.name,
        "rounding": product.engine.result.rounding.value,
        "scale_a": product.a.exponent,
        "scale_b": product.b.exponent,
        "block": None,
        "shape": [product.a.codes.shape[0], product.a.codes.shape[1], product.b.codes.shape[1]],
        "quantisation_error": product.quantisation_error,
        "accumulation_error": product.accumulation_error,
        "total_error": product.total_error,
    }


def block_record(product: block_products.BlockProduct) -> Record:
    return {
        "direction": product.direction,
        "a": product.block.name,
        "b": product.block.name,
        "engine": product.engine.name,
        "result": product.engine.result.format.name,
        "rounding": product.engine.result.rounding.value,
        "block": product.block.length,
        "quantisation_error": product.quantisation_error,
        "accumulation_error": product.accumulation_error,
        "total_error": product.total_error,
    }
