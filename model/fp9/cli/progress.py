"""Progress display of commands on standard error: current work, finished steps and time.

The progress display needs a terminal, and appears after one second. The option `--quiet` disables the display.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from fp9.cli.output import TAKEN, at_show, console
from fp9.system import cache
from fp9.system.files import write_whole

QUIET = "fp9.quiet"
_WORK = "fp9.work"
# Seconds until a command shows its progress.
_AFTER = 1.0

# Shortest duration in seconds that is recorded for later progress displays.
_KEPT_FROM = 2.0

ShowStep = Callable[[str, int, int], None]


class Work:
    """Progress display of one command."""

    def __init__(self, what: str, quiet: bool = False, last: float | None = None) -> None:
        self.screen = console(stderr=True)
        self.quiet = quiet
        self._what, self._last = what, last
        self._steps: tuple[int, int | None] = (0, None)
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        if self.screen.is_terminal and not self.quiet:
            self._timer = threading.Timer(_AFTER, self._show)
            self._timer.daemon = True
            self._timer.start()

    def _show(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # slow to load
        from rich.table import Column  # slow to load

        what = TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold"))
        with self._lock:
            if self._timer is None:
                return
            self._bar = Progress(
                BarColumn(bar_width=20),
                TimeElapsedColumn(),
                what,
                console=self.screen,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("", total=None)
            self._update()
            self._bar.start()

    def at(self, what: str, done: int | None = None, steps: int | None = None) -> None:
        with self._lock:
            self._what = what
            if done is not None:
                self._steps = (done, steps)
            self._update()

    def _update(self) -> None:
        if self._bar is None:
            return
        done, steps = self._steps
        said = f"{done}/{steps} {self._what}" if steps else self._what
        if self._last is not None:
            said += f", {self._last:.0f} s in total the last time"
        self._bar.update(self._task, description=said, completed=done, total=steps)

    def stop(self) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None


class _Compiling(logging.Handler):
    """Log handler that shows log messages of the library, such as messages about compiling kernels."""

    def __init__(self, work: Work) -> None:
        super().__init__(logging.INFO)
        self._work = work

    def emit(self, record: logging.LogRecord) -> None:
        self._work.at(record.getMessage())


@contextlib.contextmanager
def under_way(ctx: click.Context) -> Iterator[None]:
    """Context manager that shows a command's progress and records the command's duration."""
    quiet = ctx.meta.get(QUIET, False) or ctx.meta.get(TAKEN, False)
    place = cache.folder("durations") / hashlib.sha256(f"{ctx.command_path} {sorted(_asked(ctx))}".encode()).hexdigest()
    work = Work(ctx.command.get_short_help_str(60).rstrip("."), quiet, _last(place))
    ctx.meta[_WORK] = work
    at_show(work.stop)
    handler, log, began = _Compiling(work), logging.getLogger("fp9"), time.monotonic()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    work.start()
    try:
        yield
        if (took := time.monotonic() - began) > _KEPT_FROM:
            with contextlib.suppress(OSError):  # ignore a cache that is not writable
                write_whole(place, f"{took:.1f}\n")
    finally:
        work.stop()
        log.removeHandler(handler)
        log.setLevel(level)


def _asked(ctx: click.Context) -> list[str]:
    return [f"{name}={value}" for name, value in ctx.params.items() if name != "as_json"]


def _last(place: Any) -> float | None:
    try:
        return float(place.read_text())
    except (OSError, ValueError):
        return None


def _work() -> Work:
    context = click.get_current_context(silent=True)
    work = context.meta.get(_WORK) if context is not None else None
    return work if isinstance(work, Work) else Work("", quiet=True)


def doing(what: str) -> None:
    """Set the text of the command's progress display, for work without countable steps."""
    _work().at(what)


@contextlib.contextmanager
def progress_bar(keep: bool = False) -> Iterator[ShowStep]:
    """Context manager that yields a function for reporting the finished steps of a command.

    If `keep` is true, a line for each finished step stays on the screen.
    """
    work = _work()

    def show_step(what: str, done: int, steps: int) -> None:
        work.at(what, done, steps)
        if keep and not work.quiet:
            work.screen.print(f"[{done}/{steps}] {what}", markup=False, highlight=False)

    yield show_step
