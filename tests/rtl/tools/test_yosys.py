"""Runs of Yosys: side by side, apart from each other and from the caller, and ended in time."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fp9_rtl.tools import yosys
from fp9_rtl.tools.yosys import YosysError, run_yosys

READ = "read_verilog unit.v\n"
HARD = """\
module hard (input [63:0] x, input [63:0] y, output z);
  assign z = x * y == 64'd1234567890123456789 && x > 1 && y > 1;
endmodule
"""


def folder_of(parent: Path, name: str, verilog: str = "") -> Path:
    folder = parent / name
    folder.mkdir()
    (folder / "unit.v").write_text(verilog or f"module {name} (output z); assign z = 1'b1; endmodule\n")
    return folder


def test_runs_side_by_side_work_in_their_own_folders(tmp_path: Path) -> None:
    folders = [folder_of(tmp_path, f"m{index}") for index in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda folder: run_yosys(f"{READ}write_verilog out.v\n", folder), folders))
    for folder in folders:
        assert f"module {folder.name}(z)" in (folder / "out.v").read_text()
        assert {path.name for path in folder.iterdir()} == {"unit.v", "out.v", "yosys.ys", "yosys.log"}


def test_a_run_reads_what_lies_beside_its_folder(tmp_path: Path) -> None:
    """Mappings of one netlist, each in a folder of its own, read it from the folder above."""
    folder = folder_of(tmp_path, "inner")
    (tmp_path / "above.v").write_text("module above (output z); assign z = 1'b1; endmodule\n")
    run_yosys("read_verilog ../above.v\nwrite_verilog out.v\n", folder)
    assert "module above(z)" in (folder / "out.v").read_text()


def test_an_error_is_yosys_own_line(tmp_path: Path) -> None:
    with pytest.raises(YosysError, match=r"^unit\.v:1: syntax error"):
        run_yosys(READ, folder_of(tmp_path, "broken", "modul broken;\n"))


def test_a_run_is_ended_after_its_time_and_the_next_one_works(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "hard", HARD)
    with pytest.raises(subprocess.TimeoutExpired):
        run_yosys(f"{READ}synth\nsat -prove z 0 hard\n", folder, timeout=1)
    run_yosys(READ, folder)


def test_an_ended_server_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = yosys._Server()
    monkeypatch.setattr(yosys, "_SERVER", server)
    folder = folder_of(tmp_path, "again")
    run_yosys(READ, folder)
    assert server.process is not None
    assert os.getsid(server.process.pid) != os.getsid(0), "Ctrl-C of a terminal would be its own, with a traceback"
    server.process.kill()
    server.process.wait()
    run_yosys(READ, folder)


def test_one_server_serves_all_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = yosys._Server._start
    monkeypatch.setattr(yosys._Server, "_start", lambda self: started.append(threading.get_ident()) or start(self))
    monkeypatch.setattr(yosys, "_SERVER", yosys._Server())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: run_yosys(READ, folder_of(tmp_path, name)), ["a", "b", "c", "d"]))
    assert len(started) == 1


def test_a_caller_that_goes_before_it_asks_leaves_no_run() -> None:
    """As by Ctrl-C while the server starts: its child has been asked for nothing, and ends."""
    server = yosys._Server()
    with tempfile.TemporaryFile("w+") as said:
        connection = server._connect(said)
        with connection, connection.makefile("r") as answers:
            child = int(answers.readline())
            connection.shutdown(socket.SHUT_WR)
            assert not answers.readline()
    _await_the_end(child)


def test_an_interrupted_run_is_gone_before_its_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    ended = yosys._ended_with_the_caller

    def interrupted(child: int, connection: socket.socket) -> contextlib.AbstractContextManager[None]:
        started.append(child)
        return ended(child, connection)

    monkeypatch.setattr(yosys, "_ended_with_the_caller", interrupted)
    folder = folder_of(tmp_path, "hard", HARD)
    with pytest.raises(subprocess.TimeoutExpired):
        run_yosys(f"{READ}synth\nsat -prove z 0 hard\n", folder, timeout=1)
    _await_the_end(started[0])


def _await_the_end(process: int) -> None:
    """Whether a process has ended, but for what the kernel still does."""
    until = time.monotonic() + 5
    while (state := _state(process)) not in ("Z", ""):
        assert time.monotonic() < until, f"process {process} is in state {state}"
        time.sleep(0.01)


def _state(process: int) -> str:
    """The state of a process; Z for one that only waits for its parent, nothing for none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    program = "from pathlib import Path; from fp9_rtl.tools.yosys import run_yosys; run_yosys('', Path('.'))"
    environment = {**os.environ, "YOWASP_CACHE_DIR": str(tmp_path / "file")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert f"cannot store Yosys in {tmp_path / 'file'}" in done.stderr
    assert "set YOWASP_CACHE_DIR" in done.stderr
