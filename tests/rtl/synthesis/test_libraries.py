"""Cell libraries: what is read out of a Liberty file, and a library of the user's own from Liberty to figures."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from fp9.units import CATALOGUE
from fp9_rtl.synthesis import libraries, mapping
from fp9_rtl.synthesis import run as synth
from fp9_rtl.synthesis.liberty import numbers, read, truth_table
from fp9_rtl.synthesis.libraries import LIBRARIES, Library
from fp9_rtl.synthesis.records import RepeatedRatio, Repeats

SHARED = Path(__file__).parents[4] / "shared" / "liberty" / "sg13g2_stdcell_typ_1p20V_25C.lib"
UNIT = CATALOGUE["decoder_hif8"]


@pytest.fixture
def osu018() -> Path:
    path = LIBRARIES["osu018"].file.path()
    if not path.is_file():
        pytest.skip("the Liberty file is missing; `make setup` installs it")
    return path


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_is_found_in_its_own_file(name: str) -> None:
    """What the catalogue states is what the file itself says: its smallest NAND, an inverter four times as strong."""
    source = LIBRARIES[name]
    if not source.file.path().is_file():
        pytest.skip(f"{name} is missing; install it with: {source.file.install}")
    own = libraries.own_library([source.file.path()])
    assert (own.unit_cell, own.driver) == (source.unit_cell, source.driver)
    assert own.load_ff / 2 < source.load_ff < own.load_ff * 2
    found = libraries.library(name)
    assert found.areas == own.areas
    assert found.nand2_um2 == min(found.areas[cell] for cell in found.areas if re.match("NAND2", cell))
    assert found.sequential
    assert all(re.search("FF|LAT|DL[HL]|DFF|TBUF", cell) for cell in found.sequential)
    assert found.leakage_nw[source.unit_cell] > 0


def test_the_page_on_area_lists_the_catalogue() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "area-and-energy.md").read_text()
    for source in LIBRARIES.values():
        cells, _, node = source.title.partition(", ")
        default = " (the default)" if source.name == next(iter(LIBRARIES)) else ""
        terms = f"{source.node_nm} nm, {source.volts} V, {source.corner}"
        assert f"| `{source.name}`{default} | {cells}, {node} | {terms} | `{source.file.install}` |" in page


def test_what_is_installed_is_the_version_that_the_catalogue_names() -> None:
    pinned = (Path(__file__).parents[3] / "requirements.cells").read_text()
    wheels = [source.file for source in LIBRARIES.values() if isinstance(source.file, libraries.WheelFile)]
    assert wheels
    assert all(f"{wheel.package}=={wheel.version} --hash=sha256:" in pinned for wheel in wheels)


def test_figures_known_of_nangate45() -> None:
    """NangateOpenCellLibrary typical: NAND2_X1 0.798 um2, leakage 17.39 nW (its data book and its Liberty)."""
    if not LIBRARIES["nangate45"].file.path().is_file():
        pytest.skip("nangate45 is missing; `make setup` installs it")
    cells = libraries.library("nangate45")
    assert cells.nand2_um2 == 0.798
    assert cells.leakage_nw["NAND2_X1"] == pytest.approx(17.393, abs=1e-3)


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        ("(!(A B))", lambda a, b: not (a and b)),
        ("!(A*B)", lambda a, b: not (a and b)),
        ("(!A) | (!B)", lambda a, b: not (a and b)),
        ("A' + B'", lambda a, b: not (a and b)),
        ("((A & B)')", lambda a, b: not (a and b)),
        ("A ^ B", lambda a, b: a != b),
        ("A ^ B'", lambda a, b: a == b),
        ("A + !A B", lambda a, b: a or b),
        ("!A B + 0", lambda a, b: b and not a),
        ("1 * (A)", lambda a, b: a),
    ],
)
def test_functions_mean_what_the_liberty_guide_says(function: str, meaning: object) -> None:
    assert callable(meaning)
    assert truth_table(function, ("A", "B")) == tuple(bool(meaning(*row)) for row in product((False, True), repeat=2))


def test_groups_attributes_and_tables() -> None:
    text = """/* a
    comment */ library (one) { time_unit : "1ns"; capacitive_load_unit (1, pf);
      cell ("X") { area : 1.5 ; pin (A) { direction : input } pin(Y) { function : "!(A)"; timing () {
        values ("1, 2.5", \\
                "-3e-2, 4"); } } } }"""
    group = read(text)
    (cell,) = group.of("cell")
    a, y = cell.of("pin")
    (timing,) = y.of("timing")
    assert (group.name, cell.name, a.name, y.name) == ("one", "X", "A", "Y")
    assert group.attributes == {"time_unit": "1ns", "capacitive_load_unit": "1, pf"}
    assert cell.attributes == {"area": "1.5"}
    assert a.attributes == {"direction": "input"}
    assert y.attributes == {"function": "!(A)"}
    assert numbers(timing.attributes["values"]) == [1, 2.5, -0.03, 4]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "it has no complete library"),
        ("# Readme\nSome (words).", "it has no complete library"),
        ("library (x) { cell (A) { area : 1; }", "it has no complete library"),
        ("library (x) { } }", "it closes a group that it did not open"),
        ("library (x) { }", "it has no cell with an area"),
        ('library (x) { cell (A) { area : 1; pin(B) { function : "1"; } } }', "no two-input NAND among 1 cells"),
    ],
)
def test_what_is_no_library_is_said_in_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "own.lib"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence) as caught:
        libraries.own_library([path])
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_leaks_is_the_cells_own_figure_or_the_mean_of_its_states(tmp_path: Path) -> None:
    pins = 'pin(A) { direction : input; capacitance : 1; } pin(Y) { direction : output; function : "!A"; }'
    nand = 'pin(A) { direction : input; } pin(B) { direction : input; } pin(Y) { function : "!(A B)"; }'
    states = "leakage_power () { value : 1; } leakage_power () { value : 4; }"
    path = tmp_path / "own.lib"
    path.write_text(
        'library (x) { leakage_power_unit : "1uW"; capacitive_load_unit (1, ff);'
        f"cell (INV) {{ area : 1; cell_leakage_power : 7; {pins} {states} }}"
        f"cell (NAND) {{ area : 2; {nand} {states} }} }}"
    )
    cells = libraries.own_library([path])
    assert cells.leakage_nw == {"INV": 7000, "NAND": 2500}
    assert (cells.driver, cells.load_ff) == ("INV", 2)


@pytest.mark.slow
def test_several_files_make_one_library(osu018: Path, tmp_path: Path) -> None:
    """The cells that hold a bit in one file, all others in another: the same figures as from the one file of both."""
    text = osu018.read_text()
    heads = [match.start() for match in re.finditer(r"^cell \(", text, re.MULTILINE)]
    end = text.rindex("}")
    parts = [text[a:b] for a, b in zip(heads, [*heads[1:], end], strict=True)]
    holding = [part for part in parts if re.search(r"\b(?:ff|latch) \(", part)]
    for name, cells in (("logic.lib", [p for p in parts if p not in holding]), ("registers.lib", holding)):
        (tmp_path / name).write_text(text[: heads[0]] + "".join(cells) + text[end:])
    merged = libraries.own_library([tmp_path / "logic.lib", tmp_path / "registers.lib"])
    whole = libraries.own_library([osu018])
    assert (merged.areas, merged.sequential, merged.driver) == (whole.areas, whole.sequential, whole.driver)
    register = "module r(input clk, a, b, output reg q); always @(posedge clk) q <= a ^ b; endmodule"
    figures = [
        [(e.area_um2, e.flip_flops, e.delay_ns) for e in synth.synthesise(register, "r", library=cells).estimates]
        for cells in (merged, whole)
    ]
    assert figures[0] == figures[1]
    assert figures[0][0][1] == 1


def test_cells_left_out_are_not_used(osu018: Path, tmp_path: Path) -> None:
    without = libraries.own_library([osu018], ["XOR*", "XNOR*"])
    assert without.leave_out == ("XOR2X1", "XNOR2X1")
    adder = "module a(input [3:0] a, b, output [4:0] y); assign y = a + b; endmodule"
    for cells, used in ((libraries.own_library([osu018]), True), (without, False)):
        folder = tmp_path / str(used)
        folder.mkdir()
        mapping.prepare(adder, "a", cells, folder)
        mapped = mapping.map_prepared(folder, mapping.MAPPINGS["delay-balanced"][0], "a", cells, "clk")
        assert any("XOR" in cell or "XNOR" in cell for cell in mapped.cells) is used
    with pytest.raises(ValueError, match=r"no cell FOO\* to leave out"):
        libraries.own_library([osu018], ["FOO*"])


def test_a_liberty_of_another_node(tmp_path: Path) -> None:
    """IHP's 130 nm library: its NAND2 takes 7.2576 um2 (its Liberty), a decoder about as many NAND2s as in osu018."""
    if not SHARED.is_file():
        pytest.skip(f"{SHARED} is not there")
    cells = libraries.own_library([SHARED])
    assert (cells.unit_cell, cells.nand2_um2, cells.driver) == ("sg13g2_nand2_1", 7.2576, "sg13g2_inv_4")
    (estimate,) = synth.synthesise_unit(UNIT, library=cells, mappings=("area-optimised",), cache=tmp_path).estimates
    assert 40 < estimate.nand2 < 80
    assert 0.2 < estimate.delay_ns < 5


