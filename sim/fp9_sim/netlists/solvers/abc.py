"""ABC as a solver for proof obligations about AND graphs."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from fp9_sim.netlists.graphs.and_graph import AndGraph, Literal
from fp9_sim.netlists.solvers.solver import State, Verdict

PROGRAMS = ("berkeley-abc", "yosys-abc", "abc")

_CONFLICTS = 1_000_000
"""ABC's limit of SAT conflicts, so high that the time limit always applies first."""


def program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def version() -> dict[str, str]:
    # ABC prints no version number, so the name of the installed program stands for the version.
    return {"abc": Path(program() or "none").name}


def agree(graph: AndGraph, pairs: Sequence[tuple[Literal, Literal]], timeout: float) -> Verdict:
    """Decide with ABC whether the literals in each pair are equal for all inputs."""
    started = time.perf_counter()
    command = f"cec -T {max(1, int(timeout))} -C {_CONFLICTS} first.blif second.blif"
    with tempfile.TemporaryDirectory(prefix="fp9-abc-") as name:
        for number, file in enumerate(("first.blif", "second.blif")):
            lines = _blif(graph, [pair[number] for pair in pairs])
            Path(name, file).write_text("\n".join(lines) + "\n")
        said = run(command, Path(name), timeout)
    seconds = time.perf_counter() - started
    if "Networks are equivalent" in said:
        return Verdict(State.PROVEN, seconds)
    if "NOT EQUIVALENT" in said and (found := re.findall(r"\bx(\d+)=([01])\b", said)):
        return Verdict(State.REFUTED, seconds, {graph.text(2 * int(node)): int(bit) for node, bit in found})
    return Verdict(State.UNFINISHED, seconds)


def never(graph: AndGraph, literal: Literal, timeout: float) -> Verdict:
    """Decide with ABC whether a literal of an AND graph is 0 for all inputs."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fp9-abc-") as name:
        Path(name, "graph.blif").write_text("\n".join(_blif(graph, [literal])) + "\n")
        said = run("read_blif graph.blif; strash; sat; write_cex -n found.txt", Path(name), timeout)
        seconds = time.perf_counter() - started
        if "UNSATISFIABLE" in said:
            return Verdict(State.PROVEN, seconds)
        if "SATISFIABLE" not in said:
            return Verdict(State.UNFINISHED, seconds)
        found = re.findall(r"^x(\d+)=([01])$", Path(name, "found.txt").read_text(), re.MULTILINE)
    return Verdict(State.REFUTED, seconds, {graph.text(2 * int(node)): int(bit) for node, bit in found})


def never_reached(graph: AndGraph, literal: Literal, following: Mapping[Literal, Literal], timeout: float) -> Verdict:
    """Decide with ABC whether a literal is 0 in every clock cycle of every input sequence.

    `following` maps the literal of each register to the literal of its next value.
    """
    started = time.perf_counter()
    # All registers start at 0.
    following = _needed(graph, literal, following)
    with tempfile.TemporaryDirectory(prefix="fp9-abc-") as name:
        Path(name, "graph.blif").write_text("\n".join(_blif(graph, [literal], following)) + "\n")
        limit = max(1, int(timeout))
        # The command `pdr` is property-directed reachability (Bradley 2011).
        said = run(f"read_blif graph.blif; strash; scorr; pdr -T {limit}; write_cex -n found.txt", Path(name), timeout)
        seconds = time.perf_counter() - started
        if "Property proved" in said:
            return Verdict(State.PROVEN, seconds)
        if "was asserted in frame" not in said:
            return Verdict(State.UNFINISHED, seconds)
        found = re.findall(r"^x(\d+)@(\d+)=([01])$", Path(name, "found.txt").read_text(), re.MULTILINE)
    # The key `a[3]@0` is input `a[3]` in clock cycle 0.
    bits = {f"{graph.text(2 * int(node))}@{step}": int(bit) for node, step, bit in found}
    return Verdict(State.REFUTED, seconds, bits)


def _needed(graph: AndGraph, literal: Literal, following: Mapping[Literal, Literal]) -> dict[Literal, Literal]:
    needed: dict[Literal, Literal] = {}
    stack = [literal]
    while stack:
        for register in (2 * node for node in graph.inputs_of(stack.pop())):
            if register in following and register not in needed:
                needed[register] = following[register]
                stack.append(following[register])
    return needed


def run(command: str, folder: Path, timeout: float) -> str:
    """Run an ABC command and return its output, or an empty text if ABC is not installed or does not finish."""
    if (installed := program()) is None:
        return ""
    try:
        done = subprocess.run(
            limited([installed, "-c", command], timeout),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


def limited(command: Sequence[str], seconds: float) -> list[str]:
    # Some ABC algorithms ignore ABC's own time limit, so the operating system limits the processor time.
    return ["sh", "-c", f'ulimit -t {math.ceil(seconds)} && exec "$@"', "sh", *command]


def _blif(
    graph: AndGraph, outputs: Sequence[Literal], following: Mapping[Literal, Literal] = MappingProxyType({})
) -> Iterator[str]:
    # The signal x<n> is node n of the AND graph.
    inputs = graph.inputs()
    needed = set().union(*(graph.reached(literal) for literal in (*outputs, *following.values())))
    yield ".model graph"
    yield ".inputs " + " ".join(f"x{node}" for node in inputs if 2 * node not in following)
    yield ".outputs " + " ".join(f"o{place}" for place in range(len(outputs)))
    yield ".names x0"
    for register, value in following.items():
        yield f".latch d{register // 2} x{register // 2} 0"
        yield f".names x{value // 2} d{register // 2}\n{1 - value % 2} 1"
    for node in sorted(needed - {0, *inputs}):
        a, b = graph.literals(node)
        yield f".names x{a // 2} x{b // 2} x{node}\n{1 - a % 2}{1 - b % 2} 1"
    for place, literal in enumerate(outputs):
        yield f".names x{literal // 2} o{place}\n{1 - literal % 2} 1"
    yield ".end"
