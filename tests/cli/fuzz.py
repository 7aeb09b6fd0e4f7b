"""The whole command line by its own grammar, for as long as is asked: `python -m tests.cli.fuzz --minutes 60 --seed 1`.

Hypothesis draws command lines from what the commands say of themselves: their options, the names that the shell
completes, numbers in and out of range, files that are what is asked for and files that are not. Each runs in a process
of its own in a folder of its own, is interrupted where it takes long, and must end as `faults` says. The last lines
count what was drawn; exit code 1 and the command line where one ends otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fp9.cli import main
from fp9.cli.errors import INTERRUPTED
from fp9.units import CATALOGUE
from fp9.units.toml import dumps
from fp9_sim.provenance import provenance

LONGEST = 2.0
"""Seconds until a command line is interrupted."""

GRACE = 30.0
"""Seconds that it has to end then."""

LOST = 8.0
"""Seconds after which an interrupt counts as lost."""

NEVER = ("explore",)
"""Commands that serve until they are stopped, on a port of the machine."""

FILES = ("unit.toml", "broken.toml", "empty", "numbers.npy", "noise.bin", "folder", "folder/unit.vec", "text.txt")
"""What lies in the folder."""

INTEGERS = ("0", "1", "2", "3", "-1", "7", "16", "65536", "10000000000000000000000", "0x10", "1e3", "1.5", "", "x")
NUMBERS = ("0", "0.5", "1", "-1", "nan", "inf", "1e999", "1e-320", "", "x")
SETTINGS = ("=", "a=", "a=hif8", "stages=2", "stages=-1", "engine.result.rounding=rtz", "code=1")
TEXTS = (*SETTINGS, "", "--", "-", "0:1", "\u00e9", "a b", "'", ".")
JUNK = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below one, with the words that call it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if below is not None and name not in NEVER:
            yield from commands(below, (*path, name))


@functools.cache
def values(parameter: click.Parameter, command: click.Command) -> st.SearchStrategy[str]:
    """What may be given for a parameter, mostly of its own kind."""
    kind, context = parameter.type, click.Context(command)
    known = [item.value for item in kind.shell_complete(context, parameter, "") if item.type == "plain"]
    if isinstance(kind, click.Choice):
        known = [str(choice) for choice in kind.choices]
    if known:
        return st.one_of(st.sampled_from(sorted(known)), st.sampled_from((*FILES, *TEXTS)), JUNK)
    if isinstance(kind, click.Path | click.File):
        return st.sampled_from((*FILES, "new", "new/er", "/proc/fp9", "/dev/null", "-", ".", ""))
    if kind.name in ("integer", "integer range"):
        return st.sampled_from(INTEGERS)
    if kind.name in ("float", "float range"):
        return st.sampled_from(NUMBERS)
    return st.one_of(st.sampled_from((*TEXTS, *NUMBERS, *FILES)), JUNK)


EVERY = sorted(commands(main), key=lambda each: each[0])


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command line."""
    path, command = draw(st.sampled_from(EVERY))
    words = list(path)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            count = draw(st.integers(0, 3)) if parameter.nargs == -1 else draw(st.sampled_from((0, 1, 1, 1, 1, 2)))
            words += [draw(values(parameter, command)) for _ in range(count)]
        elif draw(st.integers(0, 4)) == 0:
            words.append(parameter.opts[0])
            is_flag = isinstance(parameter, click.Option) and parameter.is_flag
            words += [] if is_flag else [draw(values(parameter, command)) for _ in range(parameter.nargs)]
    return words


@dataclass(frozen=True)
class Ended:
    """How a command line ended: its exit code (negative: a signal), what it said, whether it was interrupted."""

    code: int
    said: str
    interrupted: bool
    seconds: float


def furnished(folder: Path) -> dict[str, bytes]:
    """Fill a folder with `FILES`; their contents."""
    (folder / "folder").mkdir(parents=True)
    (folder / "unit.toml").write_text(dumps(CATALOGUE["fma_dlfloat16_hfp8"]))
    (folder / "broken.toml").write_text('kind = "fma"\nname = 3\n[')
    (folder / "empty").touch()
    np.save(folder / "numbers.npy", np.linspace(-3, 3, 64, dtype=np.float32).reshape(8, 8))
    (folder / "noise.bin").write_bytes(np.random.default_rng(0).bytes(300))
    (folder / "folder" / "unit.vec").write_text("00 1\nzz\n")
    (folder / "text.txt").write_text("words\n")
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(words: list[str], folder: Path, temporary: Path) -> Ended:
    """A command line in a process of its own, interrupted after `LONGEST` seconds, killed `GRACE` later."""
    said, interrupted, (ready, told) = folder.with_suffix(".said"), False, os.pipe()
    child = os.fork()
    if not child:
        _be(words, folder, temporary, said, told)
    os.close(told)
    os.read(ready, 1)  # an interrupt that came before would be met by what called this
    os.close(ready)
    started, patience = time.monotonic(), LONGEST
    while time.monotonic() - started < LONGEST + GRACE:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return Ended(code, said.read_text(errors="replace"), interrupted, time.monotonic() - started)
        if time.monotonic() - started > patience:
            # Once more where Python lost it in a callback of its own.
            os.killpg(child, signal.SIGINT)
            interrupted, patience = True, patience + LOST
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return Ended(-signal.SIGKILL, said.read_text(errors="replace"), True, time.monotonic() - started)


