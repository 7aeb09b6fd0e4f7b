"""Draw the recorded areas of fp9's units relative to the areas of third-party units."""

from __future__ import annotations

from collections.abc import Sequence

from fp9_rtl.synthesis.mapping import MAPPED
from fp9_rtl.synthesis.report import svg
from fp9_sim.third_party.area import Area

_OFFSETS = (-0.15, 0.15)


def chart(areas: Sequence[Area]) -> str:
    from matplotlib.figure import Figure  # slow to load

    designs = sorted({area.design for area in areas}, key=lambda name: min(a.ratio for a in areas if a.design == name))
    figure = Figure(figsize=(7, 1.2 + 0.32 * len(designs)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(1, color="gray", linewidth=0.8)
    for number, (mapping, offset) in enumerate(zip(MAPPED, _OFFSETS, strict=True)):
        found = [area for area in areas if area.mapping == mapping]
        heights = [designs.index(area.design) + offset for area in found]
        axes.scatter([area.ratio for area in found], heights, s=14, color=f"C{number}", label=mapping)
    axes.set_yticks(range(len(designs)), designs)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 1, 2]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("area of fp9's unit / area of the third-party unit; one mark for each library", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.legend(fontsize=8)
    return svg(figure)
