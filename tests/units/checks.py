"""What a random unit has to pass. Each check raises `Fault` where the product is wrong; `NoHardware` ends a unit."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import shutil
import subprocess
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from tests.support.compilers import WARNINGS

import fp9_rtl
from fp9 import cmodel
from fp9.engines import PARAMETERS
from fp9.engines import engine as find_engine
from fp9.reference import reference_results
from fp9.suites import random
from fp9.suites.corner import corner
from fp9.suites.smoke import smoke
from fp9.units import Unit
from fp9.units.toml import KINDS, as_table, build, dumps
from fp9.vectors.sets import export, from_inputs
from fp9_rtl.components import check_offered
from fp9_sim import regress
from fp9_sim.batch import check, verilated
from fp9_sim.packages import write_package
from fp9_sim.simulators.find import ICARUS_ARGUMENTS

RANDOM = 3000
"""Random operations of a unit on Verilator."""

REFERENCE = 256
"""Operations of each suite that the reference model computes."""

ON_ICARUS = 320
"""Operations of the smoke suite on Icarus, with stalls and resets."""


class Fault(Exception):
    """A check that the product fails: its name, and what was said."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(f"{name}: {said}")
        self.name, self.said = name, said


class NoHardware(Exception):
    """The model knows the unit, the hardware refuses it."""


@dataclasses.dataclass
class Run:
    """What the checks of one unit hand on: suites, Verilog, counted operations."""

    unit: Unit
    seed: int
    folder: Path
    suites: dict[str, Mapping[str, np.ndarray]] = dataclasses.field(default_factory=dict)
    operations: int = 0

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


# --- refusals -------------------------------------------------------------------------------------------------------


def misfit(fields: Mapping[str, object], error: Exception) -> str | None:
    """What is wrong with a refusal: it is to be a ValueError of one sentence that names a field and its value.

    `fields` are those of the refused specification as TOML has them.
    """
    said, kind = str(error), fields.get("kind")
    if not isinstance(error, ValueError) or type(error) is not ValueError:
        return f"{type(error).__name__} in place of ValueError"
    if "\n" in said or len(said) > 420:
        return "not one sentence"
    own = dataclasses.fields(KINDS[str(kind)]) if kind in KINDS else ()
    known = {f.name for f in own} | {*PARAMETERS, "kind"} | {each.path for each in PARAMETERS.values()}
    if not any(names(said, name) for name in known):
        return "no field named"
    values = [text for name, value in _flat(fields) if names(said, name) for text in _texts(value)]
    return None if " without " in said or any(text.lower() in said.lower() for text in values) else "no value named"


def names(said: str, field: str) -> bool:
    """Whether a sentence names a field; that of one letter with its value or as a label, as it may be an article."""
    if len(field) == 1:
        return re.search(rf" {field} ?=| {field}: | for {field};| {field} and b\b| a and {field}\b", said) is not None
    return re.search(rf"\b{re.sub('s$', '', field).replace('_', '[_ ]')}s?\b", said) is not None


