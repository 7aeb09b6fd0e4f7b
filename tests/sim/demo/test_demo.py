"""The main job's parts on their own: training, scales, products, the layer's operations, and the report."""

from __future__ import annotations

import copy
import functools
import io
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console
from tests.support.browser import overflowing
from tests.support.rosters import OPERANDS, each_kind

import fp9
from fp9 import vectors
from fp9.blocks import dequantise, quantise, tensor_scale
from fp9.cli import main, output
from fp9.engines import engine
from fp9.formats import FixedFormat
from fp9.formats.blocks import block_format
from fp9.golden import evaluate
from fp9.system.missing import MissingTool
from fp9.units import CATALOGUE, Cast, Dot, Fma, MacOp, Quantiser, Unit
from fp9_ml.experiments.measured import ROWS, table
from fp9_ml.recipes import Product, recipe
from fp9_rtl.synthesis.mapping import MAPPED
from fp9_sim import demo
from fp9_sim.demo import block_products, hardware, layer, network, operations, report
from fp9_sim.demo.report import charts
from fp9_sim.demo.report.waves import picture
from fp9_sim.regression import regress_once


@functools.lru_cache(maxsize=1)
def trained() -> tuple[network.Digits, network.Network]:
    data = network.digits()
    return data, network.train(data)


@functools.lru_cache(maxsize=1)
def real_layer() -> tuple[network.LayerTensors, list[layer.Product]]:
    data, net = trained()
    tensors = network.tensors(net, data)
    return tensors, layer.products(tensors)


# --- the network --------------------------------------------------------------------------------------------------


def test_training_learns_and_is_repeatable() -> None:
    data, net = trained()
    assert network.accuracy(net.activations(data.test_images)[-1], data.test_labels) > 0.95
    again = network.train(data)
    assert all(np.array_equal(a, b) for a, b in zip(net.weights, again.weights, strict=True))
    assert {a.dtype for a in (*net.weights, *net.biases)} == {np.dtype(np.float32)}


def test_no_image_is_in_both_parts() -> None:
    data, _ = trained()
    assert len(data.train_labels) + len(data.test_labels) == 1797


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    """Against a central difference of the mean cross-entropy, in the scores of the last layer and one weight below."""
    data, net = trained()
    images, labels = data.test_images[:50], data.test_labels[:50]

    def loss(weight: float) -> float:
        weights = [w.astype(np.float64) for w in net.weights]
        weights[1][3, 4] += weight
        moved = network.Network(tuple(weights), tuple(b.astype(np.float64) for b in net.biases))  # type: ignore[arg-type]
        scores = moved.activations(images)[-1]
        return float(-np.mean(np.log(network.softmax(scores)[np.arange(50), labels])))

    values = net.activations(images)
    slope = (values[1].T @ net.gradients(values, labels)[1])[3, 4]
    assert slope == pytest.approx((loss(1e-5) - loss(-1e-5)) / 2e-5, rel=1e-3)


# --- the layer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", OPERANDS, ids=str)
@pytest.mark.parametrize("largest", [1.0, 1.99, 2.0**-30, 447.9, 3e20])
def test_the_scale_brings_the_largest_value_to_the_finest_binade(fmt: fp9.Format, largest: float) -> None:
    scaled = np.ldexp(largest, layer.scale_exponent(np.array([0.0, -largest]), fmt))
    assert scaled <= fmt.max
    assert np.ldexp(scaled, 1) > fmt.max or not isinstance(fmt, FixedFormat)
    assert layer.finest_exponent(fmt) - 1 <= np.floor(np.log2(scaled)) <= layer.finest_exponent(fmt)


def test_hif8_is_scaled_to_its_three_bit_zone() -> None:
    assert layer.finest_exponent(fp9.format("hif8")) == 3  # HiF8 Table 4: 3 fraction bits for |E| <= 3


def test_zeros_are_not_scaled() -> None:
    assert layer.scale_exponent(np.zeros(3), fp9.format("e4m3")) == 0


