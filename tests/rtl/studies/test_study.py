"""Studies: that they compare what they say, state what figures rest on, repeat, and name what has no hardware."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from tests.support.cells import needs_cells

from fp9.cli import main
from fp9.engines import engine
from fp9.formats import format
from fp9.units import CATALOGUE, Decoder, Dot
from fp9_rtl.studies import chart as study_chart
from fp9_rtl.studies import medians as study_medians
from fp9_rtl.studies import report as study_report
from fp9_rtl.studies import run_studies
from fp9_rtl.studies import submodules as study_submodules
from fp9_rtl.studies.catalogue import STUDIES, study
from fp9_rtl.studies.medians import MEDIANS
from fp9_rtl.studies.study import Chart, Outcome, Row, Study, Variant, measure
from fp9_rtl.synthesis import breakdown as synth_area
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_rtl.synthesis.records import NOTE

with_library = needs_cells("osu018")

PAGES = Path(__file__).parents[3] / "docs" / "study"

E5M2, HIF8 = (format(name) for name in ("e5m2", "hif8"))
SMALL = Study(
    "small",
    "A small study",
    "Does it work?",
    (
        Variant("e5m2", Decoder("decoder_e5m2", (E5M2,))),
        Variant("hif8", Decoder("decoder_hif8", (HIF8,))),
        Variant("dot", Dot("dot_without_hardware", (E5M2,), (E5M2,), engine("cdna3(rounding=rtz)"))),
    ),
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def outcome(cache: Path) -> Outcome:
    return measure(SMALL, cache=cache)


def elsewhere(outcome: Outcome, factor: float) -> Outcome:
    """An outcome as another library might give it: half the delays, areas but the first times a factor."""

    def of(row: Row, factor: float) -> Row:
        estimates = tuple(
            dataclasses.replace(e, area_um2=factor * e.area_um2, delay_ns=e.delay_ns / 2)
            for e in row.synthesis.estimates
        )
        ratios = tuple(dataclasses.replace(ratio, area=factor * ratio.area) for ratio in row.ratios)
        synthesis = dataclasses.replace(row.synthesis, library="other", estimates=estimates)
        return dataclasses.replace(row, synthesis=synthesis, ratios=ratios)

    first, *others = outcome.rows
    return dataclasses.replace(outcome, rows=(of(first, 1), *(of(row, factor) for row in others)))


# --- the catalogue of studies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_asks_one_question(name: str) -> None:
    found = study(name)
    assert found.name == name
    assert found.title and "?" in found.question
    assert bool(found.axis) == (found.chart is Chart.LINES)
    assert all(study_report.page([Outcome(found, (), ())]).count(f"- {v.label}: kind:") == 1 for v in found.variants)


def test_units_of_one_name_are_one_unit_in_all_studies() -> None:
    units = [variant.unit for found in STUDIES.values() for variant in found.variants]
    assert len({unit.name for unit in units}) == len(set(units))


def test_variants_of_a_study_with_one_result_differ_only_in_what_is_asked() -> None:
    without, with_flags = (v.unit for v in STUDIES["flags"].variants[:2])
    assert dataclasses.replace(without, name=with_flags.name, flags=True) == with_flags  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("variants", "sentence"),
    [
        ((), "study s: give variants with different labels"),
        (SMALL.variants[:1] * 2, "study s: give variants with different labels"),
        ((Variant("a", CATALOGUE["decoder_hif8"], "b"),), "study s: no variant is labelled 'b'"),
    ],
)
def test_labels_that_do_not_fit_are_said(variants: tuple[Variant, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Study("s", "", "", variants)


def test_an_unknown_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown study 'area51'; `fp9 study --list` lists all"):
        study("area51")
    with pytest.raises(ValueError, match="unknown study 'area51'; `fp9 study --list` lists all"):
        run_studies.run(["area51"], tmp_path)


# --- measuring -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@with_library
def test_ratios_are_figures_over_those_of_the_first(outcome: Outcome) -> None:
    first, second = outcome.rows
    assert (first.variant.label, second.variant.label) == ("e5m2", "hif8")
    assert [ratio.area for ratio in first.ratios] == [1, 1]
    for ratio, e, base in zip(second.ratios, second.synthesis.estimates, first.synthesis.estimates, strict=True):
        assert ratio.area == e.area_um2 / base.area_um2
        assert (ratio.numerator, ratio.denominator) == ("decoder_hif8", "decoder_e5m2")


@pytest.mark.slow
@with_library
def test_what_has_no_hardware_is_skipped_by_name(outcome: Outcome) -> None:
    ((label, reason),) = outcome.skipped
    assert label == "dot"
    assert "dot_without_hardware" in reason
    assert f"- dot: {reason}" in study_report.page([outcome])


@pytest.mark.slow
@with_library
def test_without_its_baseline_a_variant_keeps_its_figures(cache: Path) -> None:
    last_first = dataclasses.replace(SMALL, variants=SMALL.variants[::-1])
    found = measure(last_first, cache=cache)
    assert [(row.variant.label, row.over, row.ratios) for row in found.rows] == [
        ("hif8", "dot", ()),
        ("e5m2", "dot", ()),
    ]
    assert all(line["area_ratio"] == "" for line in csv.DictReader(io.StringIO(study_report.as_csv([found]))))


@with_library
def test_progress_counts_variants(cache: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    measure(SMALL, cache=cache, progress=lambda what, done, steps: seen.append((what, done, steps)))
    assert seen == [("small: e5m2", 1, 3), ("small: hif8", 2, 3), ("small: dot", 3, 3)]


# --- reports -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@with_library
@pytest.mark.parametrize("chart", Chart)
def test_a_study_is_written_whole_and_repeats(chart: Chart, outcome: Outcome, tmp_path: Path) -> None:
    drawn = dataclasses.replace(outcome, study=dataclasses.replace(SMALL, chart=chart, axis="formats"))
    both = [drawn, elsewhere(drawn, 1.02)]
    paths = study_report.write(both, tmp_path / "one")
    again = study_report.write(both, tmp_path / "two")
    assert [path.name for path in paths] == ["small.md", "small.json", "small.csv", "small.svg"]
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    assert ElementTree.parse(paths[-1]).getroot().tag.endswith("svg")
    assert all(NOTE in path.read_text() for path in paths)


@with_library
def test_json_csv_and_page_hold_the_same_figures(outcome: Outcome) -> None:
    figures = json.loads(study_report.as_json([outcome]))["figures"]
    lines = list(csv.DictReader(io.StringIO(study_report.as_csv([outcome]))))
    assert [(line["label"], line["mapping"]) for line in lines] == [("e5m2", m) for m in MAPPED] + [
        ("hif8", m) for m in MAPPED
    ]
    page = study_report.page([outcome])
    for figure, line in zip(figures, lines, strict=True):
        assert float(line["area_um2"]) == figure["area_um2"]
        assert f"| {figure['area_um2']:.0f} | {figure['nand2']:.0f} | {figure['area_ratio']:.3f} |" in page
        assert f"| {figure['delay_ns']:.2f} | {figure['delay_ratio']:.3f} |" in page


@with_library
@pytest.mark.parametrize(("factor", "said"), [(1.02, False), (0.9, True), (1.1, True)])
def test_a_page_of_two_libraries_says_which_ratios_lie_apart(outcome: Outcome, factor: float, said: bool) -> None:
    page = study_report.page([outcome, elsewhere(outcome, factor)])
    ratio = outcome.rows[1].ratios[0].area
    assert (f"* hif8, area-optimised: {ratio:.2f} in osu018, {factor * ratio:.2f} in other" in page) == said
    assert ("No ratio differs by more than 5% between the libraries." in page) != said
    assert "* e5m2" not in page
    assert (
        page.count("| osu018: area-optimised um2 |")
        == page.count("| other: delay-balanced um2 |")
        == page.count("| other: area-optimised ns |")
        == 1
    )
    assert len(json.loads(study_report.as_json([outcome, elsewhere(outcome, factor)]))["figures"]) == 8


def test_studies_can_be_listed() -> None:
    result = CliRunner().invoke(main, ["study", "--list", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == run_studies.questions()


# --- medians --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@with_library
def test_ratios_of_medians_lie_within_those_of_any_two_orders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    few = dataclasses.replace(MEDIANS["medians"], groups=(((CATALOGUE["decoder_ocp"],), CATALOGUE["decoder_hif8"]),))
    monkeypatch.setitem(MEDIANS, few.name, few)
    monkeypatch.setattr(study_medians, "ORDERS", 2)
    written = run_studies.run([few.name], tmp_path, libraries=["osu018"])
    assert [path.name for path in written[few.name]] == ["medians.md", "medians.json"]
    text = (tmp_path / "medians.md").read_text()
    record = json.loads((tmp_path / "medians.json").read_text())
    assert [(ratio["library"], ratio["mapping"]) for ratio in record["ratios"]] == [
        ("osu018", "area-optimised"),
        ("osu018", "delay-balanced"),
    ]
    for ratio in record["ratios"]:
        assert ratio["low"] <= ratio["area"] <= ratio["high"]
        assert f"| {ratio['area']:.3f} | {ratio['low']:.3f} | {ratio['high']:.3f} |" in text
    assert "(medians.md)" in (tmp_path / study_report.INDEX).read_text()


# --- submodules ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@with_library
def test_submodules_add_up_to_about_the_flat_area(cache: Path) -> None:
    found = synth_area.breakdown(CATALOGUE["cast_fp16_hif8"], cache=cache)
    assert [name for name, _ in found.submodules] == ["unpack", "place", "round", "encode"]
    assert found.total_um2 == sum(area for _, area in found.submodules)
    assert 0.9 < found.over_flat < 1.4
    assert synth_area.breakdown(CATALOGUE["cast_fp16_hif8"], cache=cache) == found


@pytest.mark.slow
@with_library
def test_registers_of_a_pipeline_are_submodules(cache: Path) -> None:
    unit = Decoder("decoder_e5m2", (E5M2,), stages=1)
    assert [name for name, _ in synth_area.breakdown(unit, cache=cache).submodules] == ["decode", "register1"]


@with_library
def test_the_submodules_page_states_how_it_was_measured(cache: Path, tmp_path: Path) -> None:
    found = study_submodules.measure([CATALOGUE["decoder_hif8"]], ["osu018"], cache=cache)
    paths = study_submodules.write(found, tmp_path)
    assert [path.name for path in paths] == [f"submodules.{suffix}" for suffix in ("md", "json", "csv", "svg")]
    page = paths[0].read_text()
    assert "keeps the boundaries of submodules" in page
    assert f"| {found[0].total_um2:.0f} | {found[0].flat_um2:.0f} | {found[0].over_flat:.3f} |" in page
    assert "between the libraries" not in page


@pytest.mark.slow
@with_library
def test_a_submodule_with_the_name_of_a_port_keeps_it(cache: Path) -> None:
    """The stage of a running maximum, beside the port `amax`."""
    unit = dataclasses.replace(CATALOGUE["cast_fp32_x4"], name="cast_amax", lanes=1, stages=1)  # type: ignore[call-arg]
    named = [name for name, _ in synth_area.breakdown(unit, cache=cache).submodules]
    assert "amax" in named
    assert all(name.isidentifier() for name in named)


def test_an_unknown_mapping_is_named() -> None:
    with pytest.raises(ValueError, match="mapping 'C' given; choose from area-optimised, delay-balanced"):
        synth_area.breakdown(CATALOGUE["decoder_hif8"], mapping="C")


def test_labels_of_a_scatter_cover_neither_each_other_nor_the_points() -> None:
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    figure = Figure(figsize=(8, 5))
    axes = figure.add_subplot()
    points = [(1.1 ** (i % 6), 1.2 ** (i // 6)) for i in range(36)]
    axes.scatter(*zip(*points, strict=True), s=14)
    axes.set(xscale="log", yscale="log", xlim=(0.1, 30), ylim=(0.1, 40))
    figure.draw_without_rendering()
    study_chart._label(axes, [f"fma_number_{i}" for i in range(36)], points)
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without its line
    assert len(boxes) == 36
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert not any(box.contains(*axes.transData.transform(point)) for box in boxes for point in points)
