"""The golden model: expected results of a unit, with one function for each kind of unit."""

from fp9.golden.evaluate import evaluate

__all__ = ["evaluate"]
