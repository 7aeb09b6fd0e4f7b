"""For the documentation site: versions side by side, each in a folder of its name, the newest shown to who names none.

The theme's menu of versions reads `versions.json`; what stood there before stays.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fp9

LIST = "versions.json"
_OPENING = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>fp9</title>
<meta http-equiv="refresh" content="0; url={version}/index.html"><a href="{version}/index.html">fp9 {version}</a></html>
"""


def on_config(config: Any) -> None:
    """Build into the folder of this version."""
    config["site_dir"] = str(Path(config["site_dir"]) / fp9.__version__)


def on_post_build(config: Any) -> None:
    """Add this version to the list, and open the newest."""
    folder = Path(config["site_dir"]).parent
    listed = folder / LIST
    before = [entry["version"] for entry in json.loads(listed.read_text())] if listed.exists() else []
    there = [version for version in before if version != fp9.__version__ and (folder / version / "index.html").exists()]
    versions = sorted([fp9.__version__, *there], key=_order, reverse=True)
    listed.write_text(json.dumps([{"version": v, "title": v, "aliases": []} for v in versions], indent=1) + "\n")
    (folder / "index.html").write_text(_OPENING.format(version=versions[0]))


def _order(version: str) -> list[tuple[bool, int, str]]:
    """Numbers as numbers: 0.10 is newer than 0.9, and 1.0 newer than 1.0rc1."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in version.split(".")]
