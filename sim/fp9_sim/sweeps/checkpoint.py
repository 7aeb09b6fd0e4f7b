"""The journal of a running sweep, with one line of JSON for each finished shard."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fp9_sim.sweeps.shard import ShardResult


class Checkpoint:
    """Append-only file with the results of a sweep's finished shards; only one process at a time can open the file."""

    def __init__(self, path: Path, file: int) -> None:
        self.path = path
        self._file = file
        # A killed sweep continues from this file and may have left an incomplete last line.
        lines = self._complete_lines()
        if not lines:
            lines = [{"run": uuid.uuid4().hex[:12]}]
            self._append(lines[0])
        self.run = str(lines[0]["run"])
        self.done = {result.shard: result for result in map(_result, lines[1:])}

    def add(self, result: ShardResult) -> None:
        if result.shard not in self.done:
            self._append(dataclasses.asdict(result))
            self.done[result.shard] = result

    def remove(self) -> None:
        self.path.unlink()

    def _append(self, line: dict[str, Any]) -> None:
        data = json.dumps(line).encode() + b"\n"
        if os.write(self._file, data) != len(data):
            raise OSError(28, "No space left on device", str(self.path))
        os.fsync(self._file)

    def _complete_lines(self) -> list[dict[str, Any]]:
        data = self.path.read_bytes()
        complete = data[: data.rfind(b"\n") + 1]
        os.ftruncate(self._file, len(complete))
        try:
            return [json.loads(line) for line in complete.splitlines()]
        except ValueError:
            raise ValueError(f"{self.path} is no checkpoint of a sweep; remove it to start again") from None


def _result(line: dict[str, Any]) -> ShardResult:
    failing = tuple((place, inputs) for place, inputs in line["failing"])
    return ShardResult(**{**line, "failing": failing})


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Checkpoint]:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{path} is in use: the same sweep is running; wait for it or give other shards") from None
        yield Checkpoint(path, file)
    finally:
        os.close(file)
