"""The explorer answers as the model does, and its page works in a browser: by keyboard, narrow, in the dark."""

from __future__ import annotations

import json
import math
import shutil
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.browser import answers_of, overflowing
from tests.support.rosters import EVERY_FORMAT

import fp9
from fp9 import blocks
from fp9.cmodel import webassembly
from fp9.engines import ENGINES
from fp9.formats import TABLE_BITS, every_format
from fp9.studies.explorer import page as explorer

server = pytest.importorskip("fp9.studies.explorer.server", reason="the extra fp9[explore] is not installed")

# --- the static page -------------------------------------------------------------------------------------------------


def test_the_module_is_compiled_from_the_c_model_of_today() -> None:
    """If it is not, run `python -m fp9.cmodel.webassembly`, which needs Clang and its linker, or Zig."""
    assert explorer.MODULE.read_bytes().endswith(webassembly.digest(webassembly.source()).encode())


def test_the_page_is_one_small_file() -> None:
    text = explorer.page()
    assert len(text.encode()) <= 300_000
    assert "src=" not in text and "data-file" not in text


@pytest.mark.parametrize("fmt", [fmt for fmt in EVERY_FORMAT if fmt.bits <= 9], ids=str)
def test_fields_fill_every_code(fmt: fp9.Format) -> None:
    for code in range(1 << fmt.bits):
        assert sum(explorer.widths(fmt, code).values()) == fmt.bits


def test_hif8_has_the_fields_of_its_paper() -> None:
    """arXiv 2409.16626, Table 2: 2^15 is dot 11, exponent 0 111, one fraction bit; 2^-16 is dot 0000 and 3 bits."""
    fields = {code: explorer.widths(fp9.format("hif8"), code) for code in (0x6E, 0x07, 0x08)}
    assert fields[0x6E] == {"sign": 1, "dot": 2, "exponent": 4, "fraction": 1}
    assert fields[0x07] == {"sign": 1, "dot": 4, "exponent": 3}
    assert fields[0x08] == {"sign": 1, "dot": 4, "exponent": 0, "fraction": 3}


def test_precision_is_the_spacing_of_the_numbers() -> None:
    for fmt in every_format():
        if fmt.bits > 8 or fmt.precision == 1:
            continue
        values = np.sort(fmt.table[fmt.ordered_magnitudes()][1:])
        for exponent, bits in explorer.points(fmt):
            inside = values[(values >= 2.0**exponent) & (values < 2.0 ** (exponent + 1))]
            if inside.size > 1:
                assert bits == exponent - round(math.log2(np.diff(inside).min())) + 1


# --- the page in Chromium, without a server --------------------------------------------------------------------------

OPERANDS = [fmt for fmt in every_format() if fmt.bits <= 16]

_DECODE = """
return given.map((name) => {
  const number = model.byName.get(name), codes = 2 ** model.formats[number].bits;
  return Array.from({ length: codes }, (_, code) => model.text(model.decode(code, number)));
});
"""


@pytest.mark.slow
def test_every_code_of_every_format_is_the_number_of_the_model(answers: dict[str, Any]) -> None:
    for fmt, texts in zip(OPERANDS, answers["decode"], strict=True):
        codes = np.arange(1 << fmt.bits, dtype=fmt.dtype)
        found, expected = np.array([float(text) for text in texts]), fp9.decode(codes, fmt).astype(float)
        assert np.array_equal(found, expected, equal_nan=True), fmt.name
        assert np.array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0])), fmt.name


_CASTS = """
return given.map(([x, rounding, overflow, random]) => model.number({ x, rounding, overflow, random }).formats);
"""


def _choices() -> list[tuple[str, str, str, str]]:
    """Texts of numbers, roundings, overflow policies and random bits."""
    texts = ["0.3", "-448.01", "1e9", "464", "0", "-0", "inf", "-inf", "nan", "3e-7", "-1.7e-5", "61440", "2e-40"]
    modes = ["own", *(mode.value for mode in fp9.Rounding)]
    policies = [policy.value for policy in fp9.Overflow]
    chosen = [(text, mode, "saturate", "26214") for text in texts for mode in modes]
    return chosen + [(text, "rne", policy, "0") for text in texts for policy in policies]


