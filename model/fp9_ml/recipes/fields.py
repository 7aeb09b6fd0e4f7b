"""Convert the fields of a training recipe to text and from text."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from fp9.engines import Engine, engine
from fp9.formats import Format, format
from fp9.formats.rounding import Overflow, Rounding, choice
from fp9_ml.recipes import spelling
from fp9_ml.recipes.automatic import Adaptive, LogMax
from fp9_ml.recipes.loss import Backoff, Constant, LossRule
from fp9_ml.recipes.scaling import SCALES, ScaleRule

LOSSES: dict[str, type[LossRule]] = {rule.kind: rule for rule in (Constant, Backoff, LogMax, Adaptive)}
"""Loss scaling rules, by name."""


def _is_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.lower() == "none")


def _format(value: Any, where: str) -> Format | None:
    return None if _is_none(value) else _in_words(format, value, where)


def _engine(value: Any, where: str) -> Engine | None:
    return None if _is_none(value) else _in_words(engine, value, where)


def _in_words(find: Any, value: Any, where: str) -> Any:
    try:
        return find(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _scale(value: Any, where: str) -> ScaleRule:
    return value if isinstance(value, ScaleRule) else spelling.rule(_text(value, where), SCALES, where)


def _loss(value: Any, where: str) -> LossRule:
    return value if isinstance(value, LossRule) else spelling.rule(_text(value, where), LOSSES, where)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{where}: {value!r} given; give a text or a record")
    return value


def _rounding(value: Any, where: str) -> Rounding | None:
    return None if _is_none(value) else choice(Rounding, value, where)


def _overflow(value: Any, where: str) -> Overflow:
    found: Overflow = choice(Overflow, value, where)
    return found


READERS: dict[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(
        ("activations", "weights", "gradients", "weight_gradients", "output", "first", "last", "depthwise"), _format
    ),
    **dict.fromkeys(("forward", "dgrad", "wgrad"), _engine),
    **dict.fromkeys(("rounding", "backward_rounding"), _rounding),
    **dict.fromkeys(("overflow", "gradient_overflow"), _overflow),
    "scale": _scale,
    "loss": _loss,
}
"""Functions that convert a recipe's field from text, by name of the field.

The second argument of a function is the field's location, for error messages.
"""


def word(value: object) -> str:
    match value:
        case ScaleRule() | LossRule():
            return spelling.spelled(value, value.kind)
        case Format() | Engine():
            return value.name
        case Enum():
            return str(value.value)
        case _:
            return "none" if value is None else str(value)
