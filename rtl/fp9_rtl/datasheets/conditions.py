"""The page of what the RTL takes in each field of a specification, out of the conditions that refuse the rest."""

from __future__ import annotations

from fp9_rtl.components import CIRCUITS
from fp9_rtl.synthesis.report import markdown_table

CONDITIONS = "conditions.md"
"""The page's name."""

_INTRO = """The model computes every unit that its constructor accepts. The RTL has circuits for most of them. A field
that this page names takes fewer values in the RTL; `fp9 rtl` refuses any other value in a sentence, from the same row.
All other fields take what the model takes. Decoders, upcasts and quantisers have circuits for every specification.
`fp9 datasheet --out docs/units` writes this page."""


def page() -> str:
    """The page as Markdown."""
    rows = [
        [f"`{condition.field}`", circuits.units, condition.takes, condition.reason]
        for circuits in CIRCUITS
        for condition in circuits.conditions
    ]
    return (
        "\n\n".join(["# What the RTL takes", _INTRO, markdown_table(["field", "of", "takes", "because"], rows)]) + "\n"
    )
