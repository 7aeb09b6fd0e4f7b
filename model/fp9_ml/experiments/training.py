"""Training of the character model under training recipes, with bit-accurate products.

After an interruption, a run continues bit-exactly from its last stored step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9_ml.experiments.networks.characters import CONTEXT, LINEAR, Parameters, backward, forward, initial
from fp9_ml.experiments.networks.layers import Adam, Numbers, cross_entropy
from fp9_ml.experiments.networks.train import BATCH, HELD_OUT, Trained, load, manual
from fp9_ml.experiments.store import State, Store
from fp9_ml.recipes import LayerState, Recipe, Saved, gradients_are_finite, recipe

Progress = Callable[[str, int, int], None]
KEPT_EVERY = 25
VALIDATED = 64


class ByRecipe:
    """Matrix products of the character model's linear layers under a training recipe."""

    def __init__(self, spec: Recipe) -> None:
        self.recipe = spec
        self.states: dict[str, LayerState] = {name: spec.state() for name in LINEAR}
        self.training = True
        self._saved: dict[str, Saved] = {}

    def __call__(self, name: str, x: Numbers, weight: Numbers) -> Numbers:
        y, self._saved[name] = self.recipe.linear(x, weight.T, self.states[name], training=self.training)
        return y

    def back(self, name: str, arrived: Numbers, x: Numbers, weight: Numbers) -> tuple[Numbers, Numbers]:
        found = self.recipe.linear_backward(arrived, self._saved[name])
        return found.dx, found.dw.T


@dataclass(frozen=True)
class Course:
    """Settings of a training run."""

    steps: int
    rate: float
    warm_up: int
    seed: int

    def rate_of(self, step: int) -> float:
        return self.rate * min((step + 1) / self.warm_up, 1 - step / self.steps)


class Run:
    """Training run of the character model. A run can continue from a stored state."""

    def __init__(self, spec: Recipe, start: Parameters, course: Course, text: NDArray[np.uint8]) -> None:
        self.course, self.losses, self.skipped = course, list[float](), 0
        self.parameters = {name: value.copy() for name, value in start.items()}
        self.products = ByRecipe(spec)
        self._text, self._adam = text, Adam(self.parameters)
        self._scaler, self._rng = spec.loss_scaler(), np.random.default_rng([course.seed, 4])

    def step(self) -> float:
        places = self._rng.integers(0, len(self._text) - CONTEXT, BATCH)[:, None] + np.arange(CONTEXT + 1)
        batch = self._text[places]
        run = forward(self.parameters, batch[:, :-1], self.products)
        loss, gradient = cross_entropy(run.logits, batch[:, 1:])
        scale = np.float32(self._scaler.scale)
        with np.errstate(over="ignore", invalid="ignore"):
            found = backward(run, gradient * scale, self.products.back)
            found = {name: value / scale for name, value in found.items()}
        finite, amax = gradients_are_finite(*found.values())
        if self._scaler.update(finite, amax if finite else None):
            self._adam.step(found, self.course.rate_of(len(self.losses)))
        else:
            self.skipped += 1
        self.losses.append(loss)
        return loss

    def validation(self, windows: NDArray[np.uint8]) -> float:
        self.products.training = False
        run = forward(self.parameters, windows[:, :-1], self.products)
        self.products.training = True
        return cross_entropy(run.logits, windows[:, 1:])[0]

    def state(self) -> State:
        arrays: dict[str, NDArray[Any]] = {"losses": np.array(self.losses)}
        for name, value in self.parameters.items():
            mean, square = self._adam.moments[name]
            arrays |= {f"p {name}": value, f"m {name}": mean, f"s {name}": square}
        scales = {name: state.state_dict() for name, state in self.products.states.items()}
        rest = {"scaler": self._scaler.state_dict(), "scales": scales, "rng": self._rng.bit_generator.state}
        return arrays, rest | {"skipped": self.skipped, "adam": self._adam.steps}

    def resume(self, state: State) -> None:
        arrays, rest = state
        self.losses, self.skipped = arrays["losses"].tolist(), rest["skipped"]
        for name, value in self.parameters.items():
            value[...] = arrays[f"p {name}"]
            for moment, letter in zip(self._adam.moments[name], "ms", strict=True):
                moment[...] = arrays[f"{letter} {name}"]
        self._adam.steps = rest["adam"]
        self._scaler.load_state_dict(rest["scaler"])
        self._rng.bit_generator.state = rest["rng"]
        for name, scales in rest["scales"].items():
            self.products.states[name].load_state_dict(scales)


