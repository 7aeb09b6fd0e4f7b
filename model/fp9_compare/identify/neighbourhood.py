"""Accumulator models that differ from a given model in one field or in a few fields.

One field can hide the effect of another field: a wrong window width can hide a wrong truncation mode.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.engines import PARAMETERS, Engine
from fp9_compare.identify import fields
from fp9_compare.identify.unobservable import is_plain

if TYPE_CHECKING:
    from fp9_compare.identify.evidence import Evidence

ORDER = ("products", "chunk", "interleave")
"""Fields that determine which products are added in the same step."""


def single(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    for field in rows.fields:
        yield from fields.changed(engine, field, rows.interface)


def orders(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """Yield a copy of the accumulator model `engine` for each possible order of addition."""
    if engine.step.exact:
        yield engine
        return
    depth = rows.interface.depth
    for products in fields.sparse(range(1, depth + 1)):
        for chunk, run in [(None, None)] if engine.chunk.length is None else _chunks(products, depth):
            made = fields.with_values(engine, dict(zip(ORDER, (products, chunk, run), strict=True)))
            if made is not None:
                yield made


def _chunks(products: int, depth: int) -> Iterator[tuple[int, int | None]]:
    # Most pairs that repeat the order of addition of another pair are left out.
    yield from ((products * steps, None) for steps in range(1, -(-depth // products) + 1))
    for run in range(1, products + 1):
        if products % run == 0:
            most = -(-depth // max(products - 2 * run, run)) + 1
            yield from ((products * steps, run) for steps in range(1, most + 1))


def windowed(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    yield from combined(engine, rows, ("window", "truncation", "addend"))


def combined(engine: Engine, rows: Evidence, names: tuple[str, ...]) -> Iterator[Engine]:
    values = {field.name: field.values for field in rows.fields}
    for chosen in itertools.product(*(values[name] for name in names)):
        made = fields.with_values(engine, dict(zip(names, chosen, strict=True)))
        if made is not None and fields.is_possible(made, rows.interface) and is_plain(made, rows.interface):
            yield made


def grouped(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    for names in _GROUPS:
        yield from _product(engine, names, rows)


def paired(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """Yield copies of the accumulator model `engine` that differ from `engine` in two fields."""
    # The fields in `ORDER` count as one field. A field also counts as one with the fields that conflict with it.
    few = [fields.beside(field, engine) for field in rows.fields if field.name not in ORDER]
    for order in _few_orders(engine, rows):
        yield from _with_another(order, few, rows)
    for place, field in enumerate(few):
        for changed in fields.changed(engine, field, rows.interface):
            forced = len(fields.differences(engine, changed)) > 1
            yield from _with_another(changed, few if forced else few[place + 1 :], rows)


def _with_another(engine: Engine, others: Iterable[fields.Field], rows: Evidence) -> Iterator[Engine]:
    for field in others:
        for value in field.values:
            if value != PARAMETERS[field.name].of(engine):
                made = fields.with_values(engine, {field.name: value})
                if made is not None and fields.is_possible(made, rows.interface):
                    yield made


def _few_orders(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    yield from _product(engine, ORDER, rows)
    unchunked = {"chunk": None, "interleave": None, "promotion": None, "result": engine.output}
    made = fields.with_values(engine, unchunked)
    if made is not None and fields.is_possible(made, rows.interface):
        yield made


_NEARBY = 2
# These fields are changed together, because one field can hide the effect of another field.
_GROUPS = (
    ("window", "truncation", "addend", "zero_exponent"),
    ("result", "promotion", "chunk", "rounding", "addend"),
    ("result", "promotion", "overflow", "flush_result", "flush_addend"),
)


def _product(engine: Engine, names: Sequence[str], rows: Evidence) -> Iterator[Engine]:
    values = {field.name: _nearby(field, engine, rows) for field in rows.fields if field.name in names}
    for chosen in itertools.product(*values.values()):
        made = fields.with_values(engine, dict(zip(values, chosen, strict=True)))
        if made is not None and fields.is_possible(made, rows.interface) and is_plain(made, rows.interface):
            yield made


def _nearby(field: fields.Field, engine: Engine, rows: Evidence) -> list[Any]:
    own = PARAMETERS[field.name].of(engine)
    if field.name in ORDER:
        return list(dict.fromkeys([own, *_nearby_order(engine, rows.interface.depth)[field.name]]))
    few = fields.beside(field, engine).values
    return [own, *(value for value in few if not fields.is_whole(value) or abs(value - own) <= _NEARBY)]


def _nearby_order(engine: Engine, depth: int) -> dict[str, list[int | None]]:
    products = engine.step.products
    filled = -(-depth // products) * products
    return {
        "products": [max(products - 1, 1), products + 1, max(products // 2, 1), 2 * products],
        "chunk": [None, products, 2 * products, filled],
        "interleave": [None, 1, 2, products],
    }


def mutants(engine: Engine, rows: Evidence, count: int, rng: np.random.Generator) -> list[Engine]:
    choices = rows.fields
    found = []
    for _ in range(count):
        changed = engine
        for place in rng.choice(len(choices), rng.integers(2, 4), replace=False):
            field = choices[place]
            value = field.values[rng.integers(len(field.values))]
            changed = next(fields.changed(changed, fields.Field(field.name, (value,)), rows.interface), changed)
        found.append(changed)
    return found
