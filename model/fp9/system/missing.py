"""Errors for missing tools, with messages that say how to install the tool."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from urllib.parse import unquote, urlparse

DISTRIBUTION = "fp9"


class MissingTool(RuntimeError):
    """Error for a missing program, package or data file, with a sentence that says how to install it."""

    @property
    def what(self) -> str:
        # The install command contains a local path, which must not appear on published pages.
        return str(self).partition(";")[0]


def install_hint(extra: str) -> str:
    # No package index has fp9. The install command names the source folder or wheel from which pip installed fp9 (PEP
    # 610), or else the current folder.
    editable, origin = _origin()
    return f"pip install {'-e ' if editable else ''}'{origin}[{extra}]'"


def _origin() -> tuple[bool, str]:
    try:
        recorded = importlib.metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        recorded = None
    if not recorded:
        return False, "."
    record = json.loads(recorded)
    url = urlparse(record["url"])
    path = Path(unquote(url.path))
    if url.scheme != "file" or not path.exists():
        return False, "."
    return bool(record.get("dir_info", {}).get("editable")), str(path)
