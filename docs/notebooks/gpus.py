# %% [markdown]
# # One model, four GPUs
#
# A transformer of two layers computes its linear layers with `fp9.scaled_mm`, as the library of each GPU does.
# Weights, tokens and all other operations are the same. Only the accumulators, and the split of K, differ.

# %%
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import fp9

GPUS: dict[str, dict[str, Any]] = {
    "H100": {"profile": "h100", "split_k": 1},
    "L40S": {"profile": "l40s", "split_k": 1},
    "RTX 4060": {"profile": "rtx4060", "split_k": 4, "split": "serial"},
    "RTX 5070": {"profile": "rtx5070", "split_k": 1},
}
WIDTH, HEADS, TIME, WORDS = 256, 4, 96, 64
rng = np.random.default_rng(5)
shapes = {"qkv": (WIDTH, 3 * WIDTH), "mix": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
weights = [{name: rng.normal(size=s) / np.sqrt(s[0]) for name, s in shapes.items()} for _ in range(2)]
embedding = rng.normal(size=(WORDS, WIDTH))
tokens = rng.integers(0, WORDS, TIME + 1)

# %% [markdown]
# A linear layer: both operands are cast to E4M3 with one scale a tensor, and the result is BF16.


# %%
def linear(x: Any, w: Any, gpu: dict[str, Any]) -> Any:
    """The product x w as a GPU computes it."""
    scales = [np.float32(np.abs(each).max() / 448) for each in (x, w)]
    a, b = (fp9.array(each / scale, "e4m3") for each, scale in zip((x, w), scales, strict=True))
    return np.asarray(fp9.scaled_mm(a, b, *scales, out_dtype="bf16", use_fast_accum=True, **gpu), np.float64)


def norm(x: Any) -> Any:
    """The rows of x with mean 0 and variance 1."""
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)


def softmax(x: Any) -> Any:
    """The shares of the last axis."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def forward(gpu: dict[str, Any]) -> tuple[dict[str, Any], float]:
    """The hidden numbers after each part of the model, and the loss."""
    x, seen = embedding[tokens[:-1]], {}
    mask = np.triu(np.full((TIME, TIME), -np.inf), 1)
    for layer, w in enumerate(weights, 1):
        q, k, v = (
            each.reshape(TIME, HEADS, -1).swapaxes(0, 1) for each in np.split(linear(norm(x), w["qkv"], gpu), 3, axis=1)
        )
        shares = softmax(q @ k.swapaxes(1, 2) / np.sqrt(WIDTH / HEADS) + mask)
        x = x + linear((shares @ v).swapaxes(0, 1).reshape(TIME, WIDTH), w["mix"], gpu)
        seen[f"attention {layer}"] = x
        x = x + linear(np.maximum(linear(norm(x), w["up"], gpu), 0), w["down"], gpu)
        seen[f"MLP {layer}"] = x
    seen["logits"] = linear(norm(x), embedding.T / np.sqrt(WIDTH), gpu)
    return seen, float(-np.log(softmax(seen["logits"])[np.arange(TIME), tokens[1:]]).mean())


# %% [markdown]
# The losses differ in the third decimal. No GPU is wrong.

# %%
results = {name: forward(gpu) for name, gpu in GPUS.items()}
for name, (_, loss) in results.items():
    print(f"{name:9} loss {loss:.7f}")

# %% [markdown]
# The difference from the H100, layer by layer, relative to the numbers there.

# %%
reference = results["H100"][0]
figure, axes = plt.subplots(figsize=(7, 3.5))
for name in list(GPUS)[1:]:
    differences = [np.linalg.norm(results[name][0][part] - x) / np.linalg.norm(x) for part, x in reference.items()]
    axes.semilogy(list(reference), differences, marker="o", label=name)
    print(f"{name:9}", *(f"{part}: {value:.1e}" for part, value in zip(reference, differences, strict=True)))
axes.set_ylabel("relative difference from H100")
axes.legend()
plt.show()

# %% [markdown]
# [Replay a GPU's inference on a CPU](../how-to/replay-inference.html) says where each profile comes from.
