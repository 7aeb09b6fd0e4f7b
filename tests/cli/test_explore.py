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
from typing import Any

import numpy as np
import pytest
from tests.support.rosters import EVERY_FORMAT

import fp9
from fp9.engines import ENGINES
from fp9.studies.explorer import numbers, sums

server = pytest.importorskip("fp9.studies.explorer.server", reason="the extra fp9[explore] is not installed")

# --- what it says ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", [fmt for fmt in EVERY_FORMAT if fmt.bits <= 9], ids=str)
def test_fields_of_every_code_are_its_bits_from_the_left(fmt: fp9.Format) -> None:
    for code in range(1 << fmt.bits):
        assert "".join(field.bits for field in numbers.split(code, fmt)) == f"{code:0{fmt.bits}b}"


def test_hif8_has_the_fields_of_its_paper() -> None:
    """arXiv 2409.16626, Table 2: 2^15 is dot 11, exponent 0 111, one fraction bit; 2^-16 is dot 0000 and 3 bits."""
    hif8 = fp9.format("hif8")
    fields = {code: [(f.name, f.bits) for f in numbers.split(code, hif8)] for code in (0x6E, 0x07, 0x08)}
    assert fields[0x6E] == [("sign", "0"), ("dot", "11"), ("exponent", "0111"), ("fraction", "0")]
    assert fields[0x07] == [("sign", "0"), ("dot", "0000"), ("exponent", "111")]
    assert fields[0x08] == [("sign", "0"), ("dot", "0001"), ("fraction", "000")]


@pytest.mark.parametrize("rounding", ["own", "rne", "rna", "rtz", "rup", "rdn", "rto"])
@pytest.mark.parametrize("text", ["0.3", "-448.01", "1e9", "464", "0", "inf", "3e-7"])
def test_casts_are_those_of_encode(text: str, rounding: str) -> None:
    """Another text of the model: kernels here, exact fractions there."""
    for cast in numbers.record(text, rounding)["formats"]:
        fmt = fp9.format(cast["name"])
        if fmt.bits > 16:
            continue
        code, flags = fp9.encode(
            [float(text)], fmt, None if rounding == "own" else rounding, nan_to_zero=not fmt.has_nan, flags=True
        )
        assert int(cast["code"], 16) == code[0], fmt.name
        assert set(cast["flags"]) == {flag.name.lower() for flag in fp9.Flags if flag & int(flags[0])}
        if cast["decision"] and cast["decision"]["up"] is not None:
            side = "above" if cast["decision"]["up"] else "below"
            assert float(cast["decision"][side]) == abs(float(cast["value"]))


def test_hybrid_takes_its_threshold_from_the_number_as_fp32() -> None:
    cast = next(c for c in numbers.record("16", "hybrid")["formats"] if c["name"] == "hif8")
    assert (cast["value"], cast["decision"]["place"], cast["decision"]["threshold"]) == ("20", 0.0, 0.0)


def test_stochastic_rounding_goes_up_from_the_threshold() -> None:
    for random in (0, 26_213, 26_214, 26_215, 65_535):
        cast = next(c for c in numbers.record("0.3", "sr", random=random)["formats"] if c["name"] == "e4m3")
        assert cast["decision"]["up"] == (cast["decision"]["place"] >= cast["decision"]["threshold"])


def test_precision_is_the_spacing_of_the_numbers() -> None:
    for curve in numbers.precision():
        fmt = fp9.format(curve["name"])
        if fmt.bits > 8 or fmt.precision == 1:
            continue
        values = np.sort(fmt.table[fmt.ordered_magnitudes()][1:])
        for exponent, bits in curve["points"]:
            inside = values[(values >= 2.0**exponent) & (values < 2.0 ** (exponent + 1))]
            if inside.size > 1:
                assert bits == exponent - round(math.log2(np.diff(inside).min())) + 1


@pytest.mark.parametrize("name", ENGINES)
def test_sums_are_those_of_dot(name: str) -> None:
    a, b, c = "448 1 -0.5 0.0078125 3", "1 2 1 1 0.25", "0.5"
    formats = ("e4m3", "e5m2") if fp9.engine(name).step.group is None else ("e2m1", "e2m3")
    found = sums.record(a, b, *formats, name, c)
    x, y = (fp9.array([float(v) for v in t.split()], fmt) for t, fmt in zip((a, b), formats, strict=True))
    start = fp9.array(0.5, fp9.engine(name).addend_format)
    ours = fp9.Array(fp9.dot(x, y, engine=name, c=start), fp9.engine(name).output)
    assert float(found["result"]) == float(ours) == float(found["steps"][-1]["result"])
    exact = sum((Fraction(float(p)) * Fraction(float(q)) for p, q in zip(x, y, strict=True)), Fraction(1, 2))
    assert float(found["exact"]) == float(exact)
    assert {other["engine"]: other["result"] for other in found["engines"]}[name] == found["result"]


def test_what_a_window_drops_is_shown() -> None:
    """Hopper keeps 13 bits below the largest product (arXiv 2511.10909): 2^-7 is lost beside 448."""
    (step,) = sums.record("448 0.0078125", "1 1", "e4m3", "e4m3", "hopper")["steps"]
    assert (step["top"], step["last"]) == (8, -5)
    assert [(term["kept"], term["lost"]) for term in step["terms"][:2]] == [("448.0", ""), ("0.0", "0.0078125")]


# --- the server ------------------------------------------------------------------------------------------------------


SYNTHESIS = """
import json, sys
for line in sys.stdin:
    area = 1000 + len(json.loads(line)) + json.loads(line).count("stages = 1")
    figures = [{"mapping": m, "area_um2": area, "nand2": 1, "flip_flops": 0, "delay_ns": 1} for m in MAPPED]
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


def get(address: str, what: str, **query: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"{address}api/{what}?{urllib.parse.urlencode(query)}") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_questions_are_answered_and_refused_in_the_models_words(address: str) -> None:
    assert get(address, "number", x="0.3") == (200, numbers.record("0.3"))
    assert get(address, "precision")[1][0]["name"] == fp9.formats()[0].name
    for what, query in (
        ("number", {"x": "three"}),
        ("number", {"x": "1e99999"}),
        ("number", {"x": "1", "random": "70000", "rounding": "sr"}),
        ("sum", {"a": "1 2", "b": "1"}),
        ("sum", {"a": "1", "b": "1", "engine": "hoper"}),
        ("sum", {"a": "1 " * 99, "b": "1 " * 99}),
        ("sum", {"a": "1", "b": "1", "format_a": "fp32"}),
    ):
        code, found = get(address, what, **query)
        assert (code == 400 and "give" in found["error"]) or "did you mean" in found["error"]


# --- in a browser ----------------------------------------------------------------------------------------------------


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
    _a_table_sorts(page)
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
