"""Expected results of a unit spec, one function a kind."""

from fp9.golden.evaluate import evaluate
from fp9.golden.stepwise import Model, model_of

__all__ = ["Model", "evaluate", "model_of"]
