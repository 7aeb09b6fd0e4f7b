"""Dot products measured on GPUs, and a search for the accumulator preset that fits.

The files have the layout of the repository north-numerical-computing/MATLAB-tensor-core: the folder
`model_validation/GPU/FORMAT` has one file each for the vectors `a` and `b`, the addends `c` and the results `d` of dot
products. A line in a file of vectors `a` or `b` holds the elements of one vector as float32 bit patterns in
hexadecimal. A line in a file of addends `c` or results `d` holds one float32 bit pattern in binary. If the results in a
file have the format FP16, the addends `c` were rounded to FP16 before the addition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.casts.arrays import decode, encode
from fp9.engines import ENGINES, PARAMETERS, Engine, operands_of
from fp9.formats import Format, Kind, format
from fp9.formats.rounding import Rounding
from fp9.oracle import sums as oracle
from fp9.oracle.terms import Term, total
from fp9.oracle.windows import window_top
from fp9.sums.products import dot

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SOURCE = "https://github.com/north-numerical-computing/MATLAB-tensor-core"
# Operand formats by the names of folders.
FORMATS = {"E4M3": "e4m3", "E5M2": "e5m2", "fp16": "fp16", "bf16": "bf16", "tf32": "tf32"}
OUTPUTS = ("fp32", "fp16")
_NAN = np.uint32(0x7FC00000)


@dataclass(frozen=True)
class Rows:
    """Dot products from one file of results: operand codes a and b (n, k), addends c (n,) and results d (n,)."""

    gpu: str
    operands: str
    output: str
    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[np.uint32]
    d: NDArray[np.uint32]

    def start(self, with_c: bool) -> NDArray[Any]:
        """Return the addends `c` as codes in the format of the results.

        If `with_c` is false, all returned codes are +0.
        """
        numbers = self.c.view(np.float32) if with_c else np.zeros(len(self.c), dtype=np.float32)
        codes: NDArray[Any] = encode(numbers, self.output, "rne", "inf")
        return codes

    def results(self, engine: Engine, with_c: bool, rows: slice = slice(None)) -> NDArray[np.uint32]:
        """Return the results of an accumulator model as FP32 bit patterns, in which all NaN have the same pattern."""
        operands, start = (self.operands, self.operands), self.start(with_c)[rows]
        codes = dot(self.a[rows], self.b[rows], *operands, engine, start, format_c=self.output)
        return with_one_nan(decode(codes, engine.addend_format).view(np.uint32))


@dataclass(frozen=True)
class Verdict:
    """The accumulator models that reproduce the most sums in a file of measured sums.

    `agree` is the number of reproduced sums. `with_c` states whether the models add C. Each entry of `rules` lists the
    preset names of one accumulator model, and the simplest model comes first. `differs` is the index of the first sum
    that the simplest model does not reproduce, or None.
    """

    rows: Rows
    rules: tuple[tuple[str, ...], ...]
    with_c: bool
    agree: int
    differs: int | None

    @property
    def presets(self) -> tuple[str, ...]:
        return self.rules[0]

    @property
    def explained(self) -> bool:
        return self.differs is None


@dataclass(frozen=True)
class Step:
    """One accumulation step of a sum: the addend, the number of products, and the exact and the rounded result.

    `top` and `last` are the exponents of the first and the last bit in the alignment window, or None if there is no
    window.
    """

    what: str
    products: int
    addend: float
    exact: float
    top: int | None
    last: int | None
    result: float


def with_one_nan(patterns: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.where(np.isnan(patterns.view(np.float32)), _NAN, patterns)


# --- files ----------------------------------------------------------------------------------------------------------


def read(folder: Path) -> Iterator[Rows]:
    """Yield the measured dot products in a folder, for each combination of GPU, operand format and output format.

    `folder` is a clone of MATLAB-tensor-core, or the folder model_validation in a clone. Raises ValueError if the
    folder has no measured sums, or if its files have different numbers of sums. Raises OSError for unreadable files.
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
    # Numbers that the format cannot represent are refused.
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
    """Return the accumulator presets that reproduce the most sums in a file of measured sums.

    Only presets with the output format of the file are tried. The function computes the sums of each preset with the
    addends `c` of the file, and again with zero addends. If both computations reproduce equally many sums, the function
    returns the presets of the first computation, which uses the addends `c`.
    """
    tried = [(engine, with_c) for engine in _candidates(rows.output) for with_c in (True, False)]
    counts = [np.count_nonzero(rows.results(engine, with_c) == rows.d) for engine, with_c in tried]
    most = max(counts)
    with_c = next(c for (_, c), n in zip(tried, counts, strict=True) if n == most)
    rules = _rules(rows.operands, [e for (e, c), n in zip(tried, counts, strict=True) if (n, c) == (most, with_c)])
    different = np.flatnonzero(rows.results(ENGINES[rules[0][0]], with_c) != rows.d)
    return Verdict(rows, rules, with_c, int(most), int(different[0]) if different.size else None)


def _rules(operands: str, engines: list[Engine]) -> tuple[tuple[str, ...], ...]:
    # Models of GPU instructions for the given operand format come first. Next come models with narrow alignment
    # windows, because they rarely reproduce sums by chance. Of two models with equal windows, the model with fewer
    # changed parameters comes first.
    names: dict[Engine, list[str]] = {}
    for engine in engines:
        names.setdefault(engine.changed(name=""), []).append(engine.name)
    ordered = sorted(
        names,
        key=lambda engine: (
            not any(operands in operands_of(name) for name in names[engine]),
            engine.window.width or math.inf,
            _parameters(engine),
        ),
    )
    return tuple(tuple(names[engine]) for engine in ordered)


def _parameters(engine: Engine) -> int:
    return sum(parameter.of(engine) != parameter.default for parameter in PARAMETERS.values())


def _candidates(output: str) -> list[Engine]:
    return [engine for engine in ENGINES.values() if engine.addend_format.name == output and engine.step.group is None]


# --- one row --------------------------------------------------------------------------------------------------------


def steps(verdict: Verdict, row: int) -> list[Step]:
    """Return the accumulation steps of the sum in row `row`, computed with the first preset in `verdict.presets`."""
    rows = verdict.rows
    fmt, c = format(rows.operands), int(rows.start(verdict.with_c)[row])
    return steps_of(ENGINES[verdict.presets[0]], rows.a[row].tolist(), rows.b[row].tolist(), fmt, fmt, c)


def steps_of(
    engine: Engine, a: Sequence[int], b: Sequence[int], format_a: Format, format_b: Format, c: int
) -> list[Step]:
    """Return the rounded steps of one sum, or an empty list if all products are added exactly."""
    seen: list[oracle.Taken] = []
    products = oracle.product_terms(engine, a, b, format_a, format_b)
    oracle.dot(engine, products, oracle.code_term(c, engine.addend_format), seen=seen)
    return [_drawn(taken) for taken in seen]


def _drawn(taken: oracle.Taken) -> Step:
    engine = taken.engine
    terms = taken.products if taken.part is None else (taken.part,)
    top = None if engine.window.width is None else window_top(engine, taken.products, taken.addend)
    last = None if top is None or engine.window.width is None else top - engine.window.width
    fmt = engine.result.format if taken.part is None else engine.output
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
    summed = total([term.value for term in terms], Rounding.RNE)
    size = {Kind.NAN: math.nan, Kind.INF: math.inf}.get(summed.kind, float(summed.magnitude))
    return -size if summed.negative else size
