"""Machine learning with 8-bit formats: recipes, PyTorch layers that follow them, and experiments that check papers.

`fp9_ml.recipes` holds the recipes: formats by role, accumulators, scaling of tensors and of the loss. `fp9_ml.torch`
holds layers, optimizers and converters for PyTorch; import it by its name, as torch is an optional package.
`fp9_ml.recorded` turns a recorded training step into golden vectors of a unit. Every number is computed by `fp9`.
"""

from fp9_ml import recipes

__all__ = ["recipes"]
