"""Write a page that lists, for each specification field, the values for which fp9 can generate RTL."""

from __future__ import annotations

from fp9_rtl.components import CIRCUITS
from fp9_rtl.synthesis.report import markdown_table

CONDITIONS = "conditions.md"

_INTRO = """The model computes every unit that its constructor accepts. The RTL has circuits for most of them. A field
that this page names takes fewer values in the RTL; `fp9 rtl` refuses any other value in a sentence, from the same row.
All other fields take what the model takes. Decoders, upcasts and quantisers have circuits for every specification.
`fp9 datasheet --out docs/units` writes this page."""


def page() -> str:
    rows = [
        [f"`{condition.field}`", circuits.units, condition.takes, condition.reason]
        for circuits in CIRCUITS
        for condition in circuits.conditions
    ]
    return (
        "\n\n".join(["# What the RTL takes", _INTRO, markdown_table(["field", "of", "takes", "because"], rows)]) + "\n"
    )
