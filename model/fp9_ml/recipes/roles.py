"""Enumerations for a layer's tensors, a layer's matrix products and the kinds of layers."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from fp9.engines import Engine
from fp9.formats import Format
from fp9.formats.policy import CastPolicy
from fp9_ml.recipes.scaling import ScaleRule


class Role(Enum):
    """Tensors that a layer multiplies: activations, weights and gradients."""

    ACTIVATIONS = "activations"
    WEIGHTS = "weights"
    GRADIENTS = "gradients"


class Product(Enum):
    """Matrix products of a layer: forward product, activation gradients and weight gradients."""

    FORWARD = "forward"
    DGRAD = "dgrad"
    WGRAD = "wgrad"

    @property
    def operands(self) -> tuple[Role, Role]:
        """Return the tensors that are the left and the right operand of a matrix product."""
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
    """Kind of a layer: first layer, last layer, depthwise layer or any other layer."""

    INNER = "inner"
    FIRST = "first"
    LAST = "last"
    DEPTHWISE = "depthwise"


class Choices(Protocol):
    """Attributes that a linear layer reads from its training recipe."""

    @property
    def scale(self) -> ScaleRule:
        """Return the scaling rule."""

    @property
    def output(self) -> Format | None:
        """Return the format of the layer's output and the activation gradients."""

    @property
    def weight_gradients(self) -> Format | None:
        """Return the format of the weight gradients."""

    def format_of(self, role: Role) -> Format | None:
        """Return the format to which a tensor is cast, or None."""

    def engine_of(self, product: Product) -> Engine | None:
        """Return the accumulator model for a matrix product, or None for a product in FP32."""

    def policy(self, role: Role) -> CastPolicy:
        """Return the rounding mode and overflow policy for casts of a tensor."""
