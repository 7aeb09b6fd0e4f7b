"""Check random unit specifications for as long as is asked, and print each fault as TOML with the command to repeat it.

    python -m tests.units.fuzz --hours 2                      # goes on where the last run stopped
    python -m tests.units.fuzz --hours 0.1 --models           # golden against reference model alone, far more units
    python -m tests.units.fuzz --kinds dot,mac --count 50 --seed 5000 --out build/my-fuzz
    python -m tests.units.fuzz --spec build/fuzz-units/faults/17.toml
    python -m tests.units.fuzz --coverage                     # what the runs in --out covered

Every unit: TOML round trip; smoke, corner and random suites; golden model against reference model; Icarus and Verilator
with all warnings as errors; all suites on Verilator; a part of the smoke suite on Icarus with stalls and resets; a
package with its bench for one in twenty. Results are lines of results.jsonl in --out: a run may be killed at any time.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.units.checks import CIRCUITS, MODELS, WITH_PACKAGE, Fault, check_unit, misfit
from tests.units.report import report
from tests.units.shrink import shrunk, signature, signature_of
from tests.units.spread import Refused, Spread

from fp9.units.toml import KINDS, build, dumps, load, value_text

PACKAGED = 20
"""Of so many units one has a package."""

LONGEST, HANGING = 400, 4000
"""Processor seconds, and seconds, after which a unit counts as a fault. A loaded machine stretches only the latter."""

WATCHED = 5
"""Seconds between two looks at the time of a unit."""

SHOWN = 2
"""Faults of one class that are shrunk and printed; others are counted."""

PER_WORKER = 80
"""Units after which a worker process is replaced: each loads the libraries of its units."""


class TooLong(BaseException):
    """The checks of a unit do not end."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise TooLong in the block after `LONGEST` processor seconds or `HANGING` seconds."""
    cpu, begun = _cpu(), time.monotonic()

    def look(*_: object) -> None:
        if _cpu() - cpu > LONGEST:
            raise TooLong(f"{LONGEST} processor seconds are over")
        if time.monotonic() - begun > HANGING:
            raise TooLong(f"{HANGING} seconds are over")

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, WATCHED, WATCHED)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def checked(text: str, seed: int, models: bool) -> dict[str, Any]:
    """What the checks of a unit found, which is given as TOML; a fault has the simplest unit that shows it."""
    gc.freeze()  # the garbage collector then skips modules and compiled kernels
    unit, before = build(tomllib.loads(text)), _cpu()
    checks = MODELS if models else WITH_PACKAGE if seed % PACKAGED == 0 else CIRCUITS
    record: dict[str, Any] = {}
    try:
        with limited():
            outcome, record["operations"] = check_unit(unit, seed, checks)
        record["outcome"] = outcome.partition(":")[0]
    except Fault as fault:
        record |= {"outcome": "fault", "class": signature(unit.kind, fault), "said": str(fault)}
        small = unit
        with contextlib.suppress(TooLong), limited():
            small, fault = shrunk(unit, seed, fault)
        record |= {"shrunk": dumps(small), "said": str(fault)}
    except TooLong as error:
        record |= {"outcome": "fault", "class": f"{unit.kind} takes long", "said": str(error)}
    return record | {"cpu": round(_cpu() - before, 2)}


