"""Tensors and products of a layer, and the layers that a recipe may treat specially."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from fp9.engines import Engine
from fp9.formats import Format
from fp9.policy import CastPolicy
from fp9_ml.recipes.scaling import ScaleRule


class Role(Enum):
    """Operands of a layer's three products."""

    ACTIVATIONS = "activations"
    WEIGHTS = "weights"
    GRADIENTS = "gradients"


class Product(Enum):
    """The three matrix products of a layer, with their operands in order."""

    FORWARD = "forward"
    DGRAD = "dgrad"
    WGRAD = "wgrad"

    @property
    def operands(self) -> tuple[Role, Role]:
        """Return the left and right factor."""
        return _OPERANDS[self]

    @property
    def words(self) -> str:
        """Return the description of the product for users."""
        return _PRODUCT_WORDS[self]


_OPERANDS = {
    Product.FORWARD: (Role.ACTIVATIONS, Role.WEIGHTS),
    Product.DGRAD: (Role.GRADIENTS, Role.WEIGHTS),
    Product.WGRAD: (Role.GRADIENTS, Role.ACTIVATIONS),
}
_PRODUCT_WORDS = {
    Product.FORWARD: "activations x weights",
    Product.DGRAD: "gradients x weights, the gradients of the activations",
    Product.WGRAD: "gradients x activations, the gradients of the weights",
}


class Place(Enum):
    """Layers that a recipe may treat specially."""

    INNER = "inner"
    FIRST = "first"
    LAST = "last"
    DEPTHWISE = "depthwise"


class Choices(Protocol):
    """Interface of a recipe for a layer."""

    @property
    def scale(self) -> ScaleRule:
        """Return the scaling rule of each operand."""

    @property
    def output(self) -> Format | None:
        """Return the format of the results of `forward` and `dgrad`."""

    @property
    def weight_gradients(self) -> Format | None:
        """Return the format of the result of `wgrad`."""

    def format_of(self, role: Role) -> Format | None:
        """Return the format that an operand is cast to; None if it is not cast."""

    def engine_of(self, product: Product) -> Engine | None:
        """Return the engine of a product; None for the host's FP32."""

    def policy(self, role: Role) -> CastPolicy:
        """Return rounding and overflow of an operand's cast."""
