"""Check the third-party units of comparable-projects.md, and write their record.

`python -m tests.support.comparable [NAME...]` needs each unit's repository in docs/comparable/clones. The operations
that the page lists are checked, too.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
FOLDER, RECORD = DOCS / "comparable", DOCS.parent / "records" / "third-party" / "verdicts.json"

_ROW = re.compile(r"^\| `(\w+)` \| \S+/\S+, (?:.* of )?(\w+) \|((?: [\d,]+ \|){3}) (.*) \|$", re.MULTILINE)
_COUNTS = ("operations", "differ", "unexplained")
_OPERATION = re.compile(r"`(\w+ = 0x[0-9a-f]+(?:, \w+ = 0x[0-9a-f]+)*)`")


def rows() -> dict[str, dict[str, Any]]:
    """Return the page's table of units: revision, three counts, and the listed operations, by mapping."""
    found = {}
    for name, revision, counts, words in _ROW.findall((DOCS / "results" / "comparable-projects.md").read_text()):
        numbers = [int(cell.replace(",", "")) for cell in counts.split("|")[:3]]
        found[name] = {
            **dict(zip(_COUNTS, numbers, strict=True)),
            "revision": revision,
            "words": words,
            "asked": sorted(set(_OPERATION.findall(words))),
        }
    return found


def digest(mapping: str) -> str:
    """Return a short digest of the text of a mapping."""
    return hashlib.sha256((FOLDER / f"{mapping}.toml").read_bytes()).hexdigest()[:16]


def _revision(mapping: str) -> str | None:
    """Return the commit of the repository that holds a mapping's last file, or None without a history."""
    files = tomllib.loads((FOLDER / f"{mapping}.toml").read_text())["files"]
    clone = [Path(name).parts[1] for name in files if name.startswith("clones/")][-1]
    folder = FOLDER / "clones" / clone
    if not (folder / ".git").exists():
        return None
    words = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout[:12]


def _verdict(mapping: str, row: dict[str, Any]) -> dict[str, Any]:
    from fp9_sim.batch import verilated  # slow to load
    from fp9_sim.third_party import check_rtl, load  # slow to load
    from fp9_sim.third_party.wrapper import wrapped  # slow to load

    design = load(FOLDER / f"{mapping}.toml")
    found = check_rtl(design)
    unit = verilated(design.spec, verilog=wrapped(design, design.latency or 0), operations=found.checked)
    single = {}
    for operation in row["asked"]:
        given = {name: int(code, 16) for name, code in re.findall(r"(\w+) = (0x\w+)", operation)}
        inputs = {port.name: [(design.held | given).get(port.name, 0)] for port in design.spec.inputs}
        single[operation] = f"0x{int(unit(**inputs)['result'][0]):02x}"
    return {
        "mapping": digest(mapping),
        "revision": _revision(mapping),
        "sources": hashlib.sha256(design.verilog.replace(str(DOCS), "").encode()).hexdigest()[:16],
        "operations": found.checked,
        "differ": found.total_mismatches,
        "unexplained": found.explained.unexplained,
        "explanations": [f"{e.says}: {e.explains}, against {e.contradicts}" for e in found.explanations],
        "results": single,
    }


def record(names: Sequence[str]) -> None:
    """Check the named units, by default all units of the page, and write the record."""
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    page = rows()
    for name in names or page:
        known[name] = _verdict(name, page[name])
    RECORD.write_text(json.dumps({name: known[name] for name in page if name in known}, indent=2) + "\n")


if __name__ == "__main__":
    record(sys.argv[1:])
