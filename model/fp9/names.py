"""Names that nobody has: one sentence that suggests the ones that are near."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_FEW = 8
"""Names that a sentence lists whole."""

_NEAR = 0.7
"""Similarity (difflib's ratio) from which a name may be what was meant."""


def unknown(what: str, name: object, known: Iterable[str], listing: str) -> str:
    """The sentence for a name that is not among the known ones; `listing` says where all of them stand.

    >>> unknown("unit", "fma_fp23", [f"unit_{i}" for i in range(9)] + ["fma_fp32"], "`fp9 units` lists all")
    "unknown unit 'fma_fp23'; did you mean fma_fp32? `fp9 units` lists all"
    """
    names = list(known)
    near = difflib.get_close_matches(str(name).lower(), names, n=3, cutoff=_NEAR)
    if near:
        return f"unknown {what} {name!r}; did you mean {_or(near)}? {listing}"
    if len(names) <= _FEW:
        return f"unknown {what} {name!r}; choose one of {', '.join(names)}"
    return f"unknown {what} {name!r}; {listing}"


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
