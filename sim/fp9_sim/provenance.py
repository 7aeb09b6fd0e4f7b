"""Provenance of a record: source revision, date, command and tool versions."""

from __future__ import annotations

import datetime
import functools
import platform
import subprocess
import sys
from pathlib import Path

import fp9
import fp9_rtl
from fp9.system.sources import digest
from fp9_rtl.tools.yosys import yosys_version

_SOURCES = (":/model", ":/rtl", ":/sim", ":(top,exclude)model/fp9/vectors/mutation_scores.json")
"""Paths in the repository that a record depends on.

The table of mutation scores is left out, because it is generated from records.
"""

_HEAD = ("rev-parse", "--short=12", "HEAD")
_CHANGED = ("status", "--porcelain", "--untracked-files=no", "--")


def provenance() -> dict[str, str]:
    """Return the date, the command, the git revision and the tool versions.

    The revision is "unknown" outside a repository. The revision ends in "+" if the working tree has changes.
    """
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": command(),
        "revision": _revision(),
        "fp9": fp9.__version__,
        "yosys": yosys_version(),
        "python": platform.python_version(),
    }


def model_digest() -> str:
    """Return the SHA-256 digest of the model's source, without its command line interface."""
    package = Path(fp9.__file__).parent
    return digest(package, (path for path in package.rglob("*.py") if path.relative_to(package).parts[0] != "cli"))


@functools.cache
def source_digest() -> str:
    """Return the SHA-256 digest of the source of model, RTL and simulation. A measurement can depend on all of it."""
    packages = [Path(file).parent for file in (fp9_rtl.__file__, __file__)]
    return " ".join([model_digest(), *(digest(package, package.rglob("*.py")) for package in packages)])


def command() -> str:
    """Return the command line that started this process."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _revision() -> str:
    folder = Path(__file__).parent
    try:
        done = [
            subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
            for words in (_HEAD, (*_CHANGED, *_SOURCES))
        ]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done[0] + ("+" if done[1] else "")
