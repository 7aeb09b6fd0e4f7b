"""Count the instructions of the loops that compute matrix products, and the rate that the processor's ports allow.

Each engine's kernels are compiled in a new process. A loop of products adds one product to each sum of a register tile.
The instructions outside the loops that run once for each accumulation step are counted on the shortest path that
passes through the loops. The bound is for a processor with two 512-bit vector ports, two loads and one store a clock.
"""

from __future__ import annotations

import heapq
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import fp9
from benchmarks.matmul import ENGINES
from benchmarks.measure import Result
from fp9.kernels.tiles.vectors import REGISTER_BYTES, VECTORS

SIZE = 512
PRODUCTS = 512
"""Number of multiply-accumulates to which the counts refer."""
SGEMM = PRODUCTS / 32
"""Clocks for as many multiply-accumulates in float32, at two multiply-adds of 16 lanes a clock."""

_PROGRAM = """
import importlib, json, pkgutil, sys, time
import numpy as np
import fp9, fp9.kernels.tiles
from benchmarks.measure import Contender, measure
name, size = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
a, b = (fp9.operand(fp9.encode(rng.normal(size=(size, size)), "e4m3"), "e4m3") for _ in range(2))
x, y = (fp9.decode(side.codes, "e4m3").astype(np.float32) for side in (a, b))
contenders = [
    Contender("fp9", lambda: fp9.matmul(a, b, engine=name, threads=1)),
    Contender("NumPy", lambda: x @ y),
]
ours, theirs = measure(name, size**3, contenders, time.process_time)
found = []
for module in [module.name for module in pkgutil.iter_modules(fp9.kernels.tiles.__path__, "fp9.kernels.tiles.")]:
    for item in vars(importlib.import_module(module)).values():
        if getattr(item, "signatures", None) and item.__module__ == module:
            found += item.inspect_asm().values()
print(json.dumps((ours.rate / theirs.rate, found)))
"""

CLASSES = {
    "fma": r"vfn?m(add|sub)",
    "add, multiply": r"v(add|sub|mul)[ps]|vp(add|sub)",
    "logic, shift": r"vp?(and|or|xor|ternlog|sll|srl|sra|blend)",
    "compare, maximum": r"vp?(max|min|cmp|test)",
    "shuffle": r"v(p?broadcast|p?perm|p?shuf|p?extract|p?insert|pmov[sz]x|p?unpck)",
    "other": r"[vk]",
}
"""Patterns of mnemonics that need a vector port. The first pattern that matches counts."""
COLUMNS = (*CLASSES, "load", "store")


@dataclass
class Block:
    """Straight-line part of a function: its counts by class, and the labels of the blocks that may follow."""

    label: str
    counts: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    followers: list[str] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        return self.label in self.followers

    def add(self, line: str) -> None:
        name, _, operands = line.partition("\t")
        if name.startswith("j"):
            self.followers.append(operands)
        elif name[0] in "vk" and name != "vzeroupper":
            self.names[name] += 1
            target = re.split(r",\s*(?![^(]*\))", operands)[-1]
            if "(" in operands:
                self.counts["store" if "(" in target else "load"] += 1
            if not _is_moved(name, operands):
                self.counts[next(kind for kind, pattern in CLASSES.items() if re.match(pattern, name))] += 1


def _is_moved(name: str, operands: str) -> bool:
    """Return whether an instruction only loads, stores or renames a register, without a vector port."""
    copies = name.startswith("vmov") and "msk" not in name and "{%k" not in operands
    return copies or ("(" in operands and re.fullmatch(r"vp?broadcast(ss|sd|d|q)", name) is not None)


def functions(text: str) -> Iterator[tuple[str, list[Block]]]:
    """Yield the name and the blocks of each vector function with several rows in assembler code."""
    for match in re.finditer(r"^fp9\.kernels\.tiles\.\w+\.(\S+):\n(.*?)^\.Lfunc_end", text, re.M | re.S):
        blocks, goes_on = [Block("")], False
        for line in filter(None, map(str.strip, match[2].splitlines())):
            if line.startswith(".LBB"):
                label = line.partition(":")[0]
                blocks[-1].followers += [label] if goes_on or not blocks[-1].followers else []
                blocks.append(Block(label))
                goes_on = True
            elif not line.startswith((".", "#")):
                if blocks[-1].followers and not line.startswith("j"):
                    after = Block(f"{blocks[-1].label}+")
                    blocks[-1].followers.append(after.label)
                    blocks.append(after)
                blocks[-1].add(line)
                goes_on = not line.startswith(("jmp", "ret"))
        yield match[1], blocks