def _flat(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Fields and their values, those of an engine beside them."""
    for name, value in fields.items():
        yield name, value
        if isinstance(value, Mapping):
            tables = {group: table for group, table in value.items() if isinstance(table, Mapping)}
            given = {(group, field): each for group, table in tables.items() for field, each in table.items()}
            for each in PARAMETERS.values():
                given_value = given.get((each.group, each.field), getattr(each.default, "name", each.default))
                yield from ((name, given_value) for name in (each.name, each.path))
        elif name == "engine":
            yield from re.findall(r"(\w+)=([^,()]+)", str(value))
            with contextlib.suppress(ValueError):
                found = find_engine(str(value))
                for each in PARAMETERS.values():
                    own = each.of(found)
                    yield from ((name, getattr(own, "name", own)) for name in (each.name, each.path))


def _texts(value: object) -> list[str]:
    """The ways in which a sentence may write a value, or one of several values."""
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    if isinstance(value, int) and not isinstance(value, bool):
        return [str(value), f"{value:#x}"]
    return [str(value), str(value).partition("(")[0]]


# --- checks ---------------------------------------------------------------------------------------------------------


def text(run: Run) -> None:
    """The unit's TOML describes an equal unit."""
    again = build(tomllib.loads(dumps(run.unit)))
    if again != run.unit:
        raise Fault("text", "the TOML of the unit describes another unit")


def randoms(run: Run) -> None:
    """The random suite, by the golden and by the reference model."""
    run.suites["random"] = random(run.unit, _whole(run.unit, RANDOM), run.rng)
    reference(run, "random")


def corners(run: Run) -> None:
    """The corner suite, by the golden and by the reference model."""
    run.suites["corner"] = corner(run.unit, run.rng)
    reference(run, "corner")


def reference(run: Run, suite: str) -> None:
    """Some operations of a suite by both models."""
    made = from_inputs(run.unit, _some(run, suite, REFERENCE))
    columns = [column.tolist() for column in made.inputs.values()]
    rows = [dict(zip(made.inputs, row, strict=True)) for row in zip(*columns, strict=True)]
    again = list(reference_results(run.unit, rows))
    for name, column in made.expected.items():
        other = np.array([row[name] for row in again], dtype=np.int64)
        wrong = np.flatnonzero((other != column) & made.care.get(name, np.True_))
        if wrong.size:
            at = int(wrong[0])
            before = rows[max(0, at - 8) : at + 1] if run.unit.has_state else [rows[at]]
            said = f"{name} of {before}: golden {int(column[at])}, reference {again[at][name]}"
            raise Fault("models", f"{len(wrong)} of {len(rows)} {suite} operations differ; {said}")
    run.operations += len(rows)


def smokes(run: Run) -> None:
    """The smoke suite."""
    run.suites["smoke"] = smoke(run.unit, dict(run.suites["corner"]))


def hardware(run: Run) -> None:
    """Verilog that Icarus takes without a warning."""
    try:
        check_offered(run.unit)
    except ValueError as error:
        if wrong := misfit(as_table(run.unit), error):
            raise Fault("refusal", f"{wrong}: {error}") from None
        raise NoHardware(str(error)) from None
    file = run.folder / f"{run.unit.name}.v"
    file.write_text(fp9_rtl.verilog(run.unit))
    done = subprocess.run(
        ["iverilog", *ICARUS_ARGUMENTS, "-g2005", "-tnull", str(file)], capture_output=True, text=True
    )
    if said := (done.stdout + done.stderr).replace(f"{run.folder}/", "").strip():
        raise Fault("lint", said[:400])


def verilator(run: Run) -> None:
    """All suites on Verilator, which is built with all its warnings as errors."""
    dut = verilated(run.unit, operations=1, threads=1)
    for suite, inputs in run.suites.items():
        first, count = check(run.unit, inputs, dut=dut, limit=1)
        if count:
            raise Fault("verilator", f"{count} of the {suite} suite differ; {first[0]}")
        run.operations += len(next(iter(inputs.values())))


def c_model(run: Run) -> None:
    """The smoke suite by the golden model in C, without undefined behaviour."""
    for name, text in cmodel.files(run.unit).items():
        (run.folder / name).write_text(text)
    bench, source = run.folder / "c_model", f"{run.unit.name}_bench.c"
    words = [
        "gcc",
        "-std=c99",
        *WARNINGS,
        "-fsanitize=undefined",
        "-fno-sanitize-recover=all",
        "-o",
        str(bench),
        source,
    ]
    built = subprocess.run(words, cwd=run.folder, capture_output=True, text=True, check=False)
    if built.returncode:
        raise Fault("c_model", built.stderr[:400])
    made = from_inputs(run.unit, run.suites["smoke"])
    done = subprocess.run([bench, export(made, run.folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Fault("c_model", (done.stdout + done.stderr)[-400:])
    run.operations += len(made)


def icarus(run: Run) -> None:
    """Some of the smoke suite on Icarus, with four states, stalls and resets."""
    made = from_inputs(run.unit, _some(run, "smoke", ON_ICARUS))
    done = regress(run.unit, made, "icarus", seed=run.seed % 1000, build_dir=run.folder)
    if not done.passed:
        raise Fault("icarus", "; ".join([*done.violations[:1], *map(str, done.mismatches[:1])]))
    run.operations += done.checked


def package(run: Run) -> None:
    """A package, and its bench on Icarus."""
    folder = run.folder / "package"
    write_package(run.unit, folder, "smoke")
    done = subprocess.run(["make", "icarus"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or "PASS" not in done.stdout:
        raise Fault("package", (done.stdout + done.stderr).replace(f"{run.folder}/", "")[-400:])


MODELS: tuple[Callable[[Run], None], ...] = (text, randoms, corners, smokes)
CIRCUITS = (*MODELS, c_model, hardware, verilator, icarus)
WITH_PACKAGE = (*CIRCUITS, package)
ALL = {each.__name__: each for each in WITH_PACKAGE}


def check_unit(unit: Unit, seed: int, checks: tuple[Callable[[Run], None], ...]) -> tuple[str, int]:
    """Run the checks in order: "passed" or the hardware's refusal, and the operations. Raises Fault for a wrong one."""
    folder = Path(tempfile.mkdtemp(prefix="fp9-units-"))
    run = Run(unit, seed, folder)
    try:
        for each in checks:
            _guarded(each, run)
    except NoHardware as refused:
        return f"no hardware: {refused}", run.operations
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "passed", run.operations


def _guarded(each: Callable[[Run], None], run: Run) -> None:
    """One check; any other exception than those two is a fault, too."""
    try:
        each(run)
    except (Fault, NoHardware):
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.name}"
        raise Fault(each.__name__, f"{type(error).__name__} in {where}: {str(error)[:400]}") from error


def _some(run: Run, suite: str, count: int) -> dict[str, np.ndarray]:
    """Operations of a suite: any of them, or neighbours where the unit has a state."""
    inputs = run.suites[suite]
    size = len(next(iter(inputs.values())))
    if size <= count:
        return dict(inputs)
    if run.unit.has_state:
        first = run.unit.group * int(run.rng.integers((size - count) // run.unit.group + 1))
        return {name: column[first : first + _whole(run.unit, count)] for name, column in inputs.items()}
    places = run.rng.choice(size, count, replace=False)
    return {name: column[places] for name, column in inputs.items()}


def _whole(unit: Unit, count: int) -> int:
    """About so many operations, a multiple of the unit's group."""
    return max(unit.group, count // unit.group * unit.group)