@pytest.mark.slow
def test_casts_are_those_of_encode(answers: dict[str, Any]) -> None:
    for choice, casts in zip(_choices(), answers["casts"], strict=True):
        for cast in casts:
            _is_cast_of_the_model(choice, cast)


def _is_cast_of_the_model(choice: tuple[str, str, str, str], cast: dict[str, Any]) -> None:
    text, rounding, overflow, random = choice
    fmt = fp9.format(cast["name"])
    mode = None if rounding == "own" or not fmt.offers(fp9.Rounding(rounding)) else rounding
    if fmt.bits > TABLE_BITS:
        return
    applied = fp9.Rounding(cast["rounding"])
    bits = {"random_bits": np.array([int(random)]), "random_width": 16} if applied.needs_bits else {}
    x = np.array([float(text)], dtype=np.float32 if applied.reads_source else np.float64)
    overflow = overflow if fmt.has_nan or fmt.has_inf else "saturate"
    code, flags = fp9.encode(x, fmt, mode, overflow, nan_to_zero=not fmt.has_nan, flags=True, **bits)
    assert int(cast["code"], 16) == code[0], (choice, fmt.name)
    assert set(cast["flags"]) == {flag.name.lower() for flag in fp9.Flags if flag & int(flags[0])}, (choice, fmt.name)
    if cast["decision"] and cast["decision"]["up"] is not None:
        side = "above" if cast["decision"]["up"] else "below"
        assert float(cast["decision"][side]) == abs(float(cast["value"]))
    if applied is fp9.Rounding.SR and fmt.signed and cast["decision"] and not cast["decision"]["beyond"]:
        assert cast["decision"]["up"] in (None, cast["decision"]["place"] >= cast["decision"]["threshold"])


@pytest.mark.slow
def test_hybrid_takes_its_threshold_from_the_number_as_fp32(answers: dict[str, Any]) -> None:
    (casts,) = answers["hybrid"]
    cast = next(c for c in casts if c["name"] == "hif8")
    assert (cast["value"], cast["decision"]["place"], cast["decision"]["threshold"]) == ("20", 0.0, 0.0)


_SUMS = "return given.map((choice) => model.sum(choice));"
_VECTORS = [
    ("448 1 -0.5 0.0078125 3", "1 2 1 1 0.25", "0.5"),
    (" ".join(str((7 * i) % 13 - 6) for i in range(32)), " ".join(str(2.0 ** (i % 9 - 5)) for i in range(32)), "-3"),
    ("1 -1 1", "6 6 0.5", "0"),
]


def _operands_of(name: str) -> tuple[str, str]:
    return ("e4m3", "e5m2") if fp9.engine(name).step.group is None else ("e2m1", "e2m3")


def _sums() -> list[dict[str, str]]:
    return [
        {"a": a, "b": b, "c": c, "engine": name, "format_a": _operands_of(name)[0], "format_b": _operands_of(name)[1]}
        for name in ENGINES
        for a, b, c in _VECTORS
    ]


@pytest.mark.slow
def test_sums_are_those_of_dot(answers: dict[str, Any]) -> None:
    for choice, found in zip(_sums(), answers["sums"], strict=True):
        _is_sum_of_the_model(choice, found)


def _is_sum_of_the_model(choice: dict[str, str], found: dict[str, Any]) -> None:
    name = choice["engine"]
    x, y = (fp9.array([float(v) for v in choice[o].split()], choice[f"format_{o}"]) for o in "ab")
    start = fp9.array(float(choice["c"]), fp9.engine(name).addend_format)
    ours = fp9.Array(fp9.dot(x, y, engine=name, c=start), fp9.engine(name).output)
    assert float(found["result"]) == float(ours) == float(found["steps"][-1]["result"]), choice
    exact = sum((Fraction(float(p)) * Fraction(float(q)) for p, q in zip(x, y, strict=True)), Fraction(choice["c"]))
    assert float(found["exact"]) == float(exact)
    assert {other["engine"]: other["result"] for other in found["engines"]}[name] == found["result"]


