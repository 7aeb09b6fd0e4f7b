"""Histograms of exponents before and after scaling, which the documentation draws.

Command: `python -m fp9_ml.experiments.histograms records/recipes`.
"""

from __future__ import annotations

import argparse
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.engines import ENGINES
from fp9.formats import floor_log2, format
from fp9.system.files import write_whole
from fp9_ml.experiments.conversion import layer_inputs, with_outliers
from fp9_ml.experiments.machines import EVERY, FALLS, FORMAT, falling, falling_amax
from fp9_ml.experiments.networks.characters import CONTEXT, backward, blas_back, forward
from fp9_ml.experiments.networks.layers import Numbers, cross_entropy
from fp9_ml.experiments.networks.train import Trained, load
from fp9_ml.recipes import (
    Adaptive,
    Backoff,
    Constant,
    LogMax,
    LossRule,
    RoundOff,
    ScaleRule,
    recipe,
    reduce_scatter,
    smooth,
)
from fp9_ml.recipes.calibration import best_pair, pairs_of
from fp9_ml.recipes.scaling import amax

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RECORD, PICTURE = "rules.json", "rules-{}"
PICTURES = tuple(
    PICTURE.format(name)
    for name in ("scales", "loss", "machines", "residual", "ring", "calibration", "softmax", "smooth", "hybrid")
)
# A number outside these binades is counted in the nearest binade.
LOWEST, HIGHEST = -44, 20
LAYER = "1.up"
Panel = dict[str, Any]


def panel(title: str, fmt: str | None, **tensors: Numbers) -> Panel:
    """Return the percentage of each tensor's elements in each binade, and the percentage of zeros."""
    series = {}
    for name, x in tensors.items():
        x = x.reshape(-1)
        binades = np.clip(np.frexp(x[x != 0])[1] - 1, LOWEST, HIGHEST)
        counts = np.bincount(binades - LOWEST, minlength=HIGHEST - LOWEST + 1)
        series[name.replace("_", " ")] = {
            "shares": [round(100 * int(count) / x.size, 2) for count in counts],
            "zeros": round(100 * float((x == 0).mean()), 2),
        }
    return {"title": title, "format": fmt, "series": series}


def measured(trained: Trained) -> dict[str, list[Panel]]:
    x, w = layer_inputs(trained, trained.parameters)[LAYER], trained.parameters[f"{LAYER}.weight"]
    arrived = _gradient(trained)
    return {
        "scales": _scales(w),
        "loss": _losses(arrived),
        "machines": _machines(),
        "residual": _residual(trained, w),
        "ring": _ring(trained, w),
        "calibration": _calibrated(x, w),
        "softmax": _softmax(trained),
        "smooth": _smoothed(trained),
        "hybrid": [
            panel("activations", "hif8", as_they_are=x),
            panel("gradients, loss times 2^16", "hif8", as_they_are=arrived * np.float32(2**16)),
        ],
    }


STEPS, SHOWN_EVERY = 800, 5


def _machines() -> list[Panel]:
    rules: dict[str, LossRule] = {
        "constant": Constant(1000.0),
        "backoff": Backoff(),
        "logmax": LogMax(),
        "adaptive": Adaptive(),
    }
    series = {name: [scale for scale, _, _ in falling(rule, STEPS)] for name, rule in rules.items()}
    series["the largest gradient at the top of 1-5-2"] = [FORMAT.max / falling_amax(step) for step in range(STEPS)]
    exponents = {name: [round(math.log2(s), 2) for s in scales[::SHOWN_EVERY]] for name, scales in series.items()}
    title = f"the largest gradient falls by 2 every {EVERY} steps, {FALLS} times"
    return [{"title": title, "format": None, "steps": list(range(0, STEPS, SHOWN_EVERY)), "series": exponents}]


def _gradient(trained: Trained) -> Numbers:
    found: dict[str, Numbers] = {}

    def watch(name: str, arrived: Numbers, x: Numbers, weight: Numbers) -> tuple[Numbers, Numbers]:
        found[name] = arrived
        return blas_back(name, arrived, x, weight)

    batch = trained.windows(0, 16)
    run = forward(trained.parameters, batch[:, :-1])
    backward(run, cross_entropy(run.logits, batch[:, 1:])[1], watch)
    return found[LAYER]


def _scales(w: Numbers) -> list[Panel]:
    panels = [panel("fixed: as they are, E4M3", "e4m3", before=w)]
    for title, name, fmt, steps in (
        ("current: amax to the top, E4M3", "te_current", "e4m3", 1),
        ("delayed: the second step, E4M3", "te_delayed", "e4m3", 2),
        ("periodic: from step 10 on, HiFloat8", "hif8_pts", "hif8", 11),
    ):
        rule: ScaleRule = recipe(name).scale
        scaler = rule.start(format(fmt))
        factor = [scaler.step(w) for _ in range(steps)][-1]
        panels.append(panel(f"{title}: x {factor:.4g}", fmt, before=w, after=w * np.float32(factor)))
    return panels


def _losses(arrived: Numbers) -> list[Panel]:
    fmt = format("hfp8_152")
    logmax = LogMax().start(fmt)
    logmax.update(True, amax(arrived))
    panels = []
    for title, scale in (
        ("constant: 1", 1.0),
        ("backoff: its start", Backoff().start(fmt).scale),
        ("logmax: after a step", logmax.scale),
    ):
        shown = f"{title}, 2^{math.log2(scale):.0f}" if scale > 1 else title
        panels.append(panel(f"{shown}, 1-5-2", "hfp8_152", before=arrived, after=arrived * np.float32(scale)))
    return panels


