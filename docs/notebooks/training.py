# %% [markdown]
# # Training with 8-bit numbers
#
# Three things decide whether training in 8 bits works: the format of gradients, the rounding of weights, the accumulator.
# Each is a line here. Recipes of the literature are in `fp9_ml`; this notebook shows the parts.

# %%
import numpy as np

import fp9

rng = np.random.default_rng(1)
x = rng.standard_normal((256, 64)).astype(np.float32)
y = x @ rng.standard_normal((64, 1)).astype(np.float32)

# %% [markdown]
# Gradients are small: without a scale most of them are zero in E4M3, with one per tensor they are not.

# %%
gradient = (1e-4 * rng.standard_normal((64, 64))).astype(np.float32)
for fmt in ("e4m3", "e5m2", "hif8"):
    plain, scaled = fp9.array(gradient, fmt), fp9.quantise(gradient, fmt)
    print(f"{fmt:5} zeros {np.mean(np.asarray(plain) == 0):6.1%}, with a scale {np.mean(np.asarray(scaled) == 0):6.1%}")


# %% [markdown]
# Weights in 8 bits: an update below half an ulp is lost by rounding to nearest. Stochastic rounding keeps it on average.


# %%
def train(rounding: str, rng_of_weights: np.random.Generator | None) -> float:
    """The loss after 300 steps with weights in E5M2, products of an H100, and a rounding of the weights."""
    w = fp9.array(np.zeros((64, 1)), "e5m2")
    for _ in range(300):
        with fp9.accumulator("h100 wgmma"):
            error = fp9.quantise(x, "e4m3", per="row") @ w - y
            step = fp9.quantise(x.T, "e4m3", per="row") @ fp9.quantise(error, "e5m2")
        w = fp9.array(np.asarray(w) - 0.02 / len(x) * np.asarray(step), "e5m2", rounding=rounding, rng=rng_of_weights)
    return float(np.mean((x @ np.asarray(w) - y) ** 2))


print(f"loss with nearest:    {train('nearest', None):.3f}")
print(f"loss with stochastic: {train('stochastic', np.random.default_rng(2)):.3f}")

# %% [markdown]
# The accumulator: sums of 13 aligned bits lose small terms beside large ones. The longer the sum, the more.

# %%
for length in (64, 1024, 4096):
    a, b = (fp9.array(rng.uniform(0, 1, (8, length)), "e4m3") for _ in range(2))
    exact = np.asarray(fp9.matmul(a, b.T, engine="exact"), np.float64)
    errors = [
        np.abs(np.asarray(fp9.matmul(a, b.T, engine=e)) / exact - 1).max() for e in ("hopper", "deepseek", "blackwell")
    ]
    print(
        length,
        *(f"{name} {error:.1e}" for name, error in zip(("hopper", "deepseek", "blackwell"), errors, strict=True)),
    )
