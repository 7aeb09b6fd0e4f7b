"""Machine learning with 8-bit formats: training recipes, PyTorch layers, and experiments.

`fp9_ml.recipes` holds training recipes, which set tensor formats, accumulators and scaling rules. `fp9_ml.torch` holds
PyTorch layers, optimizers and converters. Import `fp9_ml.torch` explicitly, because PyTorch is an optional dependency.
`fp9_ml.recorded` converts a recorded training step to golden vectors for a hardware unit. The package `fp9` computes
every number.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fp9_ml import recipes

__all__ = ["recipes"]


def __getattr__(name: str) -> Any:
    """Load `fp9_ml.recipes` on first use, so that commands print their help quickly."""
    if name != "recipes":
        raise AttributeError(f"module {__name__} has no name {name!r}; it offers {', '.join(__all__)}")
    return import_module("fp9_ml.recipes")
