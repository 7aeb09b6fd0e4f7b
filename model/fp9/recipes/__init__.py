"""How the formats are used: recipes of formats, engines, scales and updates, from loss scaling to calibration."""

from fp9.recipes.automatic import Adaptive, LogMax
from fp9.recipes.catalogue import RECIPES, dumps, loads, recipe
from fp9.recipes.fields import LOSSES
from fp9.recipes.loss import Backoff, Constant, LossRule, LossScaler
from fp9.recipes.recipe import Recipe
from fp9.recipes.roles import Place, Product, Role
from fp9.recipes.scaling import SCALES, Current, Delayed, Fixed, Periodic, Scaler, ScaleRule, amax

__all__ = [
    "LOSSES",
    "RECIPES",
    "SCALES",
    "Adaptive",
    "Backoff",
    "Constant",
    "Current",
    "Delayed",
    "Fixed",
    "LogMax",
    "LossRule",
    "LossScaler",
    "Periodic",
    "Place",
    "Product",
    "Recipe",
    "Role",
    "ScaleRule",
    "Scaler",
    "amax",
    "dumps",
    "loads",
    "recipe",
]
