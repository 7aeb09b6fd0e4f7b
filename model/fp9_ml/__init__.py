"""Machine learning with 8-bit formats: training recipes, PyTorch layers, and experiments.

Import `fp9_ml.torch` explicitly, because PyTorch is an optional dependency.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fp9_ml import recipes

__all__ = ["recipes"]


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that commands print their help quickly.
    if name != "recipes":
        raise AttributeError(f"module {__name__} has no name {name!r}; it offers {', '.join(__all__)}")
    return import_module("fp9_ml.recipes")