@pytest.mark.slow
def test_what_a_window_drops_is_shown(answers: dict[str, Any]) -> None:
    """Hopper keeps 13 bits below the largest product (arXiv 2511.10909): 2^-7 is lost beside 448."""
    (found,) = answers["window"]
    (step,) = found["steps"]
    assert (step["top"], step["last"]) == (8, -5)
    assert [(term["kept"], term["lost"]) for term in step["terms"][:2]] == [("448", ""), ("0", "0.0078125")]


_BLOCKS = "return given.map((choice) => model.block(choice));"


def _block_choices() -> list[dict[str, str]]:
    """Numbers of up to three blocks, for every block format, scale rule and choice of a tensor scale."""
    chosen = []
    for block in fp9.block_formats():
        random = np.random.default_rng(block.length)
        count = min(2 * block.length + 3, explorer.MOST_NUMBERS)
        near = random.normal(size=count) * 10.0 ** np.repeat([0, -3, 5], block.length)[:count]
        far = random.normal(size=count) * 2.0 ** random.integers(-140, 127, count)
        few = [0.0, -0.0, 1e-45, -3.3]
        with_infinity = [*near[: block.length], np.inf, *near[block.length + 1 :]]
        given = [near, far, few, [0.0] * 3, with_infinity, [1.0, np.nan], [3.4e38, -1e39]]
        chosen += [
            {"block": block.name, "rule": rule, "numbers": ", ".join(map(repr, map(float, x))), "tensor": tensor}
            for rule in block.rules
            for x in given
            for tensor in (["own", "none"] if block.tensor else ["own"])
        ]
    return chosen


@pytest.mark.slow
def test_blocks_are_those_of_quantise(answers: dict[str, Any]) -> None:
    for choice, found in zip(_block_choices(), answers["blocks"], strict=True):
        _is_block_of_the_model(choice, found)


def _is_block_of_the_model(choice: dict[str, str], found: dict[str, Any]) -> None:
    block, rule = blocks.block_format(choice["block"]), choice["rule"]
    with np.errstate(over="ignore"):
        x = np.float32([float(text) for text in choice["numbers"].split(",")])
    own = block.tensor and choice["tensor"] == "own"
    scaled = {"tensor_scale": blocks.tensor_scale(x, block, rule)} if own else {}
    if block.tensor:
        assert int(found["tensor"]["code"], 16) == np.float32(scaled.get("tensor_scale", 1)).view(np.uint32), choice
    codes = blocks.quantise(x, block, rule=rule, **scaled)
    decoded = blocks.dequantise(*codes, block, **scaled)
    shown = [e for each in found["blocks"] for e in each["elements"]]
    assert [int(each["scale"]["all"], 16) for each in found["blocks"]] == codes.scales.tolist(), choice
    assert [int(e["code"], 16) for e in shown] == codes.elements.tolist(), choice
    assert np.array_equal([float(e["value"]) for e in shown], decoded, equal_nan=True), choice
    assert np.array_equal([float(e["x"]) for e in shown], x, equal_nan=True)
    exact = [e["off"] for e in shown if e["off"] is not None]
    assert np.allclose(exact, (decoded - x)[np.isfinite(decoded) & np.isfinite(x)], rtol=1e-9, atol=0)
    rest = {other["name"]: other["error"] for other in found["formats"]}
    assert list(rest) == [other.name for other in fp9.block_formats()] and rest[block.name] == found["error"]
    if found["error"]:
        wide = x.astype(np.float64)
        assert found["error"] == pytest.approx(np.sqrt(((decoded - wide) ** 2).sum() / (wide**2).sum()))


@pytest.mark.slow
def test_random_numbers_repeat_by_seed(answers: dict[str, Any]) -> None:
    first, again, other = answers["random"]
    assert first == again != other
    assert abs(np.mean(first + other)) < 0.1 and np.std(first + other) == pytest.approx(1, abs=0.1)


_REFUSED = """
return given.map(([what, choice]) => {
  try { model[what](choice); return ""; } catch (error) { return error.message; }
});
"""


