"""The golden model: expected results of hardware units, with one function for each kind."""

from fp9.golden.evaluate import evaluate

__all__ = ["evaluate"]
