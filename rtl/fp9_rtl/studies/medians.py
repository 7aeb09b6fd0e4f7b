"""Cost studies that compare median areas over shuffled netlists, to resolve area differences of 5 %."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fp9.system.files import write_whole
from fp9.units import CATALOGUE, Quantiser, Unit
from fp9.units.views import quantiser_of, sum_of
from fp9_rtl.synthesis.libraries import SIDE_BY_SIDE, Library
from fp9_rtl.synthesis.records import NOTE, RepeatedRatio, Repeats
from fp9_rtl.synthesis.report import markdown_row, um2
from fp9_rtl.synthesis.run import Progress, repeated_side_by_side

ORDERS = 5


def _staged(name: str, stages: int) -> Unit:
    found = sum_of(CATALOGUE[name])
    assert found is not None
    return dataclasses.replace(found, name=f"{name}_stages{stages}", stages=stages)


_Group = tuple[tuple[Unit, ...], Unit]


@dataclass(frozen=True)
class Medians:
    """A question about cost, and groups of units whose median areas answer it."""

    name: str
    title: str
    question: str
    # Groups of units. Area ratios refer to the group's reference unit.
    groups: tuple[_Group, ...]

    @property
    def units(self) -> dict[str, Unit]:
        return {unit.name: unit for units, reference in self.groups for unit in (*units, reference)}


_MIXED = Medians(
    "medians",
    "Cost of mixed operands, medians",
    "How much larger is a unit for mixed operands than a unit for one of its formats alone?",
    (
        ((CATALOGUE["fpu_dlfloat16_hfp8"],), CATALOGUE["fpu_dlfloat16_hfp8_152"]),
        ((CATALOGUE["fma_dlfloat16_hfp8"],), CATALOGUE["fma_dlfloat16_hfp8_152"]),
        *(((_staged("fma_dlfloat16_hfp8", n),), _staged("fma_dlfloat16_hfp8_152", n)) for n in (3, 4)),
        ((CATALOGUE["fma_fp32_ocp"],), CATALOGUE["fma_fp32_e5m2"]),
    ),
)


def _with_each_rule(name: str, lanes: int, prefix: str) -> list[Quantiser]:
    every = quantiser_of(CATALOGUE[name])
    assert every is not None
    every = dataclasses.replace(every, lanes=lanes)
    alone = [dataclasses.replace(every, name=f"{prefix}_{rule.name}", rules=(rule,)) for rule in every.rules]
    return [*alone, dataclasses.replace(every, name=f"{prefix}_all_rules")]


def _rules(lanes: int) -> Medians:
    powers, floats = (
        _with_each_rule("quantiser_mxfp4", lanes, "quantiser"),
        _with_each_rule("quantiser_nvfp4", lanes, "quantiser_nvfp4"),
    )
    nearest = next(unit for unit in powers if unit.name == "quantiser_rne")
    power, other = powers[0].block, floats[0].block
    question = (
        f"What does each rule of the scale cost in a quantiser of {nearest.source.name} to {power.name} or "
        f"{other.name}, with {lanes} numbers per operation? Each rule, and a choice of all rules, is compared "
        f"with the first rule. A scale in {other.scale.name} is compared with one in {power.scale.name}."
    )
    groups: list[_Group] = [(tuple(others), first) for first, *others in (powers, floats)]
    return Medians("rules", "Rules of a block's scale, medians", question, (*groups, ((floats[0],), nearest)))


MEDIANS: dict[str, Medians] = {study.name: study for study in (_MIXED, _rules(4))}


@dataclass(frozen=True)
class MedianArea:
    """Area of a unit in um2 over the original order and several shuffled orders of the netlist's cells."""

    unit: str
    library: str
    mapping: str
    # Median of the areas, followed by their deviation, minimum and maximum.
    area_um2: float
    deviation: float
    least_um2: float
    most_um2: float
    # Median of the delays.
    delay_ns: float

    @classmethod
    def of(cls, found: Repeats) -> MedianArea:
        spread = (found.area_um2, found.area_deviation, min(found.areas_um2), max(found.areas_um2))
        return cls(found.top, found.library, found.mapping, *spread, found.delay_ns)


Found = tuple[list[MedianArea], list[RepeatedRatio]]


def measure(
    study: Medians, libraries: Sequence[str | Library] = SIDE_BY_SIDE, progress: Progress | None = None
) -> Found:
    """Synthesise every unit of a study repeatedly, and return median areas and area ratios.

    Each unit is synthesised with every library and mapping, for the original and for `ORDERS - 1` shuffled orders of
    the netlist's cells.

    Raises the same errors as `synthesise_unit`.
    """
    medians: list[MedianArea] = []
    ratios: list[RepeatedRatio] = []
    for done, (units, reference) in enumerate(study.groups, start=1):
        repeats, compared = repeated_side_by_side(units, reference, ORDERS, libraries)
        areas = [MedianArea.of(found) for found in repeats]
        medians += [area for area in areas if area not in medians]  # a unit may be in several groups
        ratios += compared
        if progress:
            progress(f"{study.name}: {reference.name}", done, len(study.groups))
    return medians, ratios


def write(study: Medians, found: Found, folder: Path) -> list[Path]:
    """Write the page NAME.md and the file NAME.json to a folder, and return their paths."""
    texts = {".md": page(study, found), ".json": as_json(found)}
    for suffix, text in texts.items():
        write_whole(folder / f"{study.name}{suffix}", text)
    return [folder / f"{study.name}{suffix}" for suffix in texts]


def as_json(found: Found) -> str:
    areas, ratios = ([dataclasses.asdict(row) for row in rows] for rows in found)
    return json.dumps({"note": NOTE, "areas": areas, "ratios": ratios}, indent=1) + "\n"


def page(study: Medians, found: Found) -> str:
    ratios = [markdown_row(["unit", "over", "library", "mapping", "ratio", "least", "most", "delay ratio"])]
    ratios.append(markdown_row([*["---"] * 4, *["---:"] * 4]))
    for m in found[1]:
        figures = [f"{value:.3f}" for value in (m.area, m.low, m.high, m.delay)]
        ratios.append(markdown_row([m.numerator, m.denominator, m.library, m.mapping, *figures]))
    areas = [markdown_row(["unit", "library", "mapping", "um2", "deviation", "least", "most", "ns"])]
    areas.append(markdown_row([*["---"] * 3, *["---:"] * 5]))
    for a in found[0]:
        spread = [um2(a.area_um2), f"{a.deviation:.1%}", um2(a.least_um2), um2(a.most_um2)]
        areas.append(markdown_row([a.unit, a.library, a.mapping, *spread, f"{a.delay_ns:.2f}"]))
    basis = (
        f"Synthesis depends on the order of a circuit's cells, so each unit was mapped in {ORDERS} orders. Areas, "
        'delays and ratios are medians. "Ratio" is the area of the unit divided by the area of the unit in the column '
        '"over". "Least" and "most" are the smallest and largest values: of an area over all orders, of a ratio over '
        f"all pairs of orders. Deviations are standard deviations. {NOTE[0].upper()}{NOTE[1:]}."
    )
    parts = [f"# {study.title}", study.question, basis, "\n".join(ratios), "\n".join(areas)]
    return "\n\n".join([*parts, f"Measure again: `fp9 study {study.name}`"]) + "\n"