_E4M3 = {"format_a": "e4m3", "format_b": "e4m3"}
_WRONG = [
    ("number", {"x": "three"}),
    ("number", {"x": "1e99999"}),
    ("number", {"x": "1", "random": "70000", "rounding": "sr"}),
    ("sum", _E4M3 | {"a": "1 2", "b": "1"}),
    ("sum", _E4M3 | {"a": "1", "b": "1", "engine": "hoper"}),
    ("sum", _E4M3 | {"a": "1 " * 99, "b": "1 " * 99}),
    ("sum", _E4M3 | {"a": "1", "b": "1", "format_a": "fp32"}),
    ("block", {"block": "mxfp5", "numbers": "1"}),
    ("block", {"block": "hif4", "numbers": "1", "rule": "floor"}),
    ("block", {"block": "hif4", "numbers": "1 one"}),
    ("block", {"block": "hif4", "numbers": " "}),
    ("block", {"block": "hif4", "numbers": "1 " * (explorer.MOST_NUMBERS + 1)}),
]


@pytest.mark.slow
def test_wrong_input_is_refused_in_one_sentence(answers: dict[str, Any]) -> None:
    for choice, sentence in zip(_WRONG, answers["refused"], strict=True):
        assert " give " in sentence, choice


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The answers of the page in Chromium to everything that these tests ask."""
    window = _E4M3 | {"a": "448 0.0078125", "b": "1 1", "engine": "hopper"}
    scripts = {
        "decode": (_DECODE, [fmt.name for fmt in OPERANDS]),
        "casts": (_CASTS, _choices()),
        "hybrid": (_CASTS, [("16", "hybrid", "saturate", "0")]),
        "sums": (_SUMS, _sums()),
        "window": (_SUMS, [window]),
        "blocks": (_BLOCKS, _block_choices()),
        "random": ("return given.map((seed) => randomNumbers(seed, 500));", [1, 1, 2]),
        "refused": (_REFUSED, _WRONG),
    }
    return answers_of(explorer.page(), scripts, tmp_path_factory.mktemp("page"))


# --- the server ------------------------------------------------------------------------------------------------------


SYNTHESIS = """
import json, sys
for line in sys.stdin:
    area = 1000 + len(json.loads(line)) + json.loads(line).count("stages = 1")
    figures = [{"mapping": m, "area_um2": area, "nand2": 1, "flip_flops": 0, "delay_ns": 1} for m in "AB"]
    print(json.dumps({"state": "measured", "library": "none", "note": "invented", "estimates": figures}), flush=True)
"""
"""In place of the process that measures, which tests/rtl/explorer holds to synthesis: the page waits for no gates."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    areas = pytest.importorskip("fp9_rtl.explorer.areas", reason="the extra fp9[rtl] is not installed")
    with pytest.MonkeyPatch.context() as patch, server.serve(0) as serving:
        patch.setattr(areas, "WORKER", (sys.executable, "-S", "-c", SYNTHESIS))
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()
        thread.join()


