"""Demonstrate fp9 on a neural network layer, from number formats to hardware."""

from fp9_sim.demo.main_job import (
    ACCURACY_FORMATS,
    STEPS,
    accuracies,
    network_record,
    product_record,
    run,
    tensor_record,
)

__all__ = [
    "ACCURACY_FORMATS",
    "STEPS",
    "accuracies",
    "network",
    "network_record",
    "operations",
    "product_record",
    "report",
    "run",
    "tensor_record",
]
