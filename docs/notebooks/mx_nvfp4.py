# %% [markdown]
# # MX and NVFP4
#
# Blocks of elements share a scale. An array that `fp9.quantise` makes holds elements, scales and the scale of the whole
# array; a product takes all of them.

# %%
import numpy as np

import fp9

for block in fp9.block_formats():
    print(
        f"{block.name:12} {block.length:3} elements {block.element.name:7} scale {block.scale.name:6} {float(block.bits)} bits each"
    )

# %%
rng = np.random.default_rng(0)
x = rng.standard_normal((64, 256)) * np.exp(rng.standard_normal((64, 1)))
a = fp9.quantise(x, "nvfp4", tensor_scale="amax")
print(a.format, a.shape, a.codes.dtype, a.scales.shape, a.tensor_scale)

# %% [markdown]
# What each format and rule loses.

# %%
for name in ("mxfp8_e4m3", "mxfp6_e2m3", "mxfp4", "nvfp4"):
    for rule in fp9.block_format(name).rules:
        kept = fp9.fake_quantise(x.astype(np.float32), name, rule=rule)
        print(f"{name:11} {rule:7} {float(fp9.sqnr(x, kept)):5.1f} dB")

# %% [markdown]
# A product: blocks of the left factor lie along its rows, those of the right one along its columns. The sum has the bits of
# the instruction; both tensor scales multiply it at the end, with one rounding to FP32.

# %%
w = rng.standard_normal((256, 32))
b = fp9.quantise(w, "nvfp4", axis=0, tensor_scale="amax")
with fp9.accumulator("b200 mxf4nvf4"):
    y = a @ b
print(y.format, float(fp9.sqnr(x @ w, y)), float(fp9.sqnr(a.numbers() @ b.numbers(), y)))

# %% [markdown]
# Parts keep whole blocks; an index that cuts one is refused.

# %%
print(a[:2, 16:48].shape, a.T.shape, np.concatenate([a, a]).shape)
try:
    a[:, 3]
except IndexError as error:
    print(error)
