"""Sparse random sums whose exponent differences are close to the bit widths of an accumulator."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import numpy as np

from fp9.engines import Engine
from fp9.formats import floor_log2
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.probes.operand_pool import OperandPool, Row
from fp9_compare.identify.vectors import Predictions, Vectors


class _Edges:
    """Generator of random sparse sums that test bit widths and the order of addition."""

    def __init__(self, p: OperandPool, engine: Engine, rng: Random) -> None:
        self._p, self._rng, self._engine = p, rng, engine
        self._order = engine.order(p.depth)
        self._widths = (engine.result.format.precision, engine.output.precision, (engine.window.width or 0) + 1)
        self._highest = max(min(p.highest, floor_log2(engine.result.format.max_magnitude) - 1), p.lowest)

    def row(self) -> Row:
        rng, p = self._rng, self._p
        top = rng.choice((self._highest, p.top, *[rng.randint(p.lowest, self._highest)] * 3))
        places = self._places(rng.randint(2, 5))
        terms = {place: self._below(top) for place in places}
        terms[places[0]] = self._product(top)
        against = rng.choice((0, 1, 1, len(places) - 1))
        for place, other in zip(places[:against], self._places(against), strict=False):
            terms[other] = p.negative(terms[place])
        rest = self._below(top) if rng.random() < 0.1 else None
        return "edges", terms, self._addend(top), rest

    def _drop(self, span: int) -> int:
        kind = self._rng.randrange(8)
        if kind < 5:
            return self._rng.choice(self._widths) + self._rng.randint(-2, 2)
        return self._rng.randint(0, 2 if kind == 5 else max(span, 0))

    def _product(self, exponent: int) -> tuple[int, int]:
        of = self._rng.choice((self._p.power, self._p.power, self._p.full, self._p.unlike))
        return of(exponent, self._rng.random() < 0.5)

    def _below(self, top: int) -> tuple[int, int]:
        return self._product(top - self._drop(top - self._p.lowest))

    def _places(self, count: int) -> list[int]:
        rng, length = self._rng, len(self._order)
        strides = (1, 1, 1, self._engine.step.products, self._engine.chunk.length or 1, rng.randint(1, length))
        gaps = itertools.accumulate((rng.choice(strides) for _ in range(count)), initial=rng.randrange(length))
        found = list(dict.fromkeys(self._order[place % length] for place in gaps))
        rng.shuffle(found)
        return found

    def _addend(self, top: int) -> float:
        rng, p, kind = self._rng, self._p, self._rng.randrange(8)
        if kind < 3:
            return 0.0
        exponent = top - self._drop(top - p.sum_lowest)
        if kind == 3:
            exponent = p.sum_lowest + rng.randrange(p.interface.output.precision + 3)
        if kind == 4:
            exponent = p.sum_highest - rng.randrange(3)
        exponent = min(max(exponent, p.sum_lowest), p.sum_highest)
        magnitude = rng.choice((2.0**exponent, p.next(exponent), p.largest(exponent)))
        return rng.choice((-1.0, 1.0)) * magnitude


def edges(interface: Interface, engine: Engine, count: int, rng: np.random.Generator) -> Vectors:
    """Return random sparse sums that distinguish an accumulator model from very similar models."""
    pool = OperandPool(interface)
    made = _Edges(pool, engine, Random(int(rng.integers(1 << 32))))
    return pool.vectors(made.row() for _ in range(count))


def residuals(interface: Interface, engine: Engine, vectors: Vectors) -> Vectors:
    """Return sums whose addend cancels the model's rounded result, so that the rounding error remains."""
    alone = replace(vectors, c=np.zeros(len(vectors)))
    results = Predictions(interface, alone).of(engine)
    assert results is not None, "one engine must accept the operands"
    numbers = results.view(np.float64)
    return replace(alone, c=np.where(np.isfinite(numbers), -numbers, 0.0))
