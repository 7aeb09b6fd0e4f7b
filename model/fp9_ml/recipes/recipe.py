"""Training recipe: the formats of tensors, the accumulators of products, and scaling rules."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from fp9.engines import ENGINES, Engine
from fp9.formats import Format, format
from fp9.formats.policy import CastPolicy
from fp9.formats.rounding import Overflow, Rounding, choice
from fp9.units import CATALOGUE, Dot, Unit
from fp9.units.views import cast_of, sum_of
from fp9_ml.recipes.fields import READERS, word
from fp9_ml.recipes.linear import Backward, LayerState, Saved, linear, linear_backward
from fp9_ml.recipes.loss import Constant, LossRule, LossScaler
from fp9_ml.recipes.roles import Place, Product, Role
from fp9_ml.recipes.scaling import Fixed, ScaleRule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

MAX_OPERAND_BITS = 16

_FP32, _FP16 = ENGINES["fma_fp32"], format("fp16")


@dataclass(frozen=True)
class Recipe:
    """Training recipe: a format for each tensor, an accumulator model for each product, and scaling rules.

    The fields `activations`, `weights` and `gradients` are the formats to which a layer's tensors are cast before a
    matrix product. The gradients are derivatives of the loss with respect to a layer's output. `forward`, `dgrad` and
    `wgrad` are the accumulator models of the layer's three products. If an accumulator model is None, NumPy computes
    the product in FP32, and adds in no fixed order. If a format is None, the tensor is not cast, and the accumulator
    models of its products must be None. `output` is the format to which a layer's output and its activation gradients
    are rounded. If `output` is None, the results keep the result format of the accumulator model. `weight_gradients` is
    the format to which the weight gradients are rounded.

    `scale` is the rule for the scale factors of tensors, and `loss` is the rule for the loss scale. `rounding` and
    `overflow` apply to casts of activations and weights. `backward_rounding` and `gradient_overflow` apply to casts of
    gradients. If a rounding field is None, the format's default rounding applies. With the overflow policy "inf",
    gradients that overflow become infinite, so that the loss scaler reduces its scale.

    `first`, `last` and `depthwise` are formats that replace the three operand formats in the first layer, the last
    layer and depthwise layers. If `first`, `last` or `depthwise` is None, the corresponding layers use the formats
    `activations`, `weights` and `gradients`. Formats, accumulator models, scaling rules and policies may be given by
    name.

    Raises ValueError for inconsistent fields.

    >>> Recipe("mine", activations="e4m3", weights="e4m3", gradients="e5m2", scale="delayed(history=16)").scale.history
    16
    """

    name: str
    activations: Format | None = None
    weights: Format | None = None
    gradients: Format | None = None
    weight_gradients: Format | None = None
    forward: Engine | None = _FP32
    dgrad: Engine | None = _FP32
    wgrad: Engine | None = _FP32
    output: Format | None = None
    scale: ScaleRule = Fixed()  # noqa: RUF009 - frozen
    loss: LossRule = Constant()  # noqa: RUF009 - frozen
    rounding: Rounding | None = None
    backward_rounding: Rounding | None = None
    overflow: Overflow = Overflow.SATURATE
    gradient_overflow: Overflow = Overflow.SATURATE
    first: Format | None = None
    last: Format | None = None
    depthwise: Format | None = None
    source: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            reader = READERS.get(field.name)
            value = getattr(self, field.name)
            if reader is not None:
                object.__setattr__(self, field.name, reader(value, f"recipe {self.name}: {field.name}"))
        for role in Role:
            self._check_cast(role)
        for product in Product:
            self._check_product(product)
        if self.output is not None and not (self.output.has_nan or self.output.has_inf):
            raise ValueError(
                f"recipe {self.name}: {self.output.name} given as output; give a format with infinity or NaN"
            )
        if self.weight_gradients is not None:
            self._check_policy(Role.GRADIENTS, self.weight_gradients)
        for place in (Place.FIRST, Place.LAST, Place.DEPTHWISE):
            self.layer(place)

    def _check_cast(self, role: Role) -> None:
        fmt = self.format_of(role)
        if fmt is not None and fmt.bits > MAX_OPERAND_BITS:
            raise ValueError(
                f"recipe {self.name}: {fmt.name} given for {role.value}; engines take operands of at most "
                f"{MAX_OPERAND_BITS} bits: give a narrower format, or none for the host's FP32"
            )
        if fmt is not None and not fmt.signed:
            raise ValueError(f"recipe {self.name}: {fmt.name} given for {role.value}; give a format with a sign")
        if fmt is not None:
            self._check_policy(role, fmt)

    def _check_policy(self, role: Role, fmt: Format) -> None:
        try:
            self.policy(role).check(fmt)
        except ValueError as error:
            raise ValueError(f"recipe {self.name}: {role.value}: {error}") from None

    def _check_product(self, product: Product) -> None:
        missing = [role.value for role in product.operands if self.format_of(role) is None]
        chosen = self.engine_of(product)
        if chosen is not None and missing:
            raise ValueError(
                f"recipe {self.name}: engine {chosen.name} given for {product.value}, and {missing[0]} has no format; "
                f"give {missing[0]} a format of at most {MAX_OPERAND_BITS} bits, or {product.value} none"
            )

    # --- questions ----------------------------------------------------------------------------------------------

    def format_of(self, role: Role) -> Format | None:
        """Return the format to which activations, weights or gradients are cast.

        If the tensor is not cast, the result is None.
        """
        found: Format | None = getattr(self, role.value)
        return found

    def engine_of(self, product: Product) -> Engine | None:
        """Return the accumulator model for a matrix product, or None for a product in plain FP32."""
        found: Engine | None = getattr(self, product.value)
        return found

    def policy(self, role: Role) -> CastPolicy:
        """Return the rounding mode and overflow policy for casts of activations, weights or gradients."""
        if role is Role.GRADIENTS:
            return CastPolicy(self.backward_rounding, self.gradient_overflow)
        return CastPolicy(self.rounding, self.overflow)

    def layer(self, place: Place | str) -> Recipe:
        """Return the recipe for a layer that is the first layer, the last layer or a depthwise layer.

        In the returned recipe, activations, weights and gradients have the format from the field `first`, `last` or
        `depthwise`, and are not scaled. If the recipe has no separate format for layers at `place`, the recipe itself
        is returned.
        """
        where = choice(Place, place, "place")
        fmt: Format | None = None if where is Place.INNER else getattr(self, where.value)
        if fmt is None:
            return self
        plain: dict[str, Any] = {p.value: None for p in Place if p is not Place.INNER}
        given: dict[str, Any] = {role.value: fmt for role in Role}
        rounds = [r for r in (self.rounding, self.backward_rounding) if r is not None and not fmt.offers(r)]
        own: dict[str, Any] = {"rounding": None, "backward_rounding": None} if rounds else {}
        return replace(
            self, name=f"{self.name}: {where.value}", scale=Fixed(), weight_gradients=None, **plain, **given, **own
        )

    def units(self) -> dict[str, tuple[str, ...]]:
        """For each cast and product of the recipe, return the names of the hardware units that compute it bit-exactly.

        The keys are names of tensors and products, such as "weights" or "forward". A unit for a cast must support the
        target format, the rounding mode and the overflow policy. If all scale factors of the recipe are powers of two,
        but not all are 1, a unit for a cast must have a scale input. If the recipe's scale factors are not always
        powers of two, a unit for a cast must cast from FP32. A unit that computes a matrix product must have the
        recipe's accumulator model, and support the formats of both operands. For a cast or product that no hardware
        unit computes bit-exactly, the dictionary contains an empty tuple. Products in plain FP32 are left out.
        """
        found = {}
        for role in Role:
            fmt = self.format_of(role)
            if fmt is not None:
                found[role.value] = _names(lambda u, r=role, f=fmt: self._casts(u, r, f))
        for product in Product:
            if self.engine_of(product) is not None:
                found[product.value] = _names(lambda u, p=product: self._sums(u, p))
        return found

    def _casts(self, unit: Unit, role: Role, fmt: Format) -> bool:
        policy, cast = self.policy(role), cast_of(unit)
        rounding, overflow = policy.rounding_for(fmt), policy.overflow
        return (
            cast is not None
            and fmt in cast.targets
            and rounding in cast.roundings
            and overflow in cast.overflow
            and cast.policy(fmt, rounding, overflow) == replace(policy, rounding=rounding)
            and (cast.scale or self.scale.is_identity if self.scale.is_exact else cast.source.native_dtype == "float32")
        )

    def _sums(self, unit: Unit, product: Product) -> bool:
        chosen, summed = self.engine_of(product), sum_of(unit)
        if summed is None or chosen is None or summed.engine.changed(name="") != chosen.changed(name=""):
            return False
        left, right = (self.format_of(role) for role in product.operands)
        either = ((left, right), (right, left))
        return any(_takes(summed, a, summed.a) and _takes(summed, b, summed.b) for a, b in either)

    # --- use ------------------------------------------------------------------------------------------------------

    def state(self) -> LayerState:
        """Return the initial scales of one layer."""
        return LayerState(self)

    def loss_scaler(self) -> LossScaler:
        """Return a new loss scaler that follows the recipe's loss scaling rule.

        If the recipe has no format for gradients, the loss scaler assumes FP16 gradients.
        """
        return self.loss.start(self.gradients or _FP16)

    def linear(
        self, x: ArrayLike, w: ArrayLike, state: LayerState | None = None, **options: Any
    ) -> tuple[NDArray[np.float32], Saved]:
        """Compute y = x w^T, and return y and the data for the backward pass, as `linear` does."""
        return linear(self, x, w, state, **options)

    def linear_backward(self, g: ArrayLike, saved: Saved, **options: Any) -> Backward:
        """Compute both backward products by `fp9_ml.recipes.linear.linear_backward`."""
        return linear_backward(g, saved, **options)

    # --- text ---------------------------------------------------------------------------------------------------

    def spelled(self) -> dict[str, str]:
        """Return a dictionary that maps the name of each field to the field's value as text."""
        return {field.name: word(getattr(self, field.name)) for field in fields(self)}

    def __str__(self) -> str:
        return self.name


def _names(fits: Any) -> tuple[str, ...]:
    return tuple(name for name, unit in CATALOGUE.items() if fits(unit))


def _takes(unit: Dot, fmt: Format | None, offered: tuple[Format, ...]) -> bool:
    family = str(fmt).partition("(")[0]
    by_port = fmt is not None and unit.bias_port and fmt.programmable_bias
    return fmt in offered or (by_port and any(o.name.partition("(")[0] == family for o in offered))
