"""Define a study: a question about hardware cost, and the units that answer the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fp9.units import Unit
from fp9_rtl.synthesis.circuit import unit_circuit
from fp9_rtl.synthesis.libraries import Library
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_rtl.synthesis.records import Ratio, ratios
from fp9_rtl.synthesis.run import Progress, Synthesis, synthesise_unit


class Chart(Enum):
    """Kinds of charts that a study can have."""

    BARS = "bars"
    LINES = "lines"
    """Area and delay as lines, with the variants in order on the x axis."""
    SCATTER = "scatter"
    """One point for each variant, with delay on the x axis and area on the y axis."""


@dataclass(frozen=True)
class Variant:
    """Hardware unit that a study compares, with a label for tables and charts."""

    label: str
    unit: Unit
    # Area and delay ratios refer to the variant with this label, by default the first variant of the study.
    over: str | None = None


@dataclass(frozen=True)
class Study:
    """A question about hardware cost, and the units whose area and delay answer the question."""

    name: str
    title: str
    question: str
    variants: tuple[Variant, ...]
    chart: Chart = Chart.BARS
    # Quantity on the x axis of a line chart.
    axis: str = ""

    def __post_init__(self) -> None:
        labels = [variant.label for variant in self.variants]
        if not labels or len(set(labels)) != len(labels):
            raise ValueError(f"study {self.name}: give variants with different labels")
        unknown = [v.over for v in self.variants if v.over not in (None, *labels)]
        if unknown:
            raise ValueError(
                f"study {self.name}: no variant is labelled {unknown[0]!r}; compare with an existing variant"
            )

    def baseline(self, variant: Variant) -> str:
        return variant.over or self.variants[0].label


@dataclass(frozen=True)
class Row:
    """One measured variant of a study."""

    variant: Variant
    over: str
    synthesis: Synthesis
    # Area and delay relative to the variant `over`, for each mapping. Empty if the variant `over` was skipped.
    ratios: tuple[Ratio, ...]


@dataclass(frozen=True)
class Outcome:
    """Results of a cost study in one cell library."""

    study: Study
    rows: tuple[Row, ...]
    # Label of each variant without hardware, and the reason.
    skipped: tuple[tuple[str, str], ...]

    @property
    def library(self) -> str:
        return self.rows[0].synthesis.library

    @property
    def mappings(self) -> tuple[str, ...]:
        return tuple(estimate.mapping for estimate in self.rows[0].synthesis.estimates)


def measure(
    study: Study,
    *,
    library: str | Library = "osu018",
    mappings: Sequence[str] = MAPPED,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Measure area and delay of each variant in a study.

    Variants for which fp9 cannot generate hardware are listed in `skipped`.

    Raises MissingTool if the library or Yosys is not installed, and OSError if the cache cannot be written.
    """
    measured: dict[str, Synthesis] = {}
    skipped: dict[str, str] = {}
    for done, variant in enumerate(study.variants, start=1):
        try:
            unit_circuit(variant.unit)
        except ValueError as refusal:  # a specification without hardware
            skipped[variant.label] = str(refusal)
        else:
            measured[variant.label] = synthesise_unit(variant.unit, library=library, mappings=mappings, cache=cache)
        if progress:
            progress(f"{study.name}: {variant.label}", done, len(study.variants))
    return Outcome(
        study,
        tuple(row(study, variant, measured) for variant in study.variants if variant.label in measured),
        tuple(skipped.items()),
    )


def row(study: Study, variant: Variant, measured: dict[str, Synthesis]) -> Row:
    over = next(v for v in study.variants if v.label == study.baseline(variant))
    reference = measured.get(over.label)
    figures = measured[variant.label]
    compared = ratios(variant.unit, figures, over.unit, reference) if reference else ()
    return Row(variant, over.label, figures, compared)