def _residual(trained: Trained, w: Numbers) -> list[Panel]:
    fmt, rule = format("hfp8_143"), RoundOff(format("hfp8_143"), format("dlfloat16"))
    batch = trained.windows(0, 16)
    run = forward(trained.parameters, batch[:, :-1])
    slopes = backward(run, cross_entropy(run.logits, batch[:, 1:])[1])[f"{LAYER}.weight"]
    update = np.float32(1e-3) * slopes
    codes, residual = rule.start(w)
    codes, residual = rule.step(codes, residual, update)
    assert residual is not None
    binades = np.frexp(decode(codes, fmt)[decode(codes, fmt) != 0])[1] - 1
    half = np.exp2(np.array([fmt.quantum(int(binade)) - 1 for binade in binades.tolist()], dtype=np.float32))
    kept = decode(residual, "dlfloat16")
    return [
        panel("weights in 1-4-3, half the distance to the next one", None, weights=w, half_a_step=half),
        panel("updates at a rate of 0.001, and what 1-6-9 keeps of them", "dlfloat16", updates=update, residual=kept),
    ]


def _ring(trained: Trained, w: Numbers) -> list[Panel]:
    shares = []
    for learner in range(4):
        batch = trained.windows(4 * learner * CONTEXT, 4)
        run = forward(trained.parameters, batch[:, :-1])
        shares.append(backward(run, cross_entropy(run.logits, batch[:, 1:])[1])[f"{LAYER}.weight"].reshape(-1))
    total = decode(np.concatenate(reduce_scatter(shares)), "dlfloat16")
    gathered = decode(encode(w, "hfp8_143"), "hfp8_143")
    return [
        panel("gradients, 1-6-9", "dlfloat16", one_learner=shares[0], sum_of_four=total),
        panel("weights that are gathered, 1-4-3", "hfp8_143", weights=gathered),
    ]


def _calibrated(x: Numbers, w: Numbers) -> list[Panel]:
    fmt = format("hif8")
    best, _ = best_pair(x, w.T, x @ w, (fmt, fmt), ENGINES["fma_fp32"], pairs_of())
    return [
        panel(f"{name}, HiFloat8: x 2^{exponent}", "hif8", before=numbers, after=np.ldexp(numbers, exponent))
        for name, numbers, exponent in (("activations", x, best.activation), ("weights", w, best.weight))
    ]


def _softmax(trained: Trained) -> list[Panel]:
    logits = forward(trained.parameters, trained.windows(0, 16)[:, :-1]).logits
    rows = np.sort(logits.reshape(-1, logits.shape[-1]), -1)[:, -5:]
    return [
        panel("five largest logits", "hfp8_143", as_they_are=rows, maximum_subtracted=rows - rows[:, -1:]),
    ]


def _smoothed(trained: Trained) -> list[Panel]:
    parameters = with_outliers(trained.parameters)
    x, w = layer_inputs(trained, parameters)[LAYER], parameters[f"{LAYER}.weight"]
    factors = smooth(x, w.T)
    return [
        panel("activations with outliers, E4M3", "e4m3", before=x, after=x / factors),
        panel("weights behind them, E4M3", "e4m3", before=w, after=w * factors[:, None]),
    ]


# --- pictures ---------------------------------------------------------------------------------------------------------


def draw(panels: list[Panel]) -> str:
    import matplotlib  # optional
    from matplotlib.figure import Figure

    height = sum(3.0 if "steps" in shown else 1.5 for shown in panels)
    figure = Figure(figsize=(7, 0.5 + height), layout="constrained")
    for axes, shown in zip(figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0], panels, strict=True):
        if "steps" in shown:
            _over_steps(axes, shown)
        else:
            _panel(axes, shown)
    axes.set_xlabel("step" if "steps" in shown else "binade: exponent of the leading bit")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "fp9", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _panel(axes: Axes, shown: Panel) -> None:
    binades = range(LOWEST, HIGHEST + 1)
    if shown["format"]:
        fmt = format(shown["format"])
        low, high = (floor_log2(fmt.value_of(code)) for code in (fmt.smallest_code, fmt.max_code))
        axes.axvspan(max(low, LOWEST) - 0.5, min(high, HIGHEST) + 0.5, color="#d9822b", alpha=0.15, linewidth=0)
        precise = [b for b in range(low, high + 1) if b - fmt.quantum(b) == fmt.precision - 1]
        axes.axvspan(max(precise[0], LOWEST) - 0.5, min(precise[-1], HIGHEST) + 0.5, alpha=0.15, linewidth=0)
    for name, series in shown["series"].items():
        label = f"{name}, {series['zeros']:g} % zeros" if series["zeros"] else name
        axes.step(binades, series["shares"], where="mid", linewidth=1.3, label=label)
    axes.set_title(shown["title"], fontsize="small", loc="left")
    axes.set_ylabel("%", fontsize="small")
    axes.legend(fontsize="x-small", frameon=False)


def _over_steps(axes: Axes, shown: Panel) -> None:
    *rules, (aim, exponents) = shown["series"].items()
    axes.plot(shown["steps"], exponents, "--", color="#9aa5b1", linewidth=1.3, label=aim)
    for name, values in rules:
        axes.step(shown["steps"], values, where="post", linewidth=1.3, label=name)
    axes.set_title(shown["title"], fontsize="small", loc="left")
    axes.set_ylabel("exponent of the scale", fontsize="small")
    axes.legend(fontsize="x-small", frameon=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure how the scaling rules of recipes change a histogram of exponents."
    )
    parser.add_argument("folder", type=Path, help="folder of the record")
    write_whole(parser.parse_args().folder / RECORD, json.dumps(measured(load()), indent=1) + "\n")


if __name__ == "__main__":
    main()