def test_every_scheme_meets_every_accumulator() -> None:
    _, products = real_layer()
    pairs = {(p.scheme.direction, p.scheme.a.name, p.scheme.b.name, p.engine.name) for p in products}
    assert ("forward", "hif8", "hif8", "dlfloat") in pairs
    assert ("backward", "e5m2", "e4m3", "fma_fp32") in pairs
    assert len(pairs) == len(products) == 10


def test_errors_are_those_of_8_bits_and_of_the_accumulator() -> None:
    """3 fraction bits: relative error below 2^-4 a value; FP32 sums below 2^-20, DLFloat16 sums below 2^-7."""
    _, products = real_layer()
    for p in products:
        assert 1e-3 < p.quantisation_error < 2**-4
        assert p.accumulation_error < (2**-20 if p.engine.name == "fma_fp32" else 2**-7)
        assert abs(p.total_error - p.quantisation_error) <= p.accumulation_error


def test_blocks_cost_what_their_elements_and_scales_cost() -> None:
    """Against `dequantise` of the factors; sums are rounded to FP32."""
    tensors, _ = real_layer()
    found = {(p.direction, p.block.name): p for p in block_products.products(tensors)}
    assert set(found) == set(itertools.product(layer.DIRECTIONS, block_products.BLOCKS))
    for (direction, name), p in found.items():
        x, y = layer.factors(direction, tensors)
        read = [dequantise(*quantise(z, "mxfp8_e4m3", axis), "mxfp8_e4m3", axis) for z, axis in ((x, -1), (y, 0))]
        if name == "mxfp8_e4m3":
            assert p.quantisation_error == layer.relative_error(read[0] @ read[1], x.astype(np.float64) @ y)
        assert p.accumulation_error < 2**-20
        assert 2**-6 < p.quantisation_error < (2**-4 if name == "mxfp8_e4m3" else 2**-2)
        assert abs(p.total_error - p.quantisation_error) <= p.accumulation_error


@pytest.mark.parametrize("name", demo.ACCURACY_FORMATS)
def test_few_bits_cost_little_accuracy(name: str) -> None:
    """Less than two points with 8 bits, and less than three with 4."""
    data, net = trained()
    real = network.accuracy(net.activations(data.test_images)[-1], data.test_labels)
    scores = layer.scores(net, data.test_images, fp9.format(name), engine("fma_fp32"))
    assert network.accuracy(scores, data.test_labels) > real - (0.02 if fp9.format(name).bits == 8 else 0.03)


# --- its operations -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", hardware.UNITS, ids=lambda unit: unit.name)
def test_the_layer_s_operations_are_vectors_of_the_unit(unit: Fma | Cast) -> None:
    tensors, products = real_layer()
    made = vectors.from_inputs(unit, operations.of_layer(unit, tensors, products))
    assert len(made) > 4000


def test_a_chain_of_multiply_adds_ends_in_the_golden_dot_product() -> None:
    tensors, products = real_layer()
    unit = CATALOGUE["fma_fp32"]
    inputs = operations.of_layer(unit, tensors, products)
    results = evaluate(unit, inputs)["result"]
    depth = tensors.activations.shape[1]
    a, b = inputs["a"][:depth], inputs["b"][:depth]
    assert results[depth - 1] == fp9.dot(a, b, "e4m3", "e4m3", engine="fma_fp32")
    assert np.array_equal(inputs["c"][1:depth], results[: depth - 1])


def test_an_accumulator_gives_the_dot_products_of_the_multiply_add() -> None:
    tensors, products = real_layer()
    steps = evaluate(CATALOGUE["fma_dlfloat16"], operations.of_layer(CATALOGUE["fma_dlfloat16"], tensors, products))
    inputs = operations.of_layer(CATALOGUE["mac_dlfloat16"], tensors, products)
    whole = evaluate(CATALOGUE["mac_dlfloat16"], inputs)["result"]
    assert np.array_equal(whole[inputs["op"] != MacOp.HOLD], steps["result"])


def test_casts_use_every_target_and_rounding() -> None:
    unit = CATALOGUE["cast_fp32"]
    assert isinstance(unit, Cast)
    inputs = operations.of_layer(unit, *real_layer())
    chosen = set(zip(inputs["target"].tolist(), inputs["rounding"].tolist(), strict=True))
    assert len(chosen) == len(unit.targets) * len(unit.roundings)


