"""Neighbourhood of an engine: engines that differ in one field, or in a group of fields that can hide each other.

One field can hide another: a window hides how lower bits are truncated, a flush of results hides a flush of addends,
a chunk hides the order within it. The search therefore also changes such groups of fields together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fp9.engines import Engine
from fp9_compare.identify import fields
from fp9_compare.identify.unobservable import is_plain

if TYPE_CHECKING:
    from fp9_compare.identify.evidence import Evidence

ORDER = ("products", "chunk", "interleave")
"""Fields that say which products meet in a step."""


def single(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with any other value of any field."""
    for field in rows.fields:
        yield from fields.changed(engine, field, rows.interface)


def orders(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with every order of the elements, chunks or none as it has."""
    if engine.exact:
        yield engine
        return
    depth = rows.interface.depth
    for products in fields.sparse(range(1, depth + 1)):
        for chunk, run in [(None, None)] if engine.chunk is None else _chunks(products, depth):
            made = fields.with_values(engine, dict(zip(ORDER, (products, chunk, run), strict=True)))
            if made is not None:
                yield made


def _chunks(products: int, depth: int) -> Iterator[tuple[int, int | None]]:
    """Chunks of steps of so many products, and the neighbours assigned to each in turn.

    Of steps that follow each other up to the first chunk that holds all elements; of interleaved ones as many as leave
    no more than one step, and no more than one turn of each, without elements: more of them give the same sums. All
    neighbours of a step assigned at once follow each other, and the last chunk is filled.
    """
    yield from ((products * steps, None) for steps in range(1, -(-depth // products) + 1))
    for run in range(1, products + 1):
        if products % run == 0:
            most = -(-depth // max(products - 2 * run, run)) + 1
            yield from ((products * steps, run) for steps in range(1, most + 1))


def windowed(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with every window, and every way to cut and to add."""
    yield from combined(engine, rows, ("window", "truncation", "addend"))


def combined(engine: Engine, rows: Evidence, names: tuple[str, ...]) -> Iterator[Engine]:
    """The engine with all values of some fields; those that the record refuses or that change nothing left out."""
    values = {field.name: field.values for field in rows.fields}
    for chosen in itertools.product(*(values[name] for name in names)):
        made = fields.with_values(engine, dict(zip(names, chosen, strict=True)))
        if made is not None and fields.is_possible(made, rows.interface) and is_plain(made, rows.interface):
            yield made


def grouped(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with other values of the fields of each group, of numbers those nearby."""
    for names in _GROUPS:
        yield from _product(engine, names, rows)


def paired(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """The engine with other values of any two fields, of numbers those nearby; another order counts as one."""
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
            if value != getattr(engine, field.name):
                made = fields.with_values(engine, {field.name: value})
                if made is not None and fields.is_possible(made, rows.interface):
                    yield made


def _few_orders(engine: Engine, rows: Evidence) -> Iterator[Engine]:
    """Other orders nearby: steps, chunks and runs about as long as the engine's; and no chunks but the same total."""
    yield from _product(engine, ORDER, rows)
    unchunked = {"chunk": None, "interleave": None, "promotion": None, "result": engine.output}
    made = fields.with_values(engine, unchunked)
    if made is not None and fields.is_possible(made, rows.interface):
        yield made


_NEARBY = 2
"""How far numbers of a group are moved."""
_GROUPS = (
    ("window", "truncation", "addend", "zero_exponent"),
    ("result", "promotion", "chunk", "rounding", "addend"),
    ("result", "promotion", "overflow", "flush_result", "flush_addend"),
)
"""Fields of which one can hide another."""


def _product(engine: Engine, names: Sequence[str], rows: Evidence) -> Iterator[Engine]:
    values = {field.name: _nearby(field, engine, rows) for field in rows.fields if field.name in names}
    for chosen in itertools.product(*values.values()):
        made = fields.with_values(engine, dict(zip(values, chosen, strict=True)))
        if made is not None and fields.is_possible(made, rows.interface) and is_plain(made, rows.interface):
            yield made


def _nearby(field: fields.Field, engine: Engine, rows: Evidence) -> list[Any]:
    """A field's own value, those that are not whole numbers, and whole numbers nearby."""
    own = getattr(engine, field.name)
    if field.name in ORDER:
        return list(dict.fromkeys([own, *_nearby_order(engine, rows.interface.depth)[field.name]]))
    few = fields.beside(field, engine).values
    return [own, *(value for value in few if not fields.is_whole(value) or abs(value - own) <= _NEARBY)]


def _nearby_order(engine: Engine, depth: int) -> dict[str, list[int | None]]:
    """Steps as long, a product longer or shorter, twice and half; chunks of one step, of two and of all."""
    products = engine.products
    filled = -(-depth // products) * products
    return {
        "products": [max(products - 1, 1), products + 1, max(products // 2, 1), 2 * products],
        "chunk": [None, products, 2 * products, filled],
        "interleave": [None, 1, 2, products],
    }


def mutants(engine: Engine, rows: Evidence, count: int, rng: np.random.Generator) -> list[Engine]:
    """Engines with two or three fields at random."""
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
