"""Enumerations: the tensors of a layer, its matrix products, and kinds of layers."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from fp9.engines import Engine
from fp9.formats import Format
from fp9.formats.policy import CastPolicy
from fp9_ml.recipes.scaling import ScaleRule


class Role(Enum):
    """The three tensors that a layer multiplies in its matrix products: activations, weights and gradients."""

    ACTIVATIONS = "activations"
    WEIGHTS = "weights"
    GRADIENTS = "gradients"


class Product(Enum):
    """The three matrix products of a layer: forward product, activation gradients and weight gradients."""

    FORWARD = "forward"
    DGRAD = "dgrad"
    WGRAD = "wgrad"

    @property
    def operands(self) -> tuple[Role, Role]:
        """Return which tensors are the left and the right operand of the matrix product."""
        return _OPERANDS[self]

    @property
    def words(self) -> str:
        """Return a description of the matrix product, for use in error messages."""
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
    """Kind of a layer: first layer, last layer, depthwise layer or any other layer.

    A recipe may have special formats for the first layer, the last layer and depthwise layers.
    """

    INNER = "inner"
    FIRST = "first"
    LAST = "last"
    DEPTHWISE = "depthwise"


class Choices(Protocol):
    """Attributes and methods of a training recipe on which a linear layer depends."""

    @property
    def scale(self) -> ScaleRule:
        """Return the scaling rule. The rule applies to each tensor separately."""

    @property
    def output(self) -> Format | None:
        """Return the format to which the layer's output and the activation gradients are rounded."""

    @property
    def weight_gradients(self) -> Format | None:
        """Return the format to which the weight gradients are rounded."""

    def format_of(self, role: Role) -> Format | None:
        """Return the format to which the tensor of a role (activations, weights or gradients) is cast.

        The result is None if the recipe does not cast the tensor.
        """

    def engine_of(self, product: Product) -> Engine | None:
        """Return the accumulator model for a matrix product, or None for a product in plain FP32."""

    def policy(self, role: Role) -> CastPolicy:
        """Return the rounding mode and overflow policy for casts of activations, weights or gradients."""
