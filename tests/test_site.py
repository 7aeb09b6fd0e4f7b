"""The documentation site: it builds, no link is dead, and Chromium shows it, narrow and in the dark."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import fp9
from fp9.system.missing import MissingTool

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    try:
        runpy.run_path(str(path))
    except MissingTool as missing:
        pytest.skip(str(missing))


REFERENCE = sorted((ROOT / "docs/reference").glob("*.md"))
NAMED = [name for page in REFERENCE for name in re.findall(r"^::: (fp9\S*)", page.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("name", NAMED)
def test_what_the_reference_names_is_there(name: str) -> None:
    """Without building the site, which takes packages of its own.

    The site reads the source without running it. If a package has a function and a module of one name, it shows the
    module, unless the function is named by the module that defines it.
    """
    if name.startswith("fp9_ml.torch"):
        pytest.importorskip("torch")
    found, attribute = object_of(name), name.rpartition(".")[2]
    package = found.__module__.rpartition(".")[0]
    if importlib.util.find_spec(f"{package}.{attribute}") is not None:
        assert name == f"{found.__module__}.{attribute}"


def object_of(name: str) -> Any:
    """What a name of the reference stands for."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def test_every_public_name_of_the_model_stands_in_the_reference_once() -> None:
    """Packages, the American spelling and names of packages above apart."""
    elsewhere = {"blocks", "formats", "units", "vectors", "unit", "regress", "verilog", "write_verilog", "__version__"}
    shown = [object_of(name) for name in NAMED if not name.startswith("fp9_ml.torch")]
    for name in fp9.__all__:
        if "quantize" not in name and name not in elsewhere:
            assert sum(one is getattr(fp9, name) for one in shown) == 1, name


OLDER = ("0.0.10", "0.0.9")
"""Versions that are listed; of the first no page is left."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site beside one of an older version, its notebooks shown but not run again; `strict` refuses dead links."""
    for package in ("mkdocs", "material", "mkdocstrings", "mkdocs_jupyter"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: it comes with the extra fp9[site]")
    folder = tmp_path_factory.mktemp("site")
    (folder / "0.0.9").mkdir()
    (folder / "0.0.9" / "index.html").write_text("older")
    (folder / "versions.json").write_text(json.dumps([{"version": v, "title": v, "aliases": []} for v in OLDER]))
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "FP9_RUN_NOTEBOOKS": "false"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    dead, seen = set(), 0
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text()):
            if "://" in target or target.startswith(("data:", "mailto:", "/")):
                continue
            seen += 1
            if not (page.parent / target).exists():
                dead.add(f"{page.relative_to(site)}: {target}")
    assert seen > 1000 and not dead


@pytest.mark.parametrize(
    ("word", "page"),
    [("quantize", "how-to/cast-and-scale.html"), ("use_fast_accum", "how-to/from-torchao.html")],
)
def test_the_search_finds_a_word_of_other_packages(word: str, page: str, site: Path) -> None:
    """In the index that the page's search reads, cut into words as it does."""
    index = json.loads((site / fp9.__version__ / "search/search_index.json").read_text())
    separator = re.compile(index["config"]["separator"])
    found = {entry["location"] for entry in index["docs"] if word in separator.split(text_of(entry))}
    assert page in {location.partition("#")[0] for location in found}


def text_of(entry: dict[str, str]) -> str:
    """The text of an entry without tags, which the search skips, in lower case."""
    return re.sub(r"<[^>]+>", " ", entry["text"]).lower()


def test_versions_stand_side_by_side(site: Path) -> None:
    assert [entry["version"] for entry in json.loads((site / "versions.json").read_text())] == [
        fp9.__version__,
        "0.0.9",
    ]
    assert f"url={fp9.__version__}/index.html" in (site / "index.html").read_text()
    assert (site / "0.0.9" / "index.html").read_text() == "older"


MERMAID = "https://unpkg.com/mermaid@*/**"
"""Where the theme has Mermaid from, which draws block diagrams when a page is opened."""

STAND_IN = (
    "window.mermaid = {initialize() {}, render: async (id, text) => ({svg: `<svg><title>${text}</title></svg>`})};"
)
"""A script in its place, as tests do not ask the net."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def browser(site: Path) -> Iterator[tuple[Any, str]]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, playwright.sync_playwright() as started:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = opened.new_page(viewport={"width": 400, "height": 900}, color_scheme="dark")
        tab.route(MERMAID, lambda route: route.fulfill(content_type="text/javascript", body=STAND_IN))
        yield tab, f"http://127.0.0.1:{server.server_port}/{fp9.__version__}/"
        opened.close()
        server.shutdown()


PAGES = (
    "index.html",
    "start/tutorial-python.html",
    "how-to/check-your-rtl.html",
    "reference/numerics.html",
    "reference/index.html",
    "reference/fields.html",
    "reference/command-line.html",
    "reference/formats/index.html",
    "explanation/verification-strategy.html",
    "contributing/index.html",
    "units/fma_fp32.html",
    "study/index.html",
    "notebooks/chunks.html",
)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_readable_narrow_and_in_the_dark(page: str, browser: tuple[Any, str]) -> None:
    tab, address = browser
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(address + page, wait_until="networkidle")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert tab.evaluate("document.body.getAttribute('data-md-color-scheme')") == "slate"
    assert tab.locator(".md-version__link").all_text_contents() == [fp9.__version__, "0.0.9"]
    assert complaints == []
