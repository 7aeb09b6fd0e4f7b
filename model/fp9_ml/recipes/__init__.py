"""Training recipes: the formats, accumulators, scales and weight updates of a network."""

from fp9_ml.recipes.automatic import Adaptive, LogMax
from fp9_ml.recipes.calibration import Calibrated, Layer, Linear, calibrate
from fp9_ml.recipes.catalogue import RECIPES, dumps, loads, recipe
from fp9_ml.recipes.cluster import ClusterRing
from fp9_ml.recipes.fields import LOSSES
from fp9_ml.recipes.inference import BatchNorm, retune_bn, smooth, softmax
from fp9_ml.recipes.linear import Backward, LayerState, Operand, Saved, gradients_are_finite
from fp9_ml.recipes.loss import Backoff, Constant, LossRule, LossScaler
from fp9_ml.recipes.recipe import Recipe
from fp9_ml.recipes.recording import Recorded, RecordedCast, Recording, read_recording
from fp9_ml.recipes.ring import Ring, reduce_scatter
from fp9_ml.recipes.roles import Place, Product, Role
from fp9_ml.recipes.scaling import (
    SCALES,
    Current,
    Delayed,
    Fixed,
    Periodic,
    Scaler,
    ScaleRule,
    Searched,
    SearchedScaler,
    amax,
)
from fp9_ml.recipes.updates import RoundOff

__all__ = [
    "LOSSES",
    "RECIPES",
    "SCALES",
    "Adaptive",
    "Backoff",
    "Backward",
    "BatchNorm",
    "Calibrated",
    "ClusterRing",
    "Constant",
    "Current",
    "Delayed",
    "Fixed",
    "Layer",
    "LayerState",
    "Linear",
    "LogMax",
    "LossRule",
    "LossScaler",
    "Operand",
    "Periodic",
    "Place",
    "Product",
    "Recipe",
    "Recorded",
    "RecordedCast",
    "Recording",
    "Ring",
    "Role",
    "RoundOff",
    "Saved",
    "ScaleRule",
    "Scaler",
    "Searched",
    "SearchedScaler",
    "amax",
    "calibrate",
    "dumps",
    "gradients_are_finite",
    "loads",
    "read_recording",
    "recipe",
    "reduce_scatter",
    "retune_bn",
    "smooth",
    "softmax",
]
