"""Record where a measurement comes from: source revision, date, command and tool versions."""

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
"""Repository paths that a record depends on, without the generated table of mutation scores."""

_HEAD = ("rev-parse", "--short=12", "HEAD")
_CHANGED = ("status", "--porcelain", "--untracked-files=no", "--")


def provenance() -> dict[str, str]:
    """Return the date, command, git revision and tool versions of a measurement.

    The revision is "unknown" outside a git repository, and ends in "+" if the working tree has changes.
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
    """Return the SHA-256 digest of the source code of package `fp9`, except subpackage `fp9.cli`."""
    package = Path(fp9.__file__).parent
    return digest(package, (path for path in package.rglob("*.py") if path.relative_to(package).parts[0] != "cli"))


@functools.cache
def source_digest() -> str:
    """Return three source code digests: for the golden model, the RTL generator and the simulation package."""
    packages = [Path(file).parent for file in (fp9_rtl.__file__, __file__)]
    return " ".join([model_digest(), *(digest(package, package.rglob("*.py")) for package in packages)])


def command() -> str:
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