def test_the_libraries_chosen() -> None:
    with pytest.raises(ValueError, match="without a Liberty file"):
        libraries.chosen((), (), ("NAND2X1",))
    if LIBRARIES["osu018"].file.path().is_file():
        assert [cells.name for cells in libraries.chosen(())] == ["osu018"]
        assert [cells.name for cells in libraries.chosen(("osu018", "osu018"))] == ["osu018"]


# --- orders of the cells -------------------------------------------------------------------------------------------


def test_a_shuffled_netlist_has_the_same_cells_in_another_order(osu018: Path, tmp_path: Path) -> None:
    cells = libraries.own_library([osu018])
    adder = "module a(input clk, input [7:0] a, b, output reg [8:0] y); always @(posedge clk) y <= a + b; endmodule"
    mapping.prepare(adder, "a", cells, tmp_path)
    texts = [(tmp_path / "prepared.il").read_text()]
    for seed in (1, 1, 2):
        (tmp_path / "prepared.il").write_text(texts[0])
        mapping.shuffle(tmp_path, seed)
        texts.append((tmp_path / "prepared.il").read_text())
    first, once, again, other = texts
    assert once == again
    assert len({first, once, other}) == 3
    assert sorted(first.splitlines()) == sorted(once.splitlines()) == sorted(other.splitlines())


