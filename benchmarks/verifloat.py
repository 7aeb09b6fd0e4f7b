"""Compare the C model with `libverifloat`: codes, flags and speed on one core.

`python -m benchmarks.verifloat FOLDER`, where FOLDER is the unpacked wheel of VeriFloat from PyPI.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from fp9.cmodel import files, library_header
from fp9.cmodel.text import filled
from fp9.formats import format
from fp9.units import unit

NAMES = {"e4m3": "e4m3, fn, saturate", "e5m2": "e5m2, saturate", "fp16": "e5m10, saturate", "bf16": "e8m7, saturate"}
"""VeriFloat's name of each format, by the name in fp9."""

ROUNDINGS = ("rne", "rtz", "rup", "rdn", "rna")

_PROGRAM = """\
#include <stdio.h>
#include <time.h>
#include <verifloat.h>
#include "fp9_formats.h"
#include "fp9_fma_fp32_ocp.h"
enum { SIZE = 1 << 16, TURNS = 16 };
static uint32_t number[SIZE], addend[SIZE];
static uint8_t a[SIZE], b[SIZE];
static uint64_t sum;

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void fill(void)
{
    uint32_t random = 1;
    for (int i = 0; i < SIZE; ++i) {
        random ^= random << 13; random ^= random >> 17; random ^= random << 5;
        /* Finite numbers: VeriFloat alone has signalling NaN. */
        number[i] = (random & 0x807FFFFF) | (113 + (random >> 24) % 24) << 23;
        if (i & 1 && (random >> 23 & 255) != 255) number[i] = random;
        addend[i] = number[(i * 7 + 3) % SIZE];
        a[i] = (uint8_t)(random >> 3);
        b[i] = (uint8_t)(random >> 19);
    }
}

static void report(const char *what, double ours, double theirs, int wrong)
{
    double million = 1e-6 * SIZE * TURNS;
    printf("%-16s %8.1f M/s, libverifloat %6.1f M/s, ratio %5.1f, %d of %d differ\\n", what, million / ours,
           million / theirs, theirs / ours, wrong, SIZE);
}

int main(void)
{
    const vf_fmt *fp32 = vf_format("e8m23");
    double start, ours, theirs;
    int turn, i, wrong, theirs_flags;
    uint32_t flags;
    fill();
@{blocks}
    return (int)(sum & 1);
}
"""

_BLOCK = """\
    {
        @{before}
        for (i = wrong = 0; i < SIZE; ++i) {
            uint64_t x = @{ours}, y = @{theirs};
            wrong += !(@{same}) || flags != (uint32_t)theirs_flags;
        }
        start = seconds();
        for (turn = 0; turn < TURNS; ++turn) for (i = 0; i < SIZE; ++i) sum += @{ours};
        ours = seconds() - start;
        start = seconds();
        for (turn = 0; turn < TURNS; ++turn) for (i = 0; i < SIZE; ++i) sum += @{theirs};
        theirs = seconds() - start;
        report("@{what}", ours, theirs, wrong);
    }
"""


def program() -> str:
    """Return the C program that compares conversions from FP32, and multiply-adds of 8-bit numbers."""
    blocks = [_encode(name, mode) for name in NAMES for mode in ROUNDINGS]
    return filled(_PROGRAM, {"blocks": "".join([*blocks, _fma()])})


def _encode(name: str, mode: str) -> str:
    words = {
        "what": f"{name} {mode}",
        "before": f'const vf_fmt *to = vf_format("{NAMES[name]}, {mode}"); '
        f"const fp9_policy p = fp9_policy_of(FP9_{mode.upper()}, FP9_SATURATE);",
        "ours": f"fp9_{name}_from_f32(number[i], p, &flags)",
        "theirs": "vf_convert(to, fp32, number[i], &theirs_flags)",
        "same": f"x == y || (fp9_{name}_decode((uint32_t)x).kind == FP9_NAN && "
        f"fp9_{name}_decode((uint32_t)y).kind == FP9_NAN)",
    }
    return filled(_BLOCK, words)


def _fma() -> str:
    number = "vf_convert(fp32, e4m3, {}[i], 0)"
    call = f"vf_fma(fp32, {number.format('a')}, {number.format('b')}, addend[i], &theirs_flags)"
    words = {
        "what": "fma_fp32_ocp",
        "before": f'const vf_fmt *e4m3 = vf_format("{NAMES["e4m3"]}"); fma_fp32_ocp_in in = {{0, 0, 0, 0, 0}}; '
        "fma_fp32_ocp_out out;",
        "ours": "(in.a = a[i], in.b = b[i], in.c = addend[i], fma_fp32_ocp_model(&in, &out), flags = out.flags, "
        "out.result)",
        "theirs": call,
        "same": "x == y || ((x & 0x7FFFFFFF) > 0x7F800000 && (y & 0x7FFFFFFF) > 0x7F800000)",
    }
    return filled(_BLOCK, words)


def main(folder: Path) -> None:
    package = folder / "verifloat"
    texts = files(unit("fma_fp32_ocp")) | {"fp9_formats.h": library_header([format(name) for name in NAMES])}
    with tempfile.TemporaryDirectory() as name:
        for path, text in (texts | {"speed.c": program()}).items():
            Path(name, path).write_text(text)
        words = ["gcc", "-std=c99", "-O2", f"-I{package / 'include'}", "-o", "speed", "speed.c"]
        words += [str(package / "libverifloat.so"), f"-Wl,-rpath,{package}"]
        subprocess.run(words, cwd=name, check=True)
        subprocess.run([Path(name, "speed")], check=False)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).absolute())