def run_to_end(run: Run, what: str, store: Store, progress: Progress | None = None) -> Run:
    kept = store.state("run")
    if kept:
        run.resume(kept)
    while len(run.losses) < run.course.steps:
        loss = run.step()
        if len(run.losses) % KEPT_EVERY == 0:
            store.keep("run", run.state())
        if progress:
            progress(f"{what}: loss {loss:.3f}", len(run.losses), run.course.steps)
    return run


# --- tuned on in eight bits -------------------------------------------------------------------------------------------

_FP32_SUMS = "forward=fma_fp32,dgrad=fma_fp32,wgrad=fma_fp32,output=none"
# Recipes under which a trained float32 model is trained further.
TUNED = {
    "fp32": "fp32",
    "1-5-2 everywhere": f"hfp8({_FP32_SUMS},activations=hfp8_152,weights=hfp8_152)",
    "HFP8": f"hfp8({_FP32_SUMS})",
    "HiFloat8": "hif8",
    "E4M3/E5M2, delayed scales": "te_delayed",
    "1-5-2 everywhere, sums in 1-6-9": "hfp8(activations=hfp8_152,weights=hfp8_152)",
    "HFP8, sums in 1-6-9": "hfp8",
}
TUNING_STEPS, TUNING_RATE = 100, 1e-3
# Number of steps at the end of a run over which the loss is averaged.
AVERAGED = 50


def tuning(seed: int, progress: Progress | None, store: Store) -> dict[str, float]:
    """Return losses in nats per character after 100 more training steps under each recipe."""
    text, trained = manual(), load()
    windows = trained.windows(0, VALIDATED)
    found: dict[str, float] = {}
    for name, spec in TUNED.items():

        def measure(part: Store, name: str = name, spec: str = spec) -> dict[str, float]:
            # The offset of 100 selects other batches than the batches on which the limits were set.
            course = Course(TUNING_STEPS, TUNING_RATE, 10, 100 + seed)
            run = Run(recipe(spec), trained.parameters, course, text[:-HELD_OUT])
            run_to_end(run, f"seed {seed}, {name}", part, progress)
            return {
                f"{name}: training": float(np.mean(run.losses[-AVERAGED:])),
                f"{name}: held out": run.validation(windows),
            }

        found |= store.values(name, measure)
    return found


# --- from scratch, with and without scaling of the loss ---------------------------------------------------------------

SCRATCH = {
    "fp32": "fp32",
    "HFP8, loss as it is": f"hfp8({_FP32_SUMS},loss=constant)",
    "E4M3 everywhere, loss as it is": "te_delayed(scale=fixed,gradients=e4m3)",
    "HiFloat8, loss as it is": "hif8(loss=constant)",
    "HFP8, Backoff": f"hfp8({_FP32_SUMS})",
    "HFP8, Adaptive": f"hfp8({_FP32_SUMS},loss=adaptive)",
    "HFP8, LogMax": f"hfp8({_FP32_SUMS},loss=logmax)",
    "1-4-3 gradients, Backoff": f"hfp8({_FP32_SUMS},gradients=hfp8_143)",
    "E4M3/E5M2, delayed scales": "te_delayed",
}
SCRATCH_STEPS, SCRATCH_RATE, SCRATCH_WIDTH = 150, 3e-3, 32


def scratch(seed: int, progress: Progress | None, store: Store) -> dict[str, float]:
    """Return losses of new models in nats per character after 150 training steps under each recipe."""
    text = manual()
    windows = Trained({}, text[-HELD_OUT:], {}).windows(0, VALIDATED)
    found: dict[str, float] = {}
    for name, spec in SCRATCH.items():

        def measure(part: Store, name: str = name, spec: str = spec) -> dict[str, float]:
            course = Course(SCRATCH_STEPS, SCRATCH_RATE, 20, seed)
            run = Run(recipe(spec), initial(seed, SCRATCH_WIDTH), course, text[:-HELD_OUT])
            run_to_end(run, f"seed {seed}, {name}", part, progress)
            return {name: run.validation(windows)}

        found |= store.values(name, measure)
    return found
