# %% [markdown]
# # HiFloat8's hybrid rounding, seen
#
# Where HiFloat8 has three fraction bits, hybrid rounding goes to nearest, ties away from zero. Elsewhere it compares the bits
# that are dropped with a threshold made of the source's own last bits (arXiv 2409.16626, section 3.2): the more a number lies
# towards its upper neighbour, the more of its sources go up.

# %%
import matplotlib.pyplot as plt
import numpy as np

import fp9

x = np.random.default_rng(0).uniform(16, 24, 400_000).astype(np.float32)
up = fp9.decode(fp9.encode(x, "hif8", "hybrid"), "hif8") > np.floor(x / 4) * 4
place = (x / 4) % 1
bins = np.linspace(0, 1, 41)
share = np.histogram(place[up], bins)[0] / np.histogram(place, bins)[0]
figure, axes = plt.subplots(figsize=(7, 3.5))
axes.step(bins[:-1], share, where="post", label="hybrid, share that goes up")
axes.plot([0, 0.5, 0.5, 1], [0, 0, 1, 1], "--", label="to nearest")
axes.set(xlabel="place between two neighbours", ylabel="share")
axes.legend()
figure.tight_layout()

# %% [markdown]
# The mean survives, which is what sums of gradients need:

# %%
for mode in ("rna", "hybrid"):
    small = np.random.default_rng(1).uniform(16.2, 17.8, 100_000).astype(np.float32)
    back = fp9.decode(fp9.encode(small, "hif8", mode), "hif8")
    print(f"{mode:7} mean {small.mean():.3f} becomes {back.mean():.3f}")

# %% [markdown]
# The price: from FP32, numbers whose last bits are 0 always go up, even those that the format holds. 16 becomes 20.

# %%
moved = fp9.array(np.float32([16, 17, 20, 32]), "hif8", rounding="hybrid")
strict = fp9.array(np.float32([16, 17, 20, 32]), "hif8", rounding="hybrid", hybrid=fp9.Hybrid(strict=True))
print(moved, strict, sep="\n")
assert moved.tolist()[0] == 20.0 and strict.tolist()[0] == 16.0
