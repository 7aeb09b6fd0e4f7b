"""Files that are written: whole, through links, into pipes and devices, with the mode that they had."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fp9.system.files import write_whole


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "there" / "unit.v", tmp_path / "link.v"
    target.parent.mkdir()
    target.write_text("before")
    link.symlink_to(target)
    write_whole(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_dangling_and_a_relative_link_lead_to_the_file_that_is_made(tmp_path: Path) -> None:
    link = tmp_path / "link.v"
    link.symlink_to("new/unit.v")
    write_whole(link, b"made")
    assert link.is_symlink()
    assert (tmp_path / "new" / "unit.v").read_bytes() == b"made"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "unit.v"
    path.write_text("before")
    path.chmod(mode)
    write_whole(path, "after")
    assert (path.read_text(), mode_of(path)) == ("after", mode)


def test_a_new_file_has_the_mode_that_the_mask_leaves(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "unit.v", "new")
    finally:
        os.umask(mask)
    assert mode_of(tmp_path / "unit.v") == 0o640


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = b"x" * 300_000  # beyond a pipe's buffer
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, content)
    reader.join()
    assert read == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_device_is_written_to_and_named_where_it_takes_nothing(tmp_path: Path) -> None:
    link = tmp_path / "full"
    link.symlink_to("/dev/full")  # so that the device itself is out of reach of a rename
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_whole(link, "x")
    assert caught.value.filename == str(link)
    assert link.is_symlink()
    write_whole("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_standard_output_goes_on_where_it_stands(tmp_path: Path, name: str, to: str) -> None:
    code = (
        "import sys; from fp9.system.files import write_whole; print('before', flush=True); "
        "write_whole(sys.argv[1], 'x\\n'); print('after')"
    )
    log = tmp_path / "log"
    log.write_text("first\n")
    if to == "pipe":
        done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=True)
        assert done.stdout == "before\nx\nafter\n"
        return
    with log.open("a") as file:
        subprocess.run([sys.executable, "-c", code, name], stdout=file, check=True)
    assert log.read_text() == "first\nbefore\nx\nafter\n"


def test_a_folder_in_the_file_s_place_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "unit.v").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_whole(tmp_path / "unit.v", "x")
    assert caught.value.filename == str(tmp_path / "unit.v")
    assert [path.name for path in tmp_path.iterdir()] == ["unit.v"]