def _cpu() -> float:
    """Processor seconds of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Driver:
    """A run: hands seeds to workers, keeps their records, prints faults."""

    def __init__(self, out: Path, kinds: Sequence[str], models: bool, jobs: int) -> None:
        self.out, self.kinds, self.models, self.jobs = out, kinds, models, jobs
        self.results = out / "results.jsonl"
        (out / "faults").mkdir(parents=True, exist_ok=True)
        self.spread, self.done, self.classes = Spread(), set[int](), Counter[str]()
        for record in records(out):
            self.done.add(record["seed"])
            self.classes[record.get("class", "")] += 1
            if not record.get("refusal"):
                self.spread.add(build(tomllib.loads(record["toml"])))

    def run(self, first: int, count: int | None, deadline: float) -> None:
        """Check seeds from the first on that were not checked before."""
        pool, waiting, seed, left = self._pool(), dict[Future[dict[str, Any]], dict[str, Any]](), first, count
        while waiting or (time.monotonic() < deadline and left != 0):
            while len(waiting) < self.jobs and time.monotonic() < deadline and left != 0:
                while seed in self.done:
                    seed += 1
                self.done.add(seed)
                begun = self._begun(seed)
                waiting[pool.submit(checked, begun["toml"], seed, self.models)] = begun
                left = None if left is None else left - 1
            ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                begun = waiting.pop(future)
                try:
                    self.keep(begun | future.result())
                except BrokenProcessPool:
                    pool = self._pool()
                    self.keep(begun | {"outcome": "fault", "class": "a worker died", "said": "a worker died"})
        pool.shutdown()

    def _pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"), max_tasks_per_child=PER_WORKER)

    def _begun(self, seed: int) -> dict[str, Any]:
        """The specification of a seed, as the beginning of its record; those refused on the way are judged."""
        unit, refused = self.spread.next(seed, self.kinds)
        self.spread.add(unit)
        for each in refused:
            self._refusal(seed, each)
        counted = {"operations": 0, "refused": len(refused)}
        return {"seed": seed, "kind": unit.kind, "toml": dumps(unit), "models": self.models, **counted}

    def _refusal(self, seed: int, refused: Refused) -> None:
        """Keep a refusal that is no ValueError of one sentence with a field's name as a fault."""
        kind = refused.fields["kind"]
        if wrong := misfit(refused.fields, refused.error):
            said = f"refusal: {wrong}: {refused.error}"
            named = f"{kind} refusal {wrong} {signature_of(said)}"
            fields = "".join(f"{name} = {value_text(value)}\n" for name, value in refused.fields.items())
            about = {"seed": seed, "kind": kind, "toml": fields, "refusal": True}
            self.keep({**about, "outcome": "fault", "class": named, "said": said})

    def keep(self, record: dict[str, Any]) -> None:
        """Add a record to the results; print it where it is a fault of a class that has few."""
        with self.results.open("a") as file:
            file.write(json.dumps(record) + "\n")
        if record["outcome"] != "fault":
            return
        self.classes[record["class"]] += 1
        if self.classes[record["class"]] > SHOWN:
            return
        path = self.out / "faults" / f"{record['seed']}{'-refused' if record.get('refusal') else ''}.toml"
        text = record.get("shrunk", record["toml"])
        path.write_text(f"# seed {record['seed']}: {' '.join(record['said'].split())}\n{text}")
        print(
            f"seed {record['seed']}: {record['said'][:600]}\n{text}repeat: python -m tests.units.fuzz --spec {path}\n"
        )
        sys.stdout.flush()


def records(out: Path) -> list[dict[str, Any]]:
    """The records of earlier runs; a last line that was cut off is left out."""
    file = out / "results.jsonl"
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def repeat(path: Path) -> bool:
    """Run all checks of one described unit, its package too; whether it passes."""
    try:
        unit = load(path)
    except Exception as error:
        wrong = misfit(tomllib.loads(path.read_text()), error)
        print(f"refused: {error}" + (f"; {wrong}" if wrong else ""))
        return wrong is None
    try:
        outcome, operations = check_unit(unit, 1, WITH_PACKAGE)
    except Fault as fault:
        print(fault)
        return False
    print(f"{outcome}; {operations:,} operations")
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=1.0, help="hours until the last unit starts (1)")
    parser.add_argument("--count", type=int, help="units, where they end before the hours")
    parser.add_argument("--seed", type=int, default=1, help="first seed; seeds that --out has are left out (1)")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {','.join(KINDS)} (all)")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="worker processes (cores)")
    parser.add_argument("--models", action="store_true", help="golden against reference model alone")
    parser.add_argument("--spec", type=Path, help="check the unit of this TOML file alone")
    parser.add_argument("--coverage", action="store_true", help="print what the results in --out cover, and end")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz-units"), help="folder of results and faults")
    asked = parser.parse_args()
    os.environ["FP9_CACHE"] = str((asked.out / "cache").absolute())
    if asked.spec is not None:
        sys.exit(not repeat(asked.spec))
    if not asked.coverage:
        driver = Driver(asked.out, asked.kinds.split(","), asked.models, asked.jobs)
        driver.run(asked.seed, asked.count, time.monotonic() + 3600 * asked.hours)
    found = records(asked.out)
    print(report(found, details=asked.coverage))
    sys.exit(any(record["outcome"] == "fault" for record in found))


if __name__ == "__main__":
    main()
