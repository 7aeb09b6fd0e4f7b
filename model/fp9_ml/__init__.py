"""Machine learning with 8-bit formats: recipes, PyTorch layers that follow them, and experiments that check papers.

`fp9_ml.recipes` holds the recipes: formats by role, accumulators, and the scaling of tensors and loss.
`fp9_ml.torch` holds layers, optimizers and converters for PyTorch. Import it explicitly, since torch is an
optional package. `fp9_ml.recorded` converts a recorded training step to golden vectors for a unit. `fp9` computes
every number.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fp9_ml import recipes

__all__ = ["recipes"]


def __getattr__(name: str) -> Any:
    """Load the recipes on first use. Commands of this package then print `--help` without loading them."""
    if name != "recipes":
        raise AttributeError(f"module {__name__} has no name {name!r}; it offers {', '.join(__all__)}")
    return import_module("fp9_ml.recipes")
