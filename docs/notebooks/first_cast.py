# %% [markdown]
# # A first cast
#
# Numbers become codes of a format, and codes become numbers again. Everything is rounded once, from what it is.

# %%
import numpy as np

import fp9

x = np.float32([0.3, -1.7, 16.0, 1e6])
codes = fp9.encode(x, "e4m3")
print([f"{code:#04x}" for code in codes], fp9.decode(codes, "e4m3"))

# %% [markdown]
# An `fp9.Array` knows its format: NumPy sees its numbers, fp9 its codes.

# %%
held = fp9.array(x, "hif8")
print(held, held.astype("e4m3"), np.abs(held).max(), fp9.finfo(held).max, sep="\n")

# %% [markdown]
# What a format loses depends on the numbers and on the scale. A scale is an exponent of two that belongs to the codes.

# %%
weights = np.random.default_rng(1).normal(0, 0.02, (64, 64)).astype(np.float32)
for name in ("e4m3", "e5m2", "hif8", "hfp8_143(bias=4)"):
    scale = fp9.amax_scale(weights, name)
    plain, scaled = (fp9.sqnr(weights, fp9.fake_quantise(weights, name, scale=s)) for s in (0, scale))
    print(f"{name:18} {plain:6.1f} dB, with scale 2^{scale}: {scaled:.1f} dB")

# %% [markdown]
# A product of matrices is summed as the engine says. Hopper's tensor core keeps 13 bits below the largest product.

# %%
a, b = fp9.array([[448.0, 0.0078125]], "e4m3"), fp9.array([[1.0], [1.0]], "e4m3")
for engine in ("exact", "hopper"):
    print(engine, fp9.matmul(a, b, engine=engine))
