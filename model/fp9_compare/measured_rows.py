"""Dot products measured on GPUs: reads their rows, and finds the preset that explains the rows of each file.

The rows are those of a clone of north-numerical-computing/MATLAB-tensor-core, in its own layout: in
`model_validation/GPU/FORMAT` a line of `a_GPU_FORMAT.txt` and of `b_GPU_FORMAT.txt` holds the elements of one vector as
float32 in hex, and a line of `c_GPU_fp32.txt` and of `d_GPU_OUTPUT.txt` one float32 in binary. For the output fp16, C
went in rounded to FP16, and d is an FP16 number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.engines import ENGINES, Engine
from fp9.formats import Format, Kind, format
from fp9.oracle import sums as oracle
from fp9.oracle.terms import Term, total
from fp9.oracle.windows import window_top
from fp9.rounding import Rounding
from fp9.sums.products import dot

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SOURCE = "https://github.com/north-numerical-computing/MATLAB-tensor-core"
FORMATS = {"E4M3": "e4m3", "E5M2": "e5m2"}
"""Folders of operand formats, and what they hold."""
OUTPUTS = ("fp32", "fp16")
_NAN = np.uint32(0x7FC00000)


@dataclass(frozen=True)
class Rows:
    """Rows of one file of results: codes a, b (n, k), FP32 patterns c and d (n,)."""

    gpu: str
    operands: str
    output: str
    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[np.uint32]
    d: NDArray[np.uint32]

    def start(self, with_c: bool) -> NDArray[Any]:
        """Codes of C in the format of the output; of +0 without it."""
        numbers = self.c.view(np.float32) if with_c else np.zeros(len(self.c), dtype=np.float32)
        codes: NDArray[Any] = encode(numbers, self.output, "rne", "inf")
        return codes

    def results(self, engine: Engine, with_c: bool, rows: slice = slice(None)) -> NDArray[np.uint32]:
        """What an engine gives, as FP32 patterns with one NaN."""
        operands, start = (self.operands, self.operands), self.start(with_c)[rows]
        codes = dot(self.a[rows], self.b[rows], *operands, engine, start, format_c=self.output)
        return with_one_nan(decode(codes, engine.addend_format).view(np.uint32))


@dataclass(frozen=True)
class Verdict:
    """What explains a file best: rules that agree in `agree` of its rows, and whether C was added.

    A rule is one engine with all names that presets have for it. The first rule is the simplest; these rows do not tell
    the others apart from it. The first row that differs from it is `differs`; None where all agree.
    """

    rows: Rows
    rules: tuple[tuple[str, ...], ...]
    with_c: bool
    agree: int
    differs: int | None

    @property
    def presets(self) -> tuple[str, ...]:
        """The names of the simplest rule."""
        return self.rules[0]

    @property
    def explained(self) -> bool:
        """Whether every row agrees."""
        return self.differs is None


@dataclass(frozen=True)
class Step:
    """One rounding of a sum: how many products met the addend, the window they were cut to, and what came of it.

    `top` is the exponent the window hangs at, `last` that of its last place; None where nothing is cut.
    """

    what: str
    products: int
    addend: float
    exact: float
    top: int | None
    last: int | None
    result: float


def with_one_nan(patterns: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """FP32 patterns with every NaN the same."""
    return np.where(np.isnan(patterns.view(np.float32)), _NAN, patterns)


# --- files ----------------------------------------------------------------------------------------------------------


def read(folder: Path) -> Iterator[Rows]:
    """The rows of every GPU, format and output in a clone, or in its folder model_validation.

    Raises ValueError where there are none, and for files that do not fit together; OSError for what cannot be read.
    """
    inner = folder / "model_validation"
    found = sorted(path for path in (inner if inner.is_dir() else folder).glob("*/*") if path.name in FORMATS)
    if not found:
        raise ValueError(f"{folder} has no folder GPU/E4M3 or GPU/E5M2 with rows; give a clone of {SOURCE}")
    for path in found:
        yield from _read_format(path)


def _read_format(path: Path) -> Iterator[Rows]:
    gpu, name = path.parent.name, path.name
    operands = format(FORMATS[name])
    a, b = (_codes(path / f"{letter}_{gpu}_{name}.txt", operands) for letter in "ab")
    c = _patterns(path / f"c_{gpu}_fp32.txt")
    for output in OUTPUTS:
        file = path / f"d_{gpu}_{output}.txt"
        if not file.exists():
            continue
        d = _patterns(file)
        if not (a.shape == b.shape and len(a) == len(c) == len(d)):
            lengths = f"a {a.shape}, b {b.shape}, c {c.shape} and d {d.shape}"
            raise ValueError(f"{file}: rows of shapes {lengths} given; give files of equally many rows")
        yield Rows(gpu, operands.name, output, a, b, c, with_one_nan(d))


def _codes(path: Path, fmt: Format) -> NDArray[Any]:
    """Vectors of hex float32 as codes of a format; ValueError for what is no number of it."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    if len({len(line) for line in lines}) != 1:
        raise ValueError(f"{path}: lines of unequal length given, or none; give one vector a line")
    numbers = _parsed(path, [word for line in lines for word in line], 16).view(np.float32)
    codes = encode(numbers, fmt)
    if not np.array_equal(decode(codes, fmt).astype(np.float32), numbers, equal_nan=True):
        raise ValueError(f"{path}: a number that is not in {fmt.name} given; give float32 patterns of its numbers")
    return np.asarray(codes).reshape(len(lines), -1)