def between(blocks: dict[str, Block], first: str, last: str) -> Counter[str] | None:
    """Return the counts on the shortest path between two blocks, without these blocks, or None without a path."""
    queue: list[tuple[int, str, tuple[str, ...]]] = [(0, first, ())]
    seen = set()
    while queue:
        cost, label, path = heapq.heappop(queue)
        for follower in blocks[label].followers if label not in seen else ():
            if follower == last and (label != first or first != last):
                return sum((blocks[some].counts for some in path), Counter())
            if follower in blocks and not blocks[follower].is_loop:
                more = cost + blocks[follower].counts.total() + 1
                heapq.heappush(queue, (more, follower, (*path, follower)))
        seen.add(label)
    return None


def mixes(name: str, blocks: list[Block], products: int) -> Iterator[tuple[str, Counter[str]]]:
    """Yield a description and the counts for `PRODUCTS` multiply-accumulates, for each kind of loop in a function."""
    match = re.search(r"_(\d+)[a-z_]*\.(\d+)\.", name)
    assert match is not None, f"{name} names neither rows nor bits"
    rows, bits = int(match[1]), int(match[2])
    if rows == 1:  # for rows that fill no tile
        return
    sums = rows * VECTORS * 8 * REGISTER_BYTES // bits
    vectors, by_label = rows * VECTORS, {block.label: block for block in blocks}
    loops = [block for block in blocks if block.is_loop]
    for chains in sorted({block.counts["fma"] // vectors for block in loops if block.counts["fma"] >= vectors}):
        own = [block for block in loops if block.counts["fma"] // vectors == chains]
        tops = [block for block in loops if block.names["vpmaxsb"] and block.names["vpaddsb"]]
        longest = max((block.counts.total() for block in tops), default=0)
        tops = [block for block in tops if 2 * block.counts.total() > longest] if chains == 2 else []
        visited = sorted(own + tops, key=blocks.index)
        total: Counter[str] = Counter()
        for block in visited:
            turns = products / len(own) / (block.names["vpaddsb"] / rows if block in tops else 1)
            total.update({kind: count * turns for kind, count in block.counts.items()})
        ways = [
            between(by_label, block.label, following.label)
            for block, following in zip(visited, visited[1:] + visited[:1], strict=True)
        ]
        for way in ways if all(way is not None for way in ways) else []:
            total.update(way)
        scale = PRODUCTS / (sums * products)
        what = f"`{name.partition('.')[0]}`, {sums // rows} columns of {bits} bits"
        yield what, Counter({kind: count * scale for kind, count in total.items()})


def bound(counts: Counter[str]) -> float:
    """Return the largest possible rate, as a fraction of the largest rate of a product in float32."""
    ports = sum(counts[kind] for kind in CLASSES)
    return SGEMM / max(ports / 2, counts["load"] / 2, counts["store"])


def compiled(engine: str) -> tuple[float, list[str]]:
    """Return an engine's rate divided by NumPy's rate in float32, and the assembler code of its kernels."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        program = [sys.executable, "-c", _PROGRAM, engine, str(SIZE)]
        made = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    rate, texts = json.loads(made.stdout)
    return rate, texts


def rows(engine: str) -> list[str]:
    """Return the rows of the table for an engine: one for each kind of loop."""
    (rate, texts), products = compiled(engine), fp9.engine(engine).step.products
    found: dict[tuple[str, float], Counter[str]] = {}
    for text in texts:
        for name, blocks in functions(text):
            for what, counts in mixes(name, blocks, products):
                # A kernel may be compiled for several types of arguments. Variants for flags have more instructions.
                key = what, counts["fma"]
                found[key] = min(found.get(key, counts), counts, key=Counter.total)
    return [
        f"| `{engine}` | {what} | {' | '.join(f'{counts[kind]:.0f}' for kind in COLUMNS)} | {bound(counts):.2f} "
        f"| {rate:.2f} |"
        for (what, _), counts in found.items()
    ]


def run() -> list[Result]:
    """Print the counts as a table. The results are not rates, so the returned list is empty."""
    print(f"| engine | tile | {' | '.join(COLUMNS)} | bound | measured |\n|---|---|{'--:|' * (len(COLUMNS) + 2)}")
    for engine in ENGINES:
        print("\n".join(rows(engine)), flush=True)
    return []
