"""The tensors and products of a layer, and the layers that are treated apart."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from fp9.engines import Engine
from fp9.formats import Format
from fp9.policy import CastPolicy
from fp9_ml.recipes.scaling import ScaleRule


class Role(Enum):
    """The operands of a layer's three products."""

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
        """Left and right factor."""
        return _OPERANDS[self]

    @property
    def words(self) -> str:
        """The product as a reader is told."""
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
    """Layers that a recipe may treat apart."""

    INNER = "inner"
    FIRST = "first"
    LAST = "last"
    DEPTHWISE = "depthwise"


class Choices(Protocol):
    """What a layer asks of its recipe."""

    @property
    def scale(self) -> ScaleRule:
        """How each operand is scaled."""

    @property
    def output(self) -> Format | None:
        """What the products `forward` and `dgrad` are rounded to."""

    @property
    def weight_gradients(self) -> Format | None:
        """What the product `wgrad` is rounded to."""

    def format_of(self, role: Role) -> Format | None:
        """What an operand is cast to; None where it is not."""

    def engine_of(self, product: Product) -> Engine | None:
        """What sums a product; None for the host's FP32."""

    def policy(self, role: Role) -> CastPolicy:
        """Rounding and overflow of an operand's cast."""
