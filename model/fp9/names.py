"""Names of entries of catalogues: synonyms with their sources, and one sentence for names that nobody has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

_FEW = 8
"""Names that a sentence lists whole."""

_NEAR = 0.7
"""Similarity (difflib's ratio) from which a name may be what was meant."""

_SEPARATORS = re.compile(r"[\s_().:/-]+")


def plain(name: str) -> str:
    """A name in lower case without blanks and punctuation: what spellings of one name have in common.

    >>> plain("MXFP8 E4M3"), plain("round_ties-to-Even")
    ('mxfp8e4m3', 'roundtiestoeven')
    """
    return _SEPARATORS.sub("", name.lower())


class Synonyms:
    """Names that others have for the entries of a catalogue: letter case, blanks and punctuation do not matter.

    `by_source`: source -> name -> entry. `ambiguous`: name -> entry -> whose name it is; such a name is refused.
    Raises ValueError for a name that two sources have for different entries.
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
        """The entry of a name, None where nobody has it. Raises ValueError with the choices for an ambiguous name."""
        key = plain(name)
        if key in self.ambiguous:
            choices = [f"{entry} ({whose})" for entry, whose in self.ambiguous[key].items()]
            raise ValueError(f"{self.what} {name!r} is ambiguous; choose {_or(choices)}")
        return self._found.get(key)

    def of(self, entry: str) -> dict[str, list[str]]:
        """The names of an entry by source."""
        named = {source: [n for n, e in names.items() if e == entry] for source, names in self.by_source.items()}
        return {source: names for source, names in named.items() if names}

    def names(self) -> list[str]:
        """All names that are found."""
        return [name for names in self.by_source.values() for name in names]


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