def _patterns(path: Path) -> NDArray[np.uint32]:
    return _parsed(path, path.read_text().split(), 2)


def _parsed(path: Path, words: list[str], base: int) -> NDArray[np.uint32]:
    try:
        return np.array([int(word, base) for word in words], dtype=np.uint32)
    except (ValueError, OverflowError):
        digits = {2: "0 and 1", 16: "hex digits"}[base]
        raise ValueError(f"{path}: words that are no 32 bits given; give float32 patterns in {digits}") from None


# --- verdicts -------------------------------------------------------------------------------------------------------


def explain(rows: Rows) -> Verdict:
    """The rules of presets with this output that agree in most rows; of equal ones those that add C."""
    tried = [(engine, with_c) for engine in _candidates(rows.output) for with_c in (True, False)]
    counts = [np.count_nonzero(rows.results(engine, with_c) == rows.d) for engine, with_c in tried]
    most = max(counts)
    with_c = next(c for (_, c), n in zip(tried, counts, strict=True) if n == most)
    rules = _rules([e for (e, c), n in zip(tried, counts, strict=True) if (n, c) == (most, with_c)])
    different = np.flatnonzero(rows.results(ENGINES[rules[0][0]], with_c) != rows.d)
    return Verdict(rows, rules, with_c, int(most), int(different[0]) if different.size else None)


def _rules(engines: list[Engine]) -> tuple[tuple[str, ...], ...]:
    """The names of engines that differ in nothing else together; the simplest engine first.

    A narrower window says more about a row: sums without one agree with all that lose no bit. Of equal windows that
    with fewer parameters is the simpler.
    """
    names: dict[Engine, list[str]] = {}
    for engine in engines:
        names.setdefault(replace(engine, name=""), []).append(engine.name)
    ordered = sorted(names, key=lambda engine: (engine.window or math.inf, _parameters(engine)))
    return tuple(tuple(names[engine]) for engine in ordered)


def _parameters(engine: Engine) -> int:
    """How many parameters an engine has that are not those of a fused multiply-add."""
    return sum(getattr(engine, field.name) != field.default for field in fields(Engine))


def _candidates(output: str) -> list[Engine]:
    """Presets whose total is read as this output, but those of block-scaled elements alone."""
    return [engine for engine in ENGINES.values() if engine.addend_format.name == output and engine.group is None]


# --- one row --------------------------------------------------------------------------------------------------------


def steps(verdict: Verdict, row: int) -> list[Step]:
    """The roundings of a row as the verdict's simplest rule takes them, in exact arithmetic."""
    rows = verdict.rows
    fmt, c = format(rows.operands), int(rows.start(verdict.with_c)[row])
    return steps_of(ENGINES[verdict.presets[0]], rows.a[row].tolist(), rows.b[row].tolist(), fmt, fmt, c)


def steps_of(
    engine: Engine, a: Sequence[int], b: Sequence[int], format_a: Format, format_b: Format, c: int
) -> list[Step]:
    """The roundings of one sum of codes as an engine takes them, in exact arithmetic; none of an engine that sums the
    whole at once.
    """
    seen: list[oracle.Taken] = []
    products = oracle.product_terms(engine, a, b, format_a, format_b)
    oracle.dot(engine, products, oracle.code_term(c, engine.addend_format), seen=seen)
    return [_drawn(taken) for taken in seen]


def _drawn(taken: oracle.Taken) -> Step:
    engine = taken.engine
    terms = taken.products if taken.part is None else (taken.part,)
    top = None if engine.window is None else window_top(engine, taken.products, taken.addend)
    last = None if top is None or engine.window is None else top - engine.window
    fmt = engine.result if taken.part is None else engine.output
    return Step(
        what="step" if taken.part is None else "chunk joins",
        products=len(taken.products),
        addend=_number(taken.addend),
        exact=_sum([*terms, taken.addend]),
        top=top,
        last=last,
        result=float(decode([taken.code], fmt)[0]),
    )


def _number(term: Term) -> float:
    return _sum([term])


def _sum(terms: list[Term]) -> float:
    """The exact sum as float64."""
    summed = total([term.value for term in terms], Rounding.RNE)
    size = {Kind.NAN: math.nan, Kind.INF: math.inf}.get(summed.kind, float(summed.magnitude))
    return -size if summed.negative else size
