"""Selection of the accumulator model for `a @ b`, by a context manager or by an array's attribute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from fp9.engines import Engine
from fp9.engines import engine as find_engine

_STATED: ContextVar[Engine | None] = ContextVar("accumulator", default=None)


def accumulator(name: Engine | str) -> AbstractContextManager[Engine]:
    """Return a context manager that sets the accumulator for `a @ b`, `fp9.matmul` and `fp9.dot`.

    The context manager yields the `Engine`, and has effect in the current thread or task. `name` is an `Engine` or a
    name that `fp9.engine` accepts.

    >>> import fp9
    >>> a = fp9.array([[448.0, 2.0**-7]], "e4m3")
    >>> with fp9.accumulator("h100 wgmma"):
    ...     a @ fp9.array([[1.0], [1.0]], "e4m3")
    Array([[448.0]], e8m13)

    Raises ValueError for an unknown or ambiguous name. Raises TypeError if `name` is neither a string nor an `Engine`.
    """
    return _stating(find_engine(name))


@contextmanager
def _stating(engine: Engine) -> Iterator[Engine]:
    token = _STATED.set(engine)
    try:
        yield engine
    finally:
        _STATED.reset(token)


def stated_accumulator(*owners: Engine | None) -> Engine | None:
    """Return the arrays' accumulator model, or else the model set by `fp9.accumulator`."""
    own = list(dict.fromkeys(owner for owner in owners if owner is not None))
    if len(own) > 1:
        raise ValueError(f"arrays with the accumulators {own[0].name} and {own[1].name} given; name one as engine")
    return own[0] if own else _STATED.get()


def required_accumulator(*owners: Engine | None) -> Engine:
    engine = stated_accumulator(*owners)
    if engine is None:
        raise ValueError(
            'a product of arrays given without an accumulator; state one, as in `with fp9.accumulator("hopper"): a @ b`'
            ' or fp9.matmul(a, b, engine="hopper"); fp9.accumulators() lists all'
        )
    return engine
