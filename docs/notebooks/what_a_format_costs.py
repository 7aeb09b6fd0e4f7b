# %% [markdown]
# # What a format costs
#
# A decoder turns a code into sign, exponent and significand. Its Verilog is made from the spec and mapped to standard cells by two
# fixed mappings: A, the smallest of four scripts, and B, balanced. Without wires and power: for comparing units side by side.

# %%
import matplotlib.pyplot as plt

from fp9.system.missing import MissingTool
from fp9.units import Decoder
from fp9_rtl.synthesis.run import synthesise_unit

NAMES = ("e4m3", "e5m2", "hif8")
try:
    measured = {name: synthesise_unit(Decoder(f"decode_{name}", (name,))) for name in NAMES}
except MissingTool as missing:
    measured = {}
    print(missing)
for name, found in measured.items():
    small, fast = found.estimate("area-optimised"), found.estimate("delay-balanced")
    print(
        f"{name:5} {small.area_um2:7.0f} um2 at {small.delay_ns:.2f} ns, {fast.area_um2:7.0f} um2 at {fast.delay_ns:.2f} ns"
    )

# %%
figure, axes = plt.subplots(figsize=(7, 3.5))
axes.bar(list(measured), [found.estimate("area-optimised").area_um2 for found in measured.values()])
axes.set(ylabel="area of a decoder, um2 (area-optimised)")
figure.tight_layout()
