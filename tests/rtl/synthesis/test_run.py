"""Area and delay estimates: what a gate and a flip-flop cost, that figures repeat, and what the user is told."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE
from fp9_rtl.synthesis import libraries, mapping, sta
from fp9_rtl.synthesis import report as synth_report
from fp9_rtl.synthesis import run as synth
from fp9_rtl.synthesis.libraries import LIBRARIES
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_rtl.synthesis.records import NOTE, Synthesis, ratios

pytestmark = pytest.mark.skipif(
    not LIBRARIES["osu018"].file.path().is_file(), reason="the Liberty file is missing; `make setup` installs it"
)

NAND = "module nand2(input a, b, output y); assign y = ~(a & b); endmodule"
REGISTER = "module bit_register(input clk, d, output reg q); always @(posedge clk) q <= d; endmodule"
CONSTANT = "module constant(input a, output y); assign y = 1'b1; endmodule"
HIERARCHY = "module two(input a, b, c, output y); wire z; nand2 u(a, b, z); nand2 v(z, c, y); endmodule\n" + NAND


def adder(width: int) -> str:
    high = width - 1
    return f"module adder{width}(input [{high}:0] a, b, output [{width}:0] y); assign y = a + b; endmodule"


def counter(width: int) -> str:
    return (
        f"module counter(input clk, rst, output reg [{width - 1}:0] n);\n"
        "always @(posedge clk) if (rst) n <= 0; else n <= n + 1; endmodule"
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def adder8(cache: Path) -> Synthesis:
    return synth.synthesise(adder(8), "adder8", cache=cache)


@pytest.fixture(scope="module")
def counter8(cache: Path) -> Synthesis:
    return synth.synthesise(counter(8), "counter", cache=cache)


@pytest.mark.every(3)
@pytest.mark.parametrize(("name", "nand2_um2"), [("osu018", 24), ("osu035", 96), ("nangate45", 0.798)])
def test_a_nand_costs_one_nand_equivalent(name: str, nand2_um2: float, cache: Path) -> None:
    if not LIBRARIES[name].file.path().is_file():
        pytest.skip(f"{name} is missing; `make setup` installs it")
    result = synth.synthesise(NAND, "nand2", library=name, cache=cache)
    for estimate in result.estimates:
        assert estimate.area_um2 == nand2_um2
        assert estimate.nand2 == 1
        assert estimate.cells == 1
        assert estimate.flip_flops == 0
        assert 0 < estimate.delay_ns < 1


def test_a_register_bit_costs_one_dffposx1_and_counts_as_flip_flop(cache: Path) -> None:
    for estimate in synth.synthesise(REGISTER, "bit_register", cache=cache).estimates:
        assert estimate.area_um2 == estimate.flip_flop_um2 == 96
        assert estimate.logic_um2 == 0
        assert estimate.flip_flops == 1
        assert estimate.nand2 == 4


def test_a_constant_costs_nothing(cache: Path) -> None:
    for estimate in synth.synthesise(CONSTANT, "constant", cache=cache).estimates:
        assert (estimate.area_um2, estimate.cells, estimate.delay_ns, estimate.spread) == (0, 0, 0, 0)


def test_instances_are_flattened(cache: Path) -> None:
    (estimate,) = synth.synthesise(HIERARCHY, "two", mappings=("area-optimised",), cache=cache).estimates
    assert 0 < estimate.cells <= 3


def test_logic_and_flip_flops_add_up(counter8: Synthesis) -> None:
    for estimate in counter8.estimates:
        assert estimate.flip_flops == 8
        assert estimate.flip_flop_um2 == 8 * 96
        assert estimate.logic_um2 > 0
        assert estimate.area_um2 == estimate.logic_um2 + estimate.flip_flop_um2


def test_mapping_a_is_the_smallest_of_its_scripts(adder8: Synthesis) -> None:
    estimate = adder8.estimate("area-optimised")
    assert len(estimate.script_areas_um2) == len(mapping.MAPPINGS["area-optimised"]) == 4
    assert estimate.area_um2 == min(estimate.script_areas_um2)
    assert estimate.script == mapping.MAPPINGS["area-optimised"][estimate.script_areas_um2.index(estimate.area_um2)]
    assert estimate.spread == max(estimate.script_areas_um2) / estimate.area_um2 - 1
    assert adder8.estimate("delay-balanced").spread == 0


def test_a_wider_adder_is_larger_and_slower(adder8: Synthesis, cache: Path) -> None:
    wide = synth.synthesise(adder(16), "adder16", cache=cache)
    for name in mapping.MAPPINGS:
        assert wide.estimate(name).area_um2 > adder8.estimate(name).area_um2
        assert wide.estimate(name).delay_ns > adder8.estimate(name).delay_ns


def test_mapping_b_is_the_faster_one(adder8: Synthesis) -> None:
    assert adder8.estimate("delay-balanced").delay_ns < adder8.estimate("area-optimised").delay_ns


@pytest.mark.slow
def test_operators_that_never_work_at_once_are_shared_unless_told(cache: Path) -> None:
    """One shifter behind a choice of what it shifts, or two before a choice of results."""
    choice = "input s, input [31:0] a, b, input [4:0] c, d, output [31:0] y); assign y = s ? a << c : b << d; endmodule"
    shared, apart = (synth.synthesise(f"module m({choice}", "m", cache=cache, share=share) for share in (True, False))
    assert apart.estimate("area-optimised").area_um2 > 1.5 * shared.estimate("area-optimised").area_um2


def test_measuring_again_gives_the_same_figures(adder8: Synthesis, tmp_path: Path) -> None:
    assert synth.synthesise(adder(8), "adder8", cache=tmp_path) == adder8


def test_progress_counts_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    synth.synthesise(
        NAND,
        "nand2",
        mappings=("delay-balanced",),
        cache=tmp_path,
        progress=lambda _what, done, total: seen.append((done, total)),
    )
    assert seen == [(1, 2), (2, 2)]


# --- the cache -----------------------------------------------------------------------------------------------------


@pytest.fixture
def no_yosys(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(synth, "prepare", refuse)


@pytest.mark.usefixtures("no_yosys")
def test_the_second_call_is_answered_from_the_cache(adder8: Synthesis, cache: Path) -> None:
    seen: list[tuple[int, int]] = []
    kept = synth.synthesise(
        adder(8), "adder8", cache=cache, progress=lambda _what, done, total: seen.append((done, total))
    )
    assert kept == adder8
    assert seen == [(6, 6)]


@pytest.mark.usefixtures("no_yosys")
@pytest.mark.parametrize(
    "other",
    [{"mappings": ("delay-balanced",)}, {"verilog": adder(8) + "\n"}, {"clock": "ck"}, {"order": 1}, {"library": None}],
)
def test_another_request_is_not_answered_from_the_cache(
    other: dict[str, object], adder8: Synthesis, cache: Path
) -> None:
    if "library" in other:
        other = {"library": dataclasses.replace(libraries.library("osu018"), sha256="another")}
    request = {"verilog": adder(8), "top": "adder8", "cache": cache, **other}
    with pytest.raises(AssertionError, match="measured again"):
        synth.synthesise(**request)  # type: ignore[arg-type]


@pytest.mark.every(2)
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe", None])
def test_a_damaged_cache_file_is_measured_again(damage: bytes | None, tmp_path: Path) -> None:
    first = synth.synthesise(NAND, "nand2", mappings=("delay-balanced",), cache=tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes().replace(b"24.0", b"12.0") if damage is None else damage)
    assert synth.synthesise(NAND, "nand2", mappings=("delay-balanced",), cache=tmp_path) == first


def test_concurrent_runs_share_one_cache(tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        runs = [
            pool.submit(synth.synthesise, NAND, "nand2", mappings=("delay-balanced",), cache=tmp_path) for _ in range(3)
        ]
    assert len({json.dumps(dict(run.result().to_dict(), estimates=None)) for run in runs}) == 1
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_the_cache_lies_where_fp9_cache_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FP9_CACHE", str(tmp_path))
    synth.synthesise(NAND, "nand2", mappings=("delay-balanced",))
    assert len(list((tmp_path / "synth").glob("*.json"))) == 1


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot cache results in .*; set FP9_CACHE to a folder that is writable"):
        synth.synthesise(NAND, "nand2", mappings=("delay-balanced",), cache=tmp_path / "file" / "below")


# --- delay ---------------------------------------------------------------------------------------------------------


def test_abc_and_opensta_agree_on_gates(adder8: Synthesis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if sta.sta_version() is None:
        pytest.skip("OpenSTA is not installed")
    assert adder8.delay_by == f"OpenSTA {sta.sta_version()}"
    monkeypatch.setattr(mapping, "sta_version", lambda: None)
    by_abc = synth.synthesise(adder(8), "adder8", cache=tmp_path)
    assert by_abc.delay_by == "ABC"
    for name in mapping.MAPPINGS:
        assert by_abc.estimate(name).delay_ns == pytest.approx(adder8.estimate(name).delay_ns, abs=0.001)


def test_constants_at_bits_apart_are_timed(cache: Path) -> None:
    verilog = "module gaps(input a, b, output [2:0] y); assign y = {1'b0, a & b, 1'b0}; endmodule"
    (estimate,) = synth.synthesise(verilog, "gaps", mappings=("delay-balanced",), cache=cache).estimates
    assert estimate.delay_ns > 0


@pytest.mark.parametrize(("operands", "total"), [("signed", "signed"), ("signed", ""), ("", "signed")])
def test_paths_of_signed_ports_are_timed(cache: Path, operands: str, total: str) -> None:
    """Signed or not, the ports are of one circuit."""

    def adder_of(operands: str, total: str) -> str:
        ports = f"input {operands} [3:0] a, b, output {total} [4:0] y"
        return f"module adder({ports}); assign y = $signed(a) + $signed(b); endmodule"

    unsigned = synth.synthesise(adder_of("", ""), "adder", cache=cache)
    signed = synth.synthesise(adder_of(operands, total), "adder", cache=cache)
    for name in mapping.MAPPINGS:
        expected = unsigned.estimate(name)
        assert expected.delay_ns > 0
        assert signed.estimate(name).area_um2 == expected.area_um2
        assert signed.estimate(name).delay_ns == expected.delay_ns


@pytest.mark.skipif(sta.sta_version() is None, reason="OpenSTA is not installed")
def test_a_netlist_that_opensta_reads_in_part_is_refused(tmp_path: Path) -> None:
    netlist = tmp_path / "mapped.v"
    netlist.write_text(
        "module half(a, b, y);\n input a;\n input strange b;\n output y;\n INVX1 g(.A(a), .Y(y));\nendmodule\n"
    )
    with pytest.raises(ValueError, match=r"OpenSTA cannot time half: Error: .*line 3 syntax error"):
        sta.worst_path_ns(netlist, "half", libraries.library("osu018"), None)


def test_flip_flops_without_their_clock_port_are_said(cache: Path) -> None:
    if sta.sta_version() is None:
        pytest.skip("OpenSTA is not installed")
    with pytest.raises(ValueError, match="counter has flip-flops but no port 'ck'; name its clock port"):
        synth.synthesise(counter(8), "counter", clock="ck", cache=cache)


# --- what the user is told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verilog", "top", "sentence"),
    [
        ("module m(input a output y); endmodule", "m", r"cannot synthesise m: Yosys says: .*syntax error"),
        (NAND, "nor2", r"cannot synthesise nor2: Yosys says: Module `nor2' not found!"),
        (NAND, "nand2; shell", r"top module 'nand2; shell' given; give a plain Verilog name"),
        ("module m(input a, b, output y); assign y = nosuch(a, b); endmodule", "m", "cannot synthesise m: .*nosuch"),
        ("module m(input a, output y); nosuch u(a, y); endmodule", "m", "cannot synthesise m: .*nosuch"),
    ],
)
def test_wrong_verilog_gets_one_sentence(verilog: str, top: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        synth.synthesise(verilog, top, cache=tmp_path)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_cell_that_the_library_lacks_is_named(tmp_path: Path) -> None:
    load = "if (load) q <= preset; else q <= d;"
    verilog = (
        f"module m(input clk, load, preset, d, output reg q); always @(posedge clk, posedge load) {load} endmodule"
    )
    with pytest.raises(ValueError, match=r"cannot map m: osu018 has no cell for \$_ALDFF_PP_; rewrite that part"):
        synth.synthesise(verilog, "m", mappings=("delay-balanced",), cache=tmp_path)


@pytest.mark.parametrize("mappings", [(), ("C",), ("area-optimised", "C")])
def test_an_unknown_mapping_is_named(mappings: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="given; choose from area-optimised, delay-balanced"):
        synth.synthesise(NAND, "nand2", mappings=mappings, cache=tmp_path)


def test_an_unknown_library_is_named() -> None:
    with pytest.raises(ValueError, match="unknown library 'sky130'; choose one of osu018, osu035, nangate45"):
        libraries.library("sky130")


def test_a_missing_library_names_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(libraries, "TECH_FOLDER", tmp_path)
    with pytest.raises(
        MissingTool, match=r"osu018_stdcells\.lib is missing; install it with: apt install qflow-tech-osu018"
    ):
        libraries.library("osu018")


# --- reports -------------------------------------------------------------------------------------------------------


def test_json_gives_the_result_back(adder8: Synthesis) -> None:
    record = json.loads(synth_report.as_json([adder8]))
    assert record["note"] == NOTE
    assert Synthesis.from_dict(record["results"][0]) == adder8
    assert re.fullmatch("[0-9a-f]{64}", adder8.verilog_sha256)
    assert all(script in adder8.recipe for scripts in mapping.MAPPINGS.values() for script in scripts)


def test_csv_has_a_line_for_each_unit_and_mapping(adder8: Synthesis, counter8: Synthesis) -> None:
    lines = list(csv.DictReader(io.StringIO(synth_report.as_csv([adder8, counter8]))))
    assert [(line["unit"], line["mapping"]) for line in lines] == [
        (unit, name) for unit in ("adder8", "counter") for name in MAPPED
    ]
    assert float(lines[0]["area_um2"]) == adder8.estimate("area-optimised").area_um2
    assert all(value for line in lines for value in line.values())
    assert lines[0]["note"] == NOTE


def test_the_table_says_what_the_figures_leave_out(adder8: Synthesis) -> None:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(synth_report.table([adder8]))
    shown = console.export_text()
    assert NOTE in " ".join(shown.split())
    assert f"{adder8.estimate('delay-balanced').area_um2:.0f}" in shown


@pytest.mark.parametrize("chart", [synth_report.area_delay_chart, synth_report.area_bars])
def test_charts_are_svg_and_repeat(chart: object, adder8: Synthesis, counter8: Synthesis, tmp_path: Path) -> None:
    assert callable(chart)
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        chart([adder8, counter8], file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert ElementTree.parse(files[0]).getroot().tag.endswith("svg")
    assert NOTE in files[0].read_text()


def test_reports_fill_a_folder(adder8: Synthesis, tmp_path: Path) -> None:
    paths = synth_report.write([adder8], tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["synth.json", "synth.csv", "area_delay.svg", "area.svg"]
    assert paths[0].read_text() == synth_report.as_json([adder8])
    assert all(path.stat().st_size for path in paths)


def test_a_ratio_states_units_result_subnormals_and_mapping(adder8: Synthesis, counter8: Synthesis) -> None:
    both, one = CATALOGUE["fma_dlfloat16_hfp8"], CATALOGUE["fma_dlfloat16_hfp8_152"]
    found = ratios(both, counter8, one, adder8)
    assert [r.mapping for r in found] == ["area-optimised", "delay-balanced"]
    for r in found:
        assert (r.numerator, r.denominator, r.result, r.subnormals) == (both.name, one.name, "dlfloat16", "none")
        assert r.area == counter8.estimate(r.mapping).area_um2 / adder8.estimate(r.mapping).area_um2
        assert r.delay == counter8.estimate(r.mapping).delay_ns / adder8.estimate(r.mapping).delay_ns
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(synth_report.ratio_table(found))
    assert NOTE in console.export_text()
    (cast, *_) = ratios(CATALOGUE["cast_fp32"], adder8, CATALOGUE["fma_fp32"], adder8)
    assert (cast.result, cast.subnormals) == ("e4m3/e5m2/hif8 over fp32", "kept")


def test_units_are_measured_from_their_specs(cache: Path) -> None:
    unit, other = CATALOGUE["decoder_hfp8"], CATALOGUE["decoder_hif8"]
    (found,) = synth.compare(unit, other, mappings=("delay-balanced",), cache=cache)
    measured, reference = (synth.synthesise_unit(u, mappings=("delay-balanced",), cache=cache) for u in (unit, other))
    assert (measured.top, reference.top) == (unit.name, other.name)
    assert found.area == measured.estimate("delay-balanced").area_um2 / reference.estimate("delay-balanced").area_um2
    assert (found.result, found.subnormals) == ("not rounded", "no result")


def test_ratios_across_libraries_are_refused(adder8: Synthesis) -> None:
    other = dataclasses.replace(adder8, library_sha256="another")
    fma = CATALOGUE["fma_fp32"]
    with pytest.raises(ValueError, match="differ in library_sha256; measure both in one flow"):
        ratios(fma, adder8, fma, other)
