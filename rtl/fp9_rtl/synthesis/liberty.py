"""Parse Liberty files, the text format of cell libraries.

Source: Liberty User Guide 2017.06, volume 1, chapter 1 (groups, simple and complex attributes) and 2 (`function`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

_DROPPED = re.compile(r"/\*.*?\*/|//[^\n]*|\\\s*\n", re.DOTALL)
_STATEMENT = re.compile(
    r'(?P<name>\w+)\s*:\s*(?:"(?P<text>[^"]*)"|(?P<word>[^;{}\n]*?))\s*(?:;|\n|(?=\}))'
    r"|(?P<kind>\w+)\s*\((?P<arguments>[^()]*)\)\s*(?P<opens>\{)?"
    r"|(?P<closes>\})"
)


@dataclass(frozen=True)
class Group:
    """A Liberty group `kind (arguments) { ... }`."""

    kind: str
    arguments: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)  # the last value of each attribute
    groups: list[Group] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.arguments[0] if self.arguments else ""

    def of(self, *kinds: str) -> Iterator[Group]:
        return (group for group in self.groups if group.kind in kinds)


def read(text: str) -> Group:
    """Return the `library` group of a Liberty text.

    Raises ValueError if the text has no complete `library` group, or if a closing brace has no opening brace.
    """
    outside = Group("", ())
    opened = [outside]
    for match in _STATEMENT.finditer(_DROPPED.sub("", text)):
        if match["closes"]:
            if len(opened) == 1:
                raise ValueError("it closes a group that it did not open")
            opened.pop()
        elif match["opens"]:
            group = Group(match["kind"], _arguments(match["arguments"]))
            opened[-1].groups.append(group)
            opened.append(group)
        elif match["kind"]:
            opened[-1].attributes[match["kind"]] = match["arguments"]
        else:
            opened[-1].attributes[match["name"]] = match["text"] or match["word"] or ""
    library = next(outside.of("library"), None)
    if library is None or len(opened) > 1:
        raise ValueError("it has no complete library (...) { ... }")
    return library


def _arguments(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip('"') for part in text.split(",") if part.strip())


def numbers(text: str) -> list[float]:
    """Return the numbers in a complex Liberty attribute, such as `index_1`."""
    return [float(number) for number in re.findall(r"[-+0-9.][-+0-9.eE]*", text)]


_TOKEN = re.compile(r"\s*([A-Za-z_][\w\[\]]*|[01!'^*&+|()])")


@dataclass
class _Function:
    """Recursive-descent parser that evaluates a Liberty expression."""

    # The operator `!` or `'` binds most tightly, then `^`, then `*`, `&` or a space, and finally `+` or `|`.

    tokens: list[str]
    values: Mapping[str, bool]

    def take(self, *expected: str) -> bool:
        if self.tokens and self.tokens[0] in expected:
            self.tokens.pop(0)
            return True
        return False

    def any_of(self) -> bool:
        found = self.all_of()
        while self.take("+", "|"):
            found |= self.all_of()
        return found

    def all_of(self) -> bool:
        found = self.parity()
        while self.take("*", "&") or (self.tokens and self.tokens[0] not in ("+", "|", ")", "^", "'")):
            found &= self.parity()
        return found

    def parity(self) -> bool:
        found = self.one()
        while self.take("^"):
            found ^= self.one()
        return found

    def one(self) -> bool:
        if self.take("!"):
            return not self.one()
        if self.take("("):
            found = self.any_of()
            self.take(")")
        else:
            token = self.tokens.pop(0)
            found = token == "1" if token in "01" else self.values[token]
        while self.take("'"):
            found = not found
        return found


def holds(function: str, values: Mapping[str, bool]) -> bool:
    """Return the value of a Boolean Liberty expression, given the value of each pin.

    Raises KeyError for a name without a value, and IndexError for an incomplete expression.
    """
    return _Function(_TOKEN.findall(function), values).any_of()


def truth_table(function: str, inputs: tuple[str, ...]) -> tuple[bool, ...]:
    """Return the truth table over the pins `inputs`, of which the last changes fastest."""
    return tuple(
        holds(function, dict(zip(inputs, row, strict=True))) for row in product((False, True), repeat=len(inputs))
    )
