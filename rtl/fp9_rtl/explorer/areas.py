"""Measure the areas of units in a separate process, while the web server of `fp9 explore` answers requests."""

# The process measures one unit at a time. A request expires after `PATIENCE` seconds unless the explorer repeats it.
# An expired measurement is stopped if another request is waiting.

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from fp9.units import Unit
from fp9.units.toml import dumps

Record = dict[str, Any]

PATIENCE = 2.0

WORKER = (sys.executable, "-m", "fp9_rtl.explorer.worker")

UNDER_WAY, MEASURED, REFUSED = "under way", "measured", "refused"
"""Values of a record's `state`. Only a record in the state `UNDER_WAY` can still change."""


class Areas:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Unit, Record] = {}
        self._asked: dict[Unit, float] = {}
        self._running: Unit | None = None
        self._said: Record = {}
        self._worker: subprocess.Popen[str] | None = None

    def of(self, unit: Unit) -> Record:
        """Return the unit's area and delay, the reason why they are missing, or the progress of the measurement."""
        with self._lock:
            if unit in self._known:
                return self._known[unit]
            self._asked[unit] = time.monotonic()
            if self._running not in (None, unit) and self._is_forgotten(self._running):
                self._end_worker()
            self._begin_next()
            return self._said if unit == self._running else _under_way("waits for another measurement")

    def _is_forgotten(self, unit: Unit | None) -> bool:
        return unit is None or time.monotonic() - self._asked[unit] > PATIENCE

    def _begin_next(self) -> None:
        self._asked = {u: when for u, when in self._asked.items() if u == self._running or not self._is_forgotten(u)}
        if self._running is None and self._asked:
            self._running = min(self._asked, key=self._asked.__getitem__)
            self._said = _under_way("the circuit")
            threading.Thread(target=self._measure, args=(self._running, self._started()), daemon=True).start()

    def _started(self) -> subprocess.Popen[str]:
        # The process leads a process group, so that killing the group also ends its child processes.
        if self._worker is None:
            pipe = subprocess.PIPE
            self._worker = subprocess.Popen(WORKER, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        return self._worker

    def _end_worker(self) -> None:
        if self._worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._worker.pid, signal.SIGKILL)
            self._worker.wait()
            self._worker = None

    def _measure(self, unit: Unit, worker: subprocess.Popen[str]) -> None:
        assert worker.stdin is not None and worker.stdout is not None
        found = None
        with contextlib.suppress(OSError):
            worker.stdin.write(json.dumps(dumps(unit)) + "\n")
            worker.stdin.flush()
            for line in worker.stdout:
                said = json.loads(line)
                if said["state"] != UNDER_WAY:
                    found = said
                    break
                with self._lock:
                    self._said = said
        with self._lock:
            given_up = worker is not self._worker
            if found is None and not given_up:
                self._end_worker()
                found = {"state": REFUSED, "says": f"the measurement ended by itself; see: fp9 synth {unit.name}"}
            if found is not None:
                self._known[unit] = found
                self._asked.pop(unit, None)
            self._running = None
            self._begin_next()


def _under_way(what: str) -> Record:
    return {"state": UNDER_WAY, "what": what, "done": 0, "of": 1}
