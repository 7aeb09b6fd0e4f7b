"""Tools that are missing, and how to get them."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from urllib.parse import unquote, urlparse

DISTRIBUTION = "fp9"


class MissingTool(RuntimeError):
    """A program, package or data file that is not installed; the message is one sentence that says how to get it."""

    @property
    def what(self) -> str:
        """What is missing, without the command: on a page for others that would name a path of this machine."""
        return str(self).partition(";")[0]


def install_hint(extra: str) -> str:
    """The command that installs the packages of an extra, from where fp9 itself was installed.

    fp9 is on no package index: the command names the source folder or the wheel that pip recorded (PEP 610), and where
    nothing was recorded, the source folder that one stands in.
    """
    editable, origin = _origin()
    return f"pip install {'-e ' if editable else ''}'{origin}[{extra}]'"


def _origin() -> tuple[bool, str]:
    """Whether fp9 is editable, and the folder or wheel it came from; `.` where neither is known or there any more."""
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
