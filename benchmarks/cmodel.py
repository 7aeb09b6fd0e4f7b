"""Speed of the C model on one core, and `python -m benchmarks.cmodel UNIT...`: suites and random operations."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Result
from fp9.cmodel import files, library_header
from fp9.cmodel.text import ROUNDINGS, filled, identifier
from fp9.formats import format
from fp9.units import CATALOGUE, Unit, unit
from fp9.vectors import export, generate
from fp9_sim.batch import CModel
from fp9_sim.bench.scoreboard import Answers, mismatches

FORMATS = ("e4m3", "e5m2", "hif8")
UNITS = ("fma_fp32_ocp", "fma_dlfloat16_hfp8", "dot4_e8m13_ocp", "dot4_fp32_mxfp8", "dot16_fp32_nvfp4")
CHUNK = 1_000_000
"""Number of random operations that are compared together."""

_PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
@{includes}
enum { SIZE = 1 << 18, BYTES = 64 };
static uint32_t number[SIZE];
static uint8_t byte[SIZE + BYTES];
static uint32_t sum;

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

int main(void)
{
    double start;
    int i, turn;
    uint32_t random = 1, flags;
    for (i = 0; i < SIZE + BYTES; ++i) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        byte[i] = (uint8_t)(random >> 9);
        /* Around 1, so that most numbers are in the range of 8 bits. */
        if (i < SIZE) number[i] = (random & 0x807FFFFF) | (119 + (random >> 24) % 16) << 23;
    }
@{blocks}
    return (int)(sum & 1);
}
"""

_BLOCK = """\
    start = seconds();
    for (turn = 0; turn < 32; ++turn) {
        for (i = 0; i < SIZE; ++i) {
@{work}
        }
    }
    printf("@{name} %f\\n", 32e-6 * SIZE / (seconds() - start));
"""


def _encode(name: str, rounding: str) -> str:
    call = f"fp9_{identifier(format(name))}_from_f32(number[i], policy, &flags)"
    work = [
        f"            fp9_policy policy = fp9_policy_of({rounding}, FP9_SATURATE);",
        "            policy.random = byte[i];",
        f"            sum += {call} + flags;",
    ]
    return filled(_BLOCK, {"name": f"encode_{name}_{rounding[4:].lower()}", "work": "\n".join(work)})


def _operation(found: Unit) -> str:
    lines = [f"            {found.name}_in in;", f"            {found.name}_out out;"]
    for place, port in enumerate(found.inputs):
        value = f"byte[i + {place}]"
        if port.choices:
            value = "0"
        elif port.width > 8:
            value = "number[i]" if port.width > 16 else "number[i] >> 16"
        elif "scale" in port.name:
            value = f"120 + byte[i + {place}] % 16" if port.width == 8 else f"byte[i + {place}] & 0x3F"
        lines.append(f"            in.{port.name} = (uint{_bits(port.width)}_t)({value});")
    lines += [f"            {found.name}_model(&in, &out);", "            sum += out.result + out.flags;"]
    return filled(_BLOCK, {"name": found.name, "work": "\n".join(lines)})


def _bits(width: int) -> int:
    return next(bits for bits in (8, 16, 32, 64) if width <= bits)


def run() -> list[Result]:
    """Measure encodings with every rounding, multiply-adds and dot products, in millions per second on one core."""
    headers = {"fp9_formats.h": library_header([format(name) for name in FORMATS])}
    for name in UNITS:
        headers |= files(unit(name))
    modes = [text for mode, text in ROUNDINGS.items() if not mode.reads_source and not mode.needs_places]
    blocks = [_encode(name, text) for name in FORMATS for text in modes]
    blocks += [_operation(unit(name)) for name in UNITS]
    includes = "\n".join(f'#include "{name}"' for name in headers if name.endswith(".h"))
    program = filled(_PROGRAM, {"includes": includes, "blocks": "".join(blocks)})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in (headers | {"speed.c": program}).items():
            (folder / path).write_text(text)
        subprocess.run(["gcc", "-std=c99", "-O2", "-o", "speed", "speed.c"], cwd=folder, check=True)
        lines = subprocess.run([folder / "speed"], capture_output=True, text=True, check=False).stdout.splitlines()
    print(
        "lines of headers:",
        ", ".join(f"{path} {text.count(chr(10))}" for path, text in headers.items() if path[-1] == "h"),
    )
    return [Result(f"C model, {word}", "fp9", float(rate)) for word, rate in map(str.split, lines)]


def _random_mismatches(found: Unit, model: CModel, size: int, seed: int) -> int:
    """Count the mismatches of the C model in a random suite."""
    vectors = generate(found, "random", size, seed)
    return mismatches(vectors, Answers(model(vectors.inputs), {}), 0)[1]


def checked(found: Unit, count: int) -> dict[str, int]:
    """Compare the C model with the golden model, and return the number of operations of each suite.

    The first suite with a mismatch ends the program.
    """
    done: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in files(found).items():
            (folder / path).write_text(text)
        words = ["gcc", "-std=c99", "-O2", "-o", "bench", f"{found.name}_bench.c"]
        subprocess.run(words, cwd=folder, check=True)
        for suite in ("smoke", "corner"):
            vectors = generate(found, suite)
            compared = subprocess.run([folder / "bench", export(vectors, folder)], capture_output=True, text=True)
            if compared.returncode:
                sys.exit(f"{found.name}, {suite}: {compared.stdout}")
            done[suite] = len(vectors)
        model = CModel(found)
        for seed, start in enumerate(range(0, count, CHUNK)):
            if wrong := _random_mismatches(found, model, min(CHUNK, count - start), seed):
                sys.exit(f"{found.name}, random, seed {seed}: {wrong} mismatches")
        done["random"] = count
    print(f"{found.name}: " + ", ".join(f"{size:,} {suite}" for suite, size in done.items()) + " agree", flush=True)
    return done


def record(path: Path, name: str, done: dict[str, int]) -> None:
    """Write the number of a unit's operations to a record file, beside other units."""
    units = json.loads(path.read_text()) if path.is_file() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dict(sorted((units | {name: done}).items())), indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("units", nargs="*", metavar="UNIT")
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument(
        "--record", type=Path, help="file of numbers of operations, such as records/cmodel/operations.json"
    )
    given = parser.parse_args()
    for name in given.units or CATALOGUE:
        done = checked(unit(name), given.count)
        if given.record:
            record(given.record, name, done)
