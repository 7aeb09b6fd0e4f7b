"""Claims of papers that fp9 reproduces, and claims that fp9 does not reproduce."""

from __future__ import annotations

from fp9_ml.experiments import of_models, of_training
from fp9_ml.experiments.claims import Claim

CLAIMS: dict[str, Claim] = {claim.name: claim for claim in (*of_models.CLAIMS, *of_training.CLAIMS)}

NOT_REPRODUCED: dict[str, str] = {
    "8-bit training from scratch ends at the loss of float32 (HFP8 Fig. 4, HiFloat8 Table 5)": "On networks that train "
    "in minutes, seeds differ as much as recipes. The runs of `training` start from one model instead.",
    "1-4-3 gradients diverge under Backoff (Graphcore Table 12)": "The gradients of a small model span too few "
    "binades. `scratch` measures them without a limit.",
    "Plain 1-6-9 sums spoil training (Wang18 Fig. 3)": "Adam ignores the scale of a gradient on small networks. "
    "`painting` measures the loss without a limit, and `swamping` the gradients.",
    "1-4-3 weights with residuals end at the loss of FP32 weights, at an ordinary rate (HFP8 Table 3)": "At a rate of "
    "0.05, seeds differ as much as recipes on this network. `residual` uses a small rate.",
    "The ring needs FP16 gradients (HFP8 Table 2)": "First trials on networks of this size showed no effect.",
    "HiFloat8 trains better with tensor scales than without (HiFloat8 Table 7)": "The effect is within the noise.",
    "Hybrid rounding matters (HiFloat8 Table 5)": "The paper claims it for YOLO-tiny, which does not train in minutes.",
    "The first layer's input needs three significand bits (Graphcore section 3.3)": "The effect is smaller than the "
    "noise of small data sets.",
    "Networks for speech, translation, detection and language keep their quality (HFP8 Fig. 4, Graphcore Tables 5 "
    "to 7, HiFloat8 Tables 5 to 8)": "This needs days of training, and data that fp9 does not have.",
}


def claim(name: str) -> Claim:
    if name not in CLAIMS:
        raise ValueError(f"claim {name!r} is not known; choose one of {', '.join(CLAIMS)}")
    return CLAIMS[name]
