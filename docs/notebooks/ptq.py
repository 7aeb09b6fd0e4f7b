# %% [markdown]
# # Post-training quantisation
#
# A small network is trained in float32. Its weights and activations are then rounded to several formats, with several
# scales, and multiplied as a device multiplies. Accuracy says what the formats cost.

# %%
import numpy as np

import fp9

rng = np.random.default_rng(0)
centres = rng.standard_normal((10, 32))


def samples(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around ten centres, and the number of the centre."""
    labels = rng.integers(0, 10, count)
    return (centres[labels] + 2.2 * rng.standard_normal((count, 32))).astype(np.float32), labels


x, labels = samples(2000)
test, wanted = samples(2000)

# %% [markdown]
# Two layers, trained by plain gradient descent.

# %%
w1, w2 = (rng.standard_normal(shape).astype(np.float32) * 0.2 for shape in ((32, 64), (64, 10)))
for _ in range(200):
    hidden = np.maximum(x @ w1, 0)
    scores = np.exp(hidden @ w2)
    error = scores / scores.sum(axis=1, keepdims=True) - np.eye(10)[labels]
    back = (error @ w2.T) * (hidden > 0)
    w2 -= 0.5 / len(x) * hidden.T @ error
    w1 -= 0.5 / len(x) * x.T @ back
w1, w2 = w1.astype(np.float32), w2.astype(np.float32)
print("float32:", np.mean((np.maximum(test @ w1, 0) @ w2).argmax(axis=1) == wanted))

# %% [markdown]
# The same network with quantised factors: `quantise` finds the scales, `@` follows the accumulator that is stated.


# %%
def accuracy(left: dict, right: dict, accumulator: str) -> float:
    """The share of right answers with factors in the formats and scales of `left` and `right`."""
    with fp9.accumulator(accumulator):
        hidden = fp9.quantise(test, **left) @ fp9.quantise(w1, **right)
        scores = fp9.quantise(np.maximum(hidden, 0), **left) @ fp9.quantise(w2, **right)
    return float(np.mean(scores.argmax(axis=1) == wanted))


for fmt in ("e4m3", "e5m2", "hif8", "e2m1"):
    for one, other in (("tensor", "tensor"), ("row", "column")):
        found = accuracy({"fmt": fmt, "per": one}, {"fmt": fmt, "per": other}, "h100 wgmma")
        print(f"{fmt:12} per {one} and {other:8} {found:.3f}")
for fmt, device in (("mxfp8_e4m3", "b200 tcgen05"), ("mxfp4", "b200 tcgen05"), ("nvfp4", "b200 mxf4nvf4")):
    print(f"{fmt:12} on {device:15} {accuracy({'fmt': fmt}, {'fmt': fmt, 'axis': 0}, device):.3f}")

# %% [markdown]
# What the weights lose, in dB: blocks help where magnitudes differ within a row.

# %%
for fmt in ("e4m3", "e5m2", "mxfp8_e4m3", "mxfp4", "nvfp4"):
    print(f"{fmt:12} {float(fp9.sqnr(w1, fp9.fake_quantise(w1, fmt))):5.1f} dB")