def test_the_server_gives_the_page_and_answers_about_units(address: str) -> None:
    with urllib.request.urlopen(address) as answer:
        assert answer.read().decode() == explorer.page()
    with urllib.request.urlopen(f"{address}api/") as answer:
        assert json.load(answer) == ["area", "sheet"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{address}api/sheet?" + urllib.parse.urlencode({"unit": "fma_fp32_ocpp"}))
    assert refused.value.code == 400 and "did you mean" in json.load(refused.value)["error"]


def test_nothing_of_the_page_is_cut_off(tmp_path: Path) -> None:
    for width, (measured, cut) in overflowing(explorer.page(), tmp_path, ready=True).items():
        assert measured > 10, width
        assert cut == [], width


# --- with a server, by keyboard --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


_TIME = """
(() => {
  const begun = performance.now();
  for (let i = 0; i < 20; ++i) {
    model.number({ x: "0.3" });
    model.sum({ a: "448 1 0.5", b: "1 1 1", format_a: "e4m3", format_b: "e4m3" });
    model.block({ block: "hif4", numbers: randomNumbers(i, 64).join(" ") });
  }
  return (performance.now() - begun) / 20;
})()
"""


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_the_page_shows_links_and_steps_by_keyboard(address: str, browser: Any, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address + "#x=20&format=e4m3&engine=ada&unit=decoder_hif8")
    page.wait_for_selector("body[data-ready]")
    assert page.input_value("#x") == "20" and "ada gives" in page.inner_text("#total")
    assert page.locator("#codes tr[aria-current=true]").get_attribute("data-format") == "e4m3"
    page.focus("#x")
    page.keyboard.press("ArrowUp")
    page.wait_for_function("document.getElementById('x').value === '22'")
    page.wait_for_selector("#codes tr[data-format=e4m3] >> text=0x5B")
    page.locator("tr[data-format=hif8] button").press("Enter")
    page.wait_for_function("document.querySelector('#decision p').textContent.startsWith('hif8:')")
    assert "x=22" in page.url and "engine=ada" in page.url and "format" not in page.url  # hif8 is where one begins
    assert 0 < page.evaluate(_TIME) < 50, "milliseconds for a number, a sum and a block"
    _a_table_sorts(page)
    _a_block_changes(page)
    _a_unit_changes(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert _unnamed(page) == []
    assert complaints == []
    _what_cannot_be_is_said(page)
    page.close()


def _a_table_sorts(page: Any) -> None:
    page.locator("th:has-text('relative error') button").first.press("Enter")
    errors = [text for text in page.locator("#codes td:nth-child(5)").all_inner_texts() if text]
    assert errors == sorted(errors, key=lambda text: float(text.removesuffix(" %"))) and len(set(errors)) > 5
    assert page.locator("th[aria-sort=ascending]").count() == 1


def _a_block_changes(page: Any) -> None:
    """The catalogue gives the choices; pasted numbers change the address and the tables; random ones fill a block."""
    assert page.locator("#block option").all_inner_texts() == [block.name for block in fp9.block_formats()]
    page.select_option("#block", "mxint8")
    assert page.locator("#rule option").all_inner_texts() == list(blocks.block_format("mxint8").rules)
    assert page.locator("#elements tr").count() == 32 and not page.is_visible("#tensor")
    page.select_option("#rule", "ceil")
    page.fill("#numbers", "1 -0.5\n0.3")
    assert page.locator("#elements td:nth-child(2)").all_inner_texts() == ["1", "-0.5", "0.3"]
    assert "block=mxint8&rule=ceil" in page.url and "3 of 32 numbers" in page.inner_text("#scales")
    page.fill("#numbers", "")
    assert "0 numbers given" in page.inner_text("#problem-block")
    page.locator("#draw").press("Enter")
    page.locator("#blocks button:has-text('hif4')").press("Enter")
    assert page.locator("#elements tr").count() == 64 and "group of 4: " in page.inner_text("#scales")
    assert "numbers" not in page.url and "seed=2" in page.url and page.inner_text("#problem-block") == ""


def _a_unit_changes(page: Any) -> None:
    """A field that is changed changes address, sheet and figures; a link with it opens the same."""
    page.wait_for_selector("#field-stages")
    page.fill("#field-stages", "1")
    page.locator("#field-stages").press("Enter")
    page.wait_for_function("document.getElementById('command').textContent === 'fp9 rtl decoder_hif8 --set stages=1'")
    assert "unit=decoder_hif8&set=stages%3D1" in page.url
    assert "in_valid" in page.text_content("#sheet") and page.locator("#timing svg").count() == 1
    page.wait_for_selector("#estimates tr:nth-child(4)")
    rows = page.locator("#estimates tr[data-mapping=A] td:nth-child(3)").all_inner_texts()
    assert len(set(rows)) == len(rows) == 2


def _what_cannot_be_is_said(page: Any) -> None:
    page.fill("#field-stages", "99")
    page.locator("#field-stages").press("Enter")
    page.wait_for_function("document.getElementById('problem-sheet').textContent.includes('99 stages given')")
    page.locator("#usual").press("Enter")
    page.wait_for_function("document.getElementById('field-stages').value === '0'")
    assert page.text_content("#problem-sheet") == ""


def _unnamed(page: Any) -> list[str]:
    """Controls and pictures that a screen reader would have no name for."""
    return page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, progress, svg[role=img]")].filter((e) =>
             !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute("aria-label"))
             .map((e) => e.outerHTML)"""
    )