_KINDS = (Cast, Dot, Quantiser)


_UNITS = [unit for unit in CATALOGUE.values() if isinstance(unit, _KINDS)]


@pytest.mark.parametrize("unit", each_kind(_UNITS), ids=lambda unit: unit.name)
def test_every_unit_that_casts_or_multiplies_has_as_many_operations_of_the_layer_as_asked(unit: Unit) -> None:
    columns = operations.of_unit(unit, real_layer()[0], 3000)
    assert {len(column) for column in columns.values()} == {len(columns[unit.inputs[0].name])}
    assert len(columns[unit.inputs[0].name]) >= 3000
    assert all(int(columns[port.name].max()) >> port.width == 0 for port in unit.inputs)
    lanes = unit.lane_names("x") if isinstance(unit, Cast | Quantiser) else ()
    assert all(len(np.unique(columns[name])) > 100 for name in lanes)


@pytest.mark.parametrize(("element", "scale", "block"), [("e4m3", "e8m0", "mxfp8_e4m3"), ("e2m1", "ue4m3", "nvfp4")])
def test_sums_of_blocks_are_those_of_the_layer_s_blocks(element: str, scale: str, block: str) -> None:
    tensors, _ = real_layer()
    unit = Dot("blocks", *[(fp9.format(element),)] * 2, engine("mx(G=4)"), scale=fp9.format(scale))
    inputs = operations.of_unit(unit, tensors, 1024)
    results = fp9.decode(evaluate(unit, inputs)["result"], "fp32")
    steps = tensors.activations.shape[1] // 4
    forward = results[: len(results) * 2 // 3].reshape(-1, steps)[:, -1]  # a backward sum has half as many steps
    factors = []
    for x, axis in ((tensors.activations, -1), (tensors.weights, 0)):
        whole = tensor_scale(x, block) if block_format(block).tensor else None
        values = dequantise(*quantise(x, block, axis, tensor_scale=whole), block, axis, tensor_scale=whole)
        factors.append(values / (1 if whole is None else float(whole)))
    sums = (factors[0] @ factors[1]).ravel()
    assert np.all(np.abs(sums[:, None] - forward).min(axis=0) <= 2**-20 * np.abs(sums).max())


def test_a_quantiser_is_given_rows_of_the_factors() -> None:
    tensors, _ = real_layer()
    block = block_format("mxfp4")
    unit = Quantiser("q", "fp32", block, block.rules, stages=1, lanes=4)  # type: ignore[arg-type]
    inputs = operations.of_unit(unit, tensors, 1000)
    found = np.stack([inputs[name] for name in unit.lane_names("x")], axis=1).reshape(-1, block.length)
    rows = [x.reshape(-1, block.length) for d in layer.DIRECTIONS for x in (layer.factors(d, tensors)[0],)]
    rows += [np.ascontiguousarray(layer.factors(d, tensors)[1].T).reshape(-1, block.length) for d in layer.DIRECTIONS]
    known = {row.tobytes() for part in rows for row in part}
    assert all(row.astype(np.uint32).tobytes() in known for row in found)


def test_a_quantiser_with_a_scale_of_the_array_is_given_that_of_the_factor() -> None:
    """Then no scale of a block is NaN, and the largest block of a factor has the largest scale."""
    tensors, _ = real_layer()
    block = block_format("nvfp4")
    unit = Quantiser("q", "fp32", block, ("rne",))  # type: ignore[arg-type]
    inputs = operations.of_unit(unit, tensors, 2000)
    wholes = {float(tensor_scale(x, block)) for d in layer.DIRECTIONS for x in layer.factors(d, tensors)}
    assert {float(t) for t in fp9.decode(np.unique(inputs["tensor"]), "fp32")} == wholes
    assert evaluate(unit, inputs)["scale"].max() <= block.scale.max_code


def test_a_unit_of_no_format_of_blocks_is_named() -> None:
    odd = Dot("odd", *[(fp9.format("e5m2"),)] * 2, engine("mx(G=4)"), scale=fp9.format("ue4m3"))
    with pytest.raises(ValueError, match="odd: no format of blocks has elements of e5m2"):
        operations.of_unit(odd, real_layer()[0], 10)


def test_a_unit_that_cannot_do_the_layer_is_refused() -> None:
    with pytest.raises(ValueError, match="give a cast, a dot, an fma or a mac"):
        operations.of_layer(CATALOGUE["decoder_hif8"], *real_layer())
    fp16 = Fma("odd", (fp9.format("e4m3"),), (fp9.format("e4m3"),), engine("fma_fp16"))
    with pytest.raises(ValueError, match="none of the products"):
        operations.of_layer(fp16, *real_layer())


def test_one_expected_result_is_broken() -> None:
    unit = CATALOGUE[hardware.BROKEN_UNIT]
    good = vectors.from_inputs(unit, operations.of_layer(unit, *real_layer()))
    bad = hardware.broken(good, 50)
    differs = np.flatnonzero(bad.expected["result"] != good.expected["result"][-len(bad) :])
    assert differs.tolist() == [50]


# --- the line ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_unit_goes_down_the_line_and_its_broken_vector_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unmeasured(*_: object, **__: object) -> None:
        raise MissingTool("area is measured elsewhere")

    monkeypatch.setattr(hardware.synth, "synthesise_unit", unmeasured)
    monkeypatch.setattr(hardware, "measure", unmeasured)
    monkeypatch.setattr(hardware, "CORNER_OPERATIONS", 300)
    monkeypatch.setattr(hardware, "RANDOM_OPERATIONS", 50)
    monkeypatch.setattr(hardware, "UNITS", (CATALOGUE[hardware.BROKEN_UNIT],))
    monkeypatch.setattr(hardware, "regress_once", functools.partial(regress_once, folder=tmp_path / "kept"))
    line = hardware.Line(tmp_path, 0, lambda _: None)
    line.prepare(*real_layer())
    built = line.measure()
    record = built.units[hardware.BROKEN_UNIT]
    assert record["operations"] == 300 + 50 + record["of_layer"]
    assert set(record["simulation"]) == {b["simulator"] for b in built.broken} >= {"verilator"}
    for run in record["simulation"].values():
        assert (run["checked"], run["mismatches"], run["violations"]) == (record["operations"], 0, [])
        assert run["kept"] == ""
    for b in built.broken:
        assert b["caught"]
        assert re.search(
            r"operation 50: a = 0x\w\w \(.+\), .*result expected 0x\w{4} \(.+\), got 0x\w{4} \(.+\)", b["report"][0]
        )
        if b["simulator"] == hardware.DRAWN_BY:
            the_waveform_shows_the_fault(b["waves"], b["report"][0])


def the_waveform_shows_the_fault(waves: dict[str, Any], said: str) -> None:
    """The dump says of the operation's ports what the bench said, and expected is another result."""
    assert Path(waves["file"]).read_text().startswith("$date")
    place = waves["index"] - waves["first"]
    shown = {row["name"]: row["values"][place] for row in waves["rows"]}
    for name, value in re.findall(r"(\w+) = 0x(\w+)", said):
        assert shown[name] == value
    expected, got = re.findall(r"result expected 0x(\w+) .*?got 0x(\w+)", said)[0]
    assert (shown["result"], waves["expected"]["result"]) == (got, expected)
    drawn = ElementTree.fromstring(picture(waves))
    texts = [text.text for text in drawn.iter("text")]
    assert {"operation", "50", "result expected", got, expected} <= set(texts)


# --- what is missing --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_missing_tool_leaves_its_part_out_and_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingTool("the abacus is missing; install it with: apt install abacus")

    monkeypatch.setattr(hardware, "regress_once", missing)
    monkeypatch.setattr(hardware.synth, "synthesise_unit", missing)
    monkeypatch.setattr(hardware, "measure", missing)
    monkeypatch.setattr(hardware, "RANDOM_OPERATIONS", 10)
    monkeypatch.setattr(hardware, "UNITS", hardware.UNITS[:1])
    steps: list[str] = []
    line = hardware.Line(tmp_path, 0, steps.append)
    line.prepare(*real_layer())
    built = line.measure()
    assert built.skipped == ["the abacus is missing; install it with: apt install abacus"]
    assert built.units["fma_fp32"]["simulation"] == {}
    assert not built.ratios and not built.recipes
    assert sum(step.startswith("Skipped") for step in steps) == 2 + 1 + 2 * len(hardware.PAIRS) + len(hardware.SPENDERS)
    assert vectors.check(tmp_path / "vectors" / "fma_fp32.vec").passed


# --- the report -------------------------------------------------------------------------------------------------------


WAVES = {
    "file": "build/waves/fma_fp32_broken.vcd",
    "first": 49,
    "index": 50,
    "rows": [{"name": "a", "values": ["3f", "3f"]}, {"name": "result", "values": ["3f800000", "xxxxxxxx"]}],
    "expected": {"result": "3f800001"},
}


def summary() -> dict[str, Any]:
    """A summary with the real network and layer, and invented hardware figures."""
    data, net = trained()
    tensors, products = real_layer()
    estimate = {"area_um2": 42000.0, "logic_um2": 40000.0, "flip_flop_um2": 2000.0, "nand2": 1750.0}
    estimates = [estimate | {"mapping": m, "flip_flops": 20, "delay_ns": 12.3} for m in MAPPED]
    run = {"checked": 9000, "mismatches": 0, "violations": [], "seconds": 1.0, "kept": ""}
    unit = {
        "unit": "fma_fp32",
        "verilog": "build/rtl/fma_fp32.v",
        "lines": 1200,
        "vectors": "build/vectors/fma_fp32.vec",
        "operations": 9000,
        "of_layer": 4096,
        "simulation": {"icarus": run, "verilator": dict(run)},
        "synthesis": {"estimates": estimates},
    }
    return {
        "schema": report.SCHEMA,
        "fp9": fp9.__version__,
        "seed": 0,
        "network": demo.network_record(data),
        "accuracy": [{"format": "fp32", "engine": "float32", "accuracy": 0.97}, *demo.accuracies(net, data)],
        "tensors": [
            demo.tensor_record(name, getattr(tensors, name)) for name in ("activations", "weights", "gradient")
        ],
        "layer": [demo.product_record(p) for p in products],
        "units": [unit],
        "ratios": [
            {
                "numerator": "fma_fp32_ocp",
                "denominator": "fma_fp32_e5m2",
                "result": "fp32",
                "subnormals": "kept",
                "library": "osu018",
                "mapping": "area-optimised",
                "area": 1.034,
                "delay": 1.0,
            }
        ],
        "recipes": [
            row
            | {
                "synthesis": {"estimates": estimates},
                "energy": {"mapping": "area-optimised", "total_fj": 45_600.0, "note": "glitches counted"},
            }
            for row in table()
        ],
        "broken": [
            {
                "unit": "fma_fp32",
                "simulator": "icarus",
                "broken": 50,
                "caught": True,
                "report": ["vector 50: <a>"],
                "waves": WAVES,
            }
        ],
        "skipped": [],
        "folder": "build",
        "seconds": 70.0,
    }


class _Page(HTMLParser):
    """Collects the tags of a page, and what it would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [str(v) for k, v in attrs if k in ("src", "href") and not str(v).startswith("#")]


@pytest.mark.slow
def test_the_page_stands_alone_and_shows_every_chart() -> None:
    page = _Page()
    text = report.html(summary())
    page.feed(text)
    assert page.tags.count("svg") == 2 * (5 + 1)  # each chart, and the waveform, for a wide and for a narrow page
    links = {"rtl/fma_fp32.v", "vectors/fma_fp32.vec", "waves/fma_fp32_broken.vcd", "report.json"}
    assert {loaded for loaded in page.loads if not loaded.startswith("#")} == links
    assert page.tags.count("table") == page.tags.count("thead") == 6
    assert "vector 50: &lt;a&gt;" in text
    assert "1.034" in text and "glitches counted" in text
    assert all(row["recipe"] in text and f"{row['conversion']:.4f}" in text for row in table())


@pytest.mark.slow
def test_nothing_of_the_page_is_cut_off(tmp_path: Path) -> None:
    for width, (measured, cut) in overflowing(report.html(summary()), tmp_path).items():
        assert measured > 30, width
        assert cut == [], width


@pytest.mark.slow
def test_an_error_of_zero_is_drawn() -> None:
    """Hollow, above a tick "0": the products of the layer have one, and without one there is no such tick."""
    made = summary()
    assert any(row["accumulation_error"] == 0 for row in made["layer"])
    hollow = charts.errors(made).count("fill: none")
    for row in made["layer"]:
        row["accumulation_error"] = 1e-9
    assert hollow > charts.errors(made).count("fill: none")


def test_formats_of_the_comparison_differ_in_accuracy() -> None:
    data, net = trained()
    found = {row["accuracy"] for row in demo.accuracies(net, data) if row["engine"] == "fma_fp32"}
    assert len(found) >= len(demo.ACCURACY_FORMATS) - 1


def test_recipes_of_the_picture_are_computed_by_units_that_the_job_measures() -> None:
    known = {unit.name for unit in (*hardware.UNITS, *(unit for pair in hardware.PAIRS for unit in pair))}
    for row in ROWS:
        computing = recipe(row.recipe).units()
        assert row.unit in known
        assert all(row.unit in computing[product.value] for product in Product)


@pytest.mark.slow
def test_the_same_summary_gives_the_same_page() -> None:
    assert report.html(summary()) == report.html(summary())


@pytest.mark.slow
def test_a_report_is_read_back(tmp_path: Path) -> None:
    report.write(summary(), tmp_path / "new")
    assert report.read(tmp_path / "new" / "report.json") == json.loads(json.dumps(summary()))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": 99}'])
def test_a_file_that_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=re.escape(str(file))):
        report.read(file)


def printed(made: dict[str, Any], columns: int = 140) -> str:
    """What a terminal shows."""
    console = Console(width=columns, file=io.StringIO(), record=True, force_terminal=True)
    with pytest.MonkeyPatch.context() as patch, main.make_context("fp9", ["formats"]):
        patch.setattr(output, "console", lambda stderr=False: console)
        output.show({}, False, *report.summary_tables(made))
    return console.export_text()


@pytest.mark.parametrize("columns", [40, 80])
def test_no_figure_is_cut_on_a_narrow_terminal(columns: int) -> None:
    text = printed(summary(), columns)
    assert "\u2026" not in text
    assert all(figure in text for figure in ("97.0", "9,000", "42,000", "12.3", "1.034", "fma_dlfloat16"))


def test_the_table_says_what_was_checked_and_what_it_takes() -> None:
    text = printed(summary())
    for words in ("97.0 %", "hif8 x hif8", "9,000", "42,000 @ 12.3", "45.6", "1.034", "caught", "report.html"):
        assert words in text


@pytest.mark.slow
def test_what_comes_from_the_cache_is_said_with_its_digest() -> None:
    kept = summary()
    kept["units"][0]["simulation"]["icarus"] |= {"kept": "0123456789abcdef"}
    assert "nothing changed since they passed on icarus: fma_fp32 0123456789ab" in " ".join(printed(kept).split())
    assert re.search(r"9,000, 0 \(from the cache, digest\s0123456789ab\)", report.html(kept))
    assert "from the cache" not in (printed(summary()) + report.html(summary())).lower()


@pytest.mark.slow
def test_what_is_skipped_stands_in_page_and_table() -> None:
    left_out = summary()
    left_out["units"][0] |= {"simulation": {}, "synthesis": None}
    left_out |= {"ratios": [], "recipes": [], "broken": [], "skipped": ["the abacus is missing"]}
    assert "Skipped: the abacus is missing" in printed(left_out)
    assert "the abacus is missing" in report.html(left_out)


@pytest.mark.parametrize("change", ["mismatches", "checked", "violations", "broken", "nothing"])
def test_a_run_that_disagrees_or_checks_nothing_does_not_pass(change: str) -> None:
    assert report.passed(summary())
    changed = copy.deepcopy(summary())
    run = changed["units"][0]["simulation"]["icarus"]
    match change:
        case "mismatches":
            run["mismatches"] = 1
        case "checked":
            run["checked"] = 8999
        case "violations":
            run["violations"] = ["a result was lost"]
        case "broken":
            changed["broken"][0]["caught"] = False
        case _:
            changed["units"][0]["simulation"] = {}
    assert not report.passed(changed)
