"""Run scripts in a page in Chromium, without a driver, and read their answers."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (1280, 390)
"""Widths in pixels of a screen and of a phone."""

_SCRIPT = """
<pre id="answers"></pre>
<script>
addEventListener("load", async () => {
  const answers = {}, model = await openModel(FP9);
  for (const [name, [body, given]] of Object.entries(SCRIPTS)) {
    try { answers[name] = new Function("model", "given", body)(model, given); }
    catch (error) { answers[name] = { failed: String(error.stack) }; }
  }
  document.getElementById("answers").textContent = JSON.stringify(answers);
});
</script>
</body>"""


def answers_of(page: str, scripts: dict[str, tuple[str, Any]], folder: Path) -> dict[str, Any]:
    """Return what scripts compute in a page, by name. A script is the body of a function of `model` and `given`.

    Skips the test if Chromium is not installed.
    """
    return _answers(page.replace("</body>", _SCRIPT.replace("SCRIPTS", json.dumps(scripts))), folder)


_OVERFLOW = """
<!doctype html><body><pre id="answers"></pre>
<script>
addEventListener("load", async () => {
  const answers = {};
  for (const width of WIDTHS) {
    const frame = Object.assign(document.createElement("iframe"), { srcdoc: PAGE });
    frame.style = `width: ${width}px; height: 900px; border: 0`;
    await new Promise((loaded) => { frame.onload = loaded; document.body.append(frame); });
    const body = frame.contentDocument.body;
    while (WAIT && !body.dataset.ready) await new Promise((wake) => setTimeout(wake, 50));
    const boxes = [frame.contentDocument.documentElement, ...body.querySelectorAll(".wide, table, svg, pre, p, li")];
    const measured = boxes.filter((box) => box.getClientRects().length);
    const over = measured.filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth
      || box.getBoundingClientRect().right > width + 1);
    answers[width] = [measured.length, over.map((box) => box.outerHTML.slice(0, 100))];
    frame.remove();
  }
  document.getElementById("answers").textContent = JSON.stringify(answers);
});
</script></body>"""


def overflowing(page: str, folder: Path, ready: bool = False) -> dict[str, tuple[int, list[str]]]:
    """Return, for each page width, the number of measured elements, and the elements that are cut off.

    With `ready`, the page is measured after its body has the attribute `data-ready`. Skips the test if Chromium is not
    installed.
    """
    inside = json.dumps(page).replace("</", "<\\/")
    filled = _OVERFLOW.replace("WIDTHS", json.dumps(WIDTHS)).replace("WAIT", json.dumps(ready))
    return _answers(filled.replace("PAGE", inside), folder)


def _answers(page: str, folder: Path) -> dict[str, Any]:
    """Return the JSON that a page writes into its element `answers`."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    path = folder / "page.html"
    path.write_text(page)
    words = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=100000", "--dump-dom"]
    words += [f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found = re.search(r'<pre id="answers">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None and found[1], f"the page gives no answers: {done.stderr}"
    return json.loads(html.unescape(found[1]))
