"""Measure how time and memory grow with the size of the data, and the memory of a large matrix product, on Linux.

Each measurement runs in a new process. The processor time includes child processes, and the memory is the peak during
the operation, minus the memory before the operation and before its inputs exist.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.measure import Result


@dataclass(frozen=True)
class Operation:
    """Function `call(size)` with its imports, measured for each size. `prepare(size)` returns the function's inputs."""

    name: str
    unit: str
    sizes: tuple[int, ...]
    prepare: str
    call: str

    def measured(self, size: int) -> tuple[float, float, float]:
        """Return the processor time in seconds, the memory in bytes, and the bytes of inputs and result."""
        program = _PROGRAM.format(prepare=self.prepare, call=self.call, first=self.sizes[0] // 2, size=size)
        made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        seconds, memory, data = json.loads(made.stdout.splitlines()[-1])
        return seconds, memory, data


_PROGRAM = """
import json, os, resource, tempfile, time
import numpy as np
import fp9

def codes(rows, columns):
    numbers = np.random.default_rng(rows + columns).integers(0, 256, (rows, columns), np.uint8)
    numbers &= 0x6F  # all numbers are finite
    return numbers

def seconds():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime

def memory(field):
    lines = open("/proc/self/status").read().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith(field))
    return 1024 * (own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)

def nbytes(some):
    return sum(x.nbytes for x in some if isinstance(x, np.ndarray))

def prepare(n):
    {prepare}

def call(n, inputs):
    {call}

os.environ["FP9_RECORDS"] = folder = tempfile.mkdtemp()
call({first}, prepare({first}))  # loads modules and kernels
open("/proc/self/clear_refs", "w").write("5")  # forget the peak
base = memory("VmRSS")
inputs = prepare({size})
begun = seconds()
result = call({size}, inputs)
print(json.dumps((seconds() - begun, memory("VmHWM") - base, nbytes(inputs) + nbytes([result]))))
"""

_MULTIPLY = "return fp9.matmul(*inputs, 'e4m3', 'e4m3', 'hopper', threads=1)"
_EXPORT = """from fp9.vectors import export, generate
    return export(generate('{}', 'random', n), tempfile.mkdtemp())"""
_SWEEP = """from fp9_sim.sweeps import Plan, sweep
    return sweep(Plan(fp9.units.unit('fma_fp32'), count=n << 20), folder=tempfile.mkdtemp(), workers=1)"""
_IDENTIFY = """from fp9_compare.identify import Box, Interface, fit
    def ask(a, b, c):
        return fp9.dot(a, b, 'e4m3', 'e4m3', 'hopper', c, format_c='fp32')
    return fit(Box('hopper', Interface('e4m3', 'e4m3', 'fp32', n), ask))"""
_DECADE = (1, 2, 5, 10)


def _times(smallest: int) -> tuple[int, ...]:
    return tuple(smallest * factor for factor in _DECADE)


OPERATIONS = (
    Operation("`matmul` by `hopper`, n x n x n", "n", _times(400), "return codes(n, n), codes(n, n)", _MULTIPLY),
    Operation(
        "`matmul` by `hopper`, n x 1024 x 1024",
        "n",
        _times(1024),
        "return codes(n, 1024), codes(1024, 1024)",
        _MULTIPLY,
    ),
    Operation(
        "`matmul` by `hopper`, 1024 x n x 1024", "n", _times(1024), "return codes(1024, n), codes(n, 1024)", _MULTIPLY
    ),
    Operation(
        "`matmul` by `hopper`, 1024 x 1024 x n",
        "n",
        _times(1024),
        "return codes(1024, 1024), codes(1024, n)",
        _MULTIPLY,
    ),
    Operation(
        "`quantise` to MXFP8",
        "numbers",
        _times(1 << 20),
        "return [np.random.default_rng(0).standard_normal(n, np.float32)]",
        "return fp9.quantise(*inputs, 'mxfp8_e4m3', threads=1)",
    ),
    Operation("`vectors export fma_fp32`", "operations", _times(20_000), "return []", _EXPORT.format("fma_fp32")),
    Operation(
        "`vectors export mac_dlfloat16`", "operations", _times(20_000), "return []", _EXPORT.format("mac_dlfloat16")
    ),
    Operation("`sweep fma_fp32`", "million operations", _times(2), "return []", _SWEEP),
    Operation("`identify`", "products of a sum", _times(32), "return []", _IDENTIFY),
)

LARGE = Operation(
    "large product",
    "n",
    (8192,),
    "return codes(n, n), codes(n, n)",
    "return fp9.matmul(*inputs, 'e4m3', 'e4m3', 'fma_fp32', threads=1)",
)


def exponent(sizes: tuple[int, ...], values: list[float]) -> float:
    """Return the slope of a line, fitted by least squares to the logarithms of positive values against sizes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def run() -> list[Result]:
    """Print the fitted exponents as a table. The results are not rates, so the returned list is empty."""
    print("| operation | sizes | seconds | exponent of time | MiB | exponent of memory |\n|---|---|--:|--:|--:|--:|")
    for operation in OPERATIONS:
        seconds, memory, _ = map(list, zip(*map(operation.measured, operation.sizes), strict=True))
        sizes = f"{operation.sizes[0]:,} to {operation.sizes[-1]:,} {operation.unit}"
        mebibytes = [max(x / 2**20, 1.0) for x in memory]  # smaller differences are noise
        print(
            f"| {operation.name} | {sizes} | {seconds[0]:.2f} to {seconds[-1]:.2f} "
            f"| {exponent(operation.sizes, seconds):.2f} | {mebibytes[0]:.0f} to {mebibytes[-1]:.0f} "
            f"| {exponent(operation.sizes, mebibytes):.2f} |",
            flush=True,
        )
    (size,) = LARGE.sizes
    spent, peak, data = LARGE.measured(size)
    print(f"\n{size:,}^3: {spent:.0f} s, {peak / 2**20:.0f} MiB, {peak / data:.2f} times operands and result")
    return []
