# %% [markdown]
# # Why 16-bit accumulators need chunks
#
# A sum of many products in DLFloat16, with 10 bits of significand, stops growing: each product is below half of the sum's last
# place. Chunks of 64 products are summed apart, and their sums then together (Wang et al., NeurIPS 2018).

# %%
import matplotlib.pyplot as plt
import numpy as np

import fp9

ones = np.ones(4096, np.float32)
for engine in ("dlfloat", "chunked(L=64)", "fma_fp32"):
    x = fp9.array(ones, "e4m3")
    print(f"{engine:14} sum of 4096 ones: {float(fp9.Array(fp9.dot(x, x, engine=engine), fp9.engine(engine).output))}")

# %% [markdown]
# The same for random numbers with a mean, over the length of the sum:

# %%
lengths = [64, 256, 1024, 4096]
rng = np.random.default_rng(0)
a, b = (fp9.array(rng.uniform(0, 1, (32, max(lengths))).astype(np.float32), "hfp8_143") for _ in range(2))
figure, axes = plt.subplots(figsize=(7, 3.5))
errors = {}
for engine in ("dlfloat", "chunked(L=64)", "chunked(L=256)", "fma_fp32"):
    output = fp9.engine(engine).output
    errors[engine] = []
    for k in lengths:
        sums = np.asarray(fp9.Array(fp9.dot(a[:, :k], b[:, :k], engine=engine), output), np.float64)
        exact = np.asarray(fp9.Array(fp9.dot(a[:, :k], b[:, :k], engine="exact"), "fp32"), np.float64)
        errors[engine].append(np.abs(sums / exact - 1).mean() + 1e-9)
    axes.loglog(lengths, errors[engine], "o-", label=engine)
axes.set(xlabel="K, products in a sum", ylabel="mean relative error")
axes.legend()
figure.tight_layout()
assert errors["chunked(L=64)"][-1] < errors["dlfloat"][-1] / 10
