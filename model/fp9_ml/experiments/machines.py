"""Simulation of loss scaling rules on synthetic gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.formats import format
from fp9_ml.recipes import Adaptive, Backoff, LogMax, LossRule

FORMAT = format("hfp8_152")
STEPS = 3000
# Steps between two halvings of the gradients, and number of halvings.
EVERY, FALLS = 20, 24


def machines(seed: int) -> dict[str, float]:
    """Test three loss scaling rules on synthetic gradients."""
    rng = np.random.default_rng(seed)
    found = {}
    mean, spread = rng.uniform(-6, -3), rng.uniform(0.3, 0.8)
    for deviations in (0, 1, 3):
        scaler = LogMax(deviations=deviations, power_of_two=False).start(FORMAT)
        for value in rng.normal(mean, spread, 4000):
            scaler.update(True, 2.0**value)
        wanted = math.log2(FORMAT.max) - (mean + deviations * spread)
        found[f"LogMax, c = {deviations}: binades off"] = abs(math.log2(scaler.scale) - wanted)
    # A step is lost if the largest gradient underflows to zero.
    for name, rule in {"Backoff": Backoff(start_scale=1.0), "Adaptive": Adaptive(start_scale=1.0)}.items():
        found[f"{name} from 1: steps lost"], found[f"{name} from 1: steps skipped"] = _falling(rule)
    found["Adaptive from 2^32: steps lost"], found["Adaptive from 2^32: steps skipped"] = _falling(Adaptive())
    return found


def falling(rule: LossRule, steps: int = STEPS) -> Iterator[tuple[float, float, bool]]:
    scaler = rule.start(FORMAT)
    for step in range(steps):
        amax, scale = falling_amax(step), scaler.scale
        seen = float(decode(encode(np.array([amax * scale], np.float32), FORMAT, overflow="inf"), FORMAT)[0])
        yield scale, seen, scaler.update(math.isfinite(seen), amax)


def falling_amax(step: int) -> float:
    return 2.0 ** -min(step // EVERY, FALLS)


def _falling(rule: LossRule) -> tuple[float, float]:
    steps = list(falling(rule))
    return float(sum(seen == 0 for _, seen, _ in steps)), float(sum(not taken for _, _, taken in steps))
