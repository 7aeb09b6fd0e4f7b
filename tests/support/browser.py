"""Chromium without a driver: scripts in a page, and their answers."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

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
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    path = folder / "page.html"
    path.write_text(page.replace("</body>", _SCRIPT.replace("SCRIPTS", json.dumps(scripts))))
    words = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=100000", "--dump-dom"]
    words += [f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    found = re.search(r'<pre id="answers">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None and found[1], f"the page gives no answers: {done.stderr}"
    return json.loads(html.unescape(found[1]))