def _be(words: list[str], folder: Path, temporary: Path, said: Path, told: int) -> None:
    """In the child: become the command, and write a byte to `told` when it is; never returns."""
    os.setsid()
    gc.callbacks.clear()  # those of Hypothesis
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tempfile.tempdir = None
    os.environ.update(TMPDIR=str(temporary), NO_COLOR="1", COLUMNS="100")
    tempfile.gettempdir()  # tries its folder with a file, which an interrupt would leave
    output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in ((0, nothing), (1, output), (2, output)):
        os.dup2(file, number)
    code = 1
    try:
        os.write(told, b"1")
        main(words, prog_name="fp9")
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback  # what is looked for

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)


_IGNORED = re.compile(r"Exception ignored (?:in|on).*\nTraceback")
"""What Python says of an interrupt within a callback of its own."""


def faults(words: list[str], ended: Ended, before: dict[str, bytes], folder: Path, temporary: Path) -> list[str]:
    """What is wrong with an end; nothing where all is as it should be."""
    found, after = [], contents(folder)
    if ended.code not in (0, 1, 2, INTERRUPTED):
        found.append(f"exit code {ended.code}")
    if ended.code == INTERRUPTED and not ended.interrupted:
        found.append("interrupted by nobody")
    if "Traceback" in _IGNORED.sub("", ended.said) and "--debug" not in words:
        found.append("a traceback")
    if ended.code == 2 and "--debug" not in words:
        last = ended.said.strip().splitlines()[-1:] or [""]
        found += [] if last[0].startswith("fp9: ") else ["no sentence"]
    if ended.code == 2 and set(after) - set(before):
        found.append(f"refused, and left {sorted(set(after) - set(before))}")
    changed = [name for name, content in before.items() if after.get(name) != content]
    found += [f"{name} changed, which nobody named" for name in changed if not any(name in word for word in words)]
    hidden = [name for name in after if Path(name).name.startswith(".") and not name.startswith("build/")]
    found += [f"{name} left behind" for name in [*hidden, *(path.name for path in temporary.iterdir())]]
    return found


DRAWING = settings(
    max_examples=200, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def fuzz(minutes: float, first: int) -> dict[str, Any]:
    """Draw until the time is up, printing what ends otherwise; the counts."""
    started, ends, drawn = time.monotonic(), Counter[str](), Counter[str]()
    deadline = started + 60 * minutes
    home = Path(tempfile.mkdtemp(prefix="fp9-fuzz-"))
    os.environ["FP9_CACHE"] = str(home / "cache")
    number, wrong = 0, list[str]()

    def one(words: list[str]) -> None:
        nonlocal number
        if time.monotonic() > deadline:
            return
        number += 1
        folder, temporary = home / str(number), home / f"{number}.tmp"
        temporary.mkdir()
        before = furnished(folder)
        ended = run(words, folder, temporary)
        found = faults(words, ended, before, folder, temporary)
        drawn[words[0]] += 1
        ends["interrupted" if ended.interrupted else str(ended.code)] += 1
        if found:
            wrong.append(words[0])
            shown = {"words": words, "faults": found, "code": ended.code, "said": ended.said[-2000:]}
            print(json.dumps(shown), flush=True)
        shutil.rmtree(folder)
        shutil.rmtree(temporary)
        folder.with_suffix(".said").unlink(missing_ok=True)

    turn = first
    while time.monotonic() < deadline:
        seed(turn)(DRAWING(given(lines())(one)))()
        turn += 1
    shutil.rmtree(home, ignore_errors=True)
    counts = {
        "command_lines": number,
        "seeds": [first, turn - 1],
        "minutes": round((time.monotonic() - started) / 60, 1),
        "faults": len(wrong),
    }
    return {**counts, "ends": dict(ends), "commands": dict(drawn), "provenance": provenance()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the counts here, too")
    asked = parser.parse_args()
    counted = json.dumps(fuzz(asked.minutes, asked.seed), indent=1)
    print(counted)
    if asked.out:
        asked.out.write_text(counted + "\n")
    sys.exit(bool(json.loads(counted)["faults"]))
