"""Expected results of a unit spec, one function a kind."""

from fp9.golden.evaluate import evaluate

__all__ = ["evaluate"]
