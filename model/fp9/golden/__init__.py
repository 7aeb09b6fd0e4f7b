"""The golden model: expected results of a unit, with one function for each kind."""

from fp9.golden.evaluate import evaluate

__all__ = ["evaluate"]
