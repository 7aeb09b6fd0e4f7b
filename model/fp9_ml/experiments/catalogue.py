"""All claims by name, and the claims that are not reproduced here."""

from __future__ import annotations

from fp9_ml.experiments import of_models, of_training
from fp9_ml.experiments.claims import Claim

CLAIMS: dict[str, Claim] = {claim.name: claim for claim in (*of_models.CLAIMS, *of_training.CLAIMS)}

NOT_REPRODUCED: dict[str, str] = {
    "training in eight bits from scratch ends where float32 ends (HFP8 Fig. 4, HiFloat8 Table 5)": "the spread between "
    "seeds is as large as the effect on networks that train in minutes; runs of `training` share their start",
    "1-4-3 gradients diverge under Backoff (Graphcore Table 12)": "a small model's gradients span too few binades: see "
    "its row of `scratch`, which has no bar",
    "plain 1-6-9 sums spoil training (Wang18 Fig. 3)": "Adam forgives the scale of a gradient on small networks: see "
    "their row of `painting`, which has no bar; the gradients themselves are measured by `swamping`",
    "weights of 1-4-3 with residuals end where FP32 weights end, at an ordinary rate (HFP8 Table 3)": "descent at 0.05 "
    "is chaotic on this network, and the spread between seeds as large as the effect: `residual` takes small steps",
    "gradients of FP16 are needed in the ring (HFP8 Table 2)": "no effect in first trials on networks of this size",
    "HiFloat8 with scales per tensor trains better than casts alone (HiFloat8 Table 7)": "within the noise in trials",
    "hybrid rounding matters (HiFloat8 Table 5)": "claimed of YOLO-tiny alone, which does not train in minutes",
    "the first layer's input needs three significand bits (Graphcore section 3.3)": "smaller than the noise of small "
    "data sets",
    "networks for speech, translation, detection and language keep their quality (HFP8 Fig. 4, Graphcore Tables 5 "
    "to 7, HiFloat8 Tables 5 to 8)": "days of training, and data that fp9 does not bring",
}
"""Claims that no experiment here reproduces, each with the reason."""


def claim(name: str) -> Claim:
    """Return a claim by name; raise ValueError for an unknown name."""
    if name not in CLAIMS:
        raise ValueError(f"claim {name!r} is not known; choose one of {', '.join(CLAIMS)}")
    return CLAIMS[name]
