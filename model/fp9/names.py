"""Look-up of catalogue entries by name or synonym, with suggestions for unknown names."""

from __future__ import annotations

import contextlib
import difflib
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, TypeVar

_FEW = 8

# Minimum similarity of the names that an error message suggests (difflib's ratio).
_NEAR = 0.7

_SEPARATORS = re.compile(r"[\s_().:/-]+")


@functools.lru_cache(maxsize=1024)
def plain(name: str) -> str:
    """Return a name in lower case, without blanks and punctuation, so that its spellings compare equal.

    >>> plain("MXFP8 E4M3"), plain("round_ties-to-Even")
    ('mxfp8e4m3', 'roundtiestoeven')
    """
    return _SEPARATORS.sub("", name.lower())


class Synonyms:
    """Synonyms of a catalogue's entries, independent of letter case, blanks and punctuation.

    `by_source` maps each source of names, such as a package, to a dictionary from names to catalogue entries.
    `ambiguous` maps a name to all catalogue entries that the name may mean, each with its source. The constructor
    raises ValueError if two sources use one name for different entries.
    """

    def __init__(
        self,
        what: str,
        by_source: Mapping[str, Mapping[str, str]],
        ambiguous: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.what, self.by_source, self._found = what, by_source, dict[str, str]()
        self.ambiguous = {plain(name): choices for name, choices in (ambiguous or {}).items()}
        for name, entry in ((n, e) for names in by_source.values() for n, e in names.items()):
            if self._found.setdefault(plain(name), entry) != entry or plain(name) in self.ambiguous:
                raise ValueError(f"{what} {name!r} given for {entry}, and for another entry; call it ambiguous")

    def find(self, name: str) -> str | None:
        """Return the name of the catalogue entry that has the given synonym, or None if the synonym is unknown.

        Raises ValueError for an ambiguous name. The error message lists the possible entries.
        """
        key = plain(name)
        if key in self.ambiguous:
            choices = [f"{entry} ({whose})" for entry, whose in self.ambiguous[key].items()]
            raise ValueError(f"{self.what} {name!r} is ambiguous; choose {_or(choices)}")
        return self._found.get(key)

    def choices(self, name: str) -> list[str]:
        """Return all catalogue entries that a name may mean."""
        key = plain(name)
        return list(self.ambiguous.get(key, [self._found[key]] if key in self._found else []))

    def of(self, entry: str) -> dict[str, list[str]]:
        """Return a catalogue entry's synonyms, as a dictionary with a list of names for each source."""
        named = {source: [n for n, e in names.items() if e == entry] for source, names in self.by_source.items()}
        return {source: names for source, names in named.items() if names}

    def names(self) -> list[str]:
        """Return all unambiguous synonyms."""
        return [name for names in self.by_source.values() for name in names]


Record = TypeVar("Record")


def found_by(module: str, function: str) -> Callable[[type[Record]], type[Record]]:
    """Return a class decorator that changes `repr` of catalogue entries to a call, such as `format('e4m3')`.

    `function` is the name of the function in `module` that finds an entry by name. For other records, `repr` shows all
    fields.
    """

    def decorate(record: type[Record]) -> type[Record]:
        fields = record.__repr__

        def __repr__(self: Any) -> str:
            with contextlib.suppress(ValueError):
                if getattr(import_module(module), function)(self.name) == self:
                    return f"{function}({self.name!r})"
            return fields(self)

        record.__repr__ = __repr__  # type: ignore[method-assign]
        return record

    return decorate


def unknown(what: str, name: object, known: Iterable[str], listing: str) -> str:
    """Return the error message for an unknown name.

    `listing` is the last part of the message, which tells the user how to list all names.

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