@pytest.mark.slow
def test_repeats_are_medians_with_their_spread(osu018: Path, tmp_path: Path) -> None:
    del osu018
    (found,) = synth.repeated(UNIT, 3, mappings=("delay-balanced",), cache=tmp_path)
    single = [
        synth.synthesise_unit(UNIT, mappings=("delay-balanced",), order=order, cache=tmp_path) for order in range(3)
    ]
    areas = [s.estimate("delay-balanced").area_um2 for s in single]
    assert list(found.areas_um2) == areas
    assert found.area_um2 == sorted(areas)[1]
    assert [s.order for s in single] == [0, 1, 2]
    with pytest.raises(ValueError, match="1 orders given; give 2 or more"):
        synth.repeated(UNIT, 1, cache=tmp_path)


def test_a_ratio_of_medians_bounds_every_pair_of_orders() -> None:
    unit = Repeats("u", "l", "area-optimised", (110.0, 100.0, 105.0), (2.0, 2.0, 4.0))
    other = Repeats("o", "l", "area-optimised", (50.0, 55.0, 45.0), (1.0, 1.0, 1.0))
    ratio = RepeatedRatio.of(unit, other)
    assert (ratio.area, ratio.delay) == (105 / 50, 2.0)
    assert all(ratio.low <= a / b <= ratio.high for a in unit.areas_um2 for b in other.areas_um2)
    assert unit.area_deviation == pytest.approx(5 / 105)
    with pytest.raises(ValueError, match="differ in library or mapping"):
        RepeatedRatio.of(unit, Repeats("o", "l", "delay-balanced", (1.0,), (1.0,)))
    with pytest.raises(ValueError, match="o has no gates"):
        RepeatedRatio.of(unit, Repeats("o", "l", "area-optimised", (0.0, 1.0), (1.0, 1.0)))


def test_a_library_is_a_library(osu018: Path) -> None:
    cells = libraries.own_library([osu018])
    assert libraries.find_library(cells) is cells
    assert isinstance(libraries.find_library("osu018"), Library)
