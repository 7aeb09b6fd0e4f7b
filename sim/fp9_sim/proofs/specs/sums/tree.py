"""Lemmas that specify a sum of many terms, computed by a tree of carry-save adders.

A negative term is stored as its ones' complement, so each stored term equals the signed term modulo 2^width - 1. One
lemma proves that a carry-save adder preserves the sum of any three numbers modulo 2^width - 1. A mathematical argument,
which no solver checks, extends the lemma to the sum of all terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fp9_sim.proofs.parts import Lemma

_CARRIES = "x & y | z & (x | y)"


def tree_lemmas(steps: tuple[str, ...], terms: Mapping[str, str], bits: int, inf: str, minus: str) -> Iterator[Lemma]:
    """Yield lemmas that specify the sum of all terms: the net `add.sum` of `bits` bits, and the sign `add.sign`.

    `terms` maps the net of each term to the net of its sign.
    """
    width = bits + 1
    found = f"whole[{width - 1}:0] + whole[{width}]"
    yield Lemma(
        "the sum of all terms, by carry-save adders",
        steps,
        (*_rows(terms, width), *_ended(width)),
        {
            "add.sum": "add.sum == magnitude",
            "add.sign": f"add.sign == ({inf} ? {minus} : total[{width - 1}])",
        },
        (found, found.split(" + ")[0]),
        gives=(f"add.sum >> {bits} == 0",),
        alike=True,
    )
    yield Lemma(
        "a carry-save adder: two rows of the sum of three",
        steps,
        (
            *_any(terms, width, "xyz"),
            f"  wire [{width - 1}:0] sums = x ^ y ^ z; wire [{width - 1}:0] carries = {_CARRIES};",
            f"  wire [{width + 1}:0] three = x + y + z; wire [{width + 1}:0] two = sums + {{carries, 1'b0}};",
        ),
        {},
        (_CARRIES, "x & y"),
        gives=("two == three",),
    )
    ring = f"{width + 3}'sd{(1 << width) - 1}"
    signed = f"wire signed [{width + 2}:0]"
    yield Lemma(
        "the last addition: magnitude and sign of the number that two rows are",
        steps,
        (
            *_any(terms, width, "xyz"),
            *_ended(width),
            f"  {signed} number = $signed(z); {signed} apart = $signed({{1'b0, x}}) + $signed({{1'b0, y}}) - number;",
            f"  wire same = apart == 0 || apart == {ring} || apart == 2 * {ring};",
            f"  wire fits = number < {1 << bits} && -number < {1 << bits};",
            f"  {signed} size = $signed({{1'b0, magnitude}});",
        ),
        {},
        (found, found.split(" + ")[0]),
        gives=(f"!(same && fits) || (total[{width - 1}] ? -size : size) == number",),
    )


def _any(terms: Iterable[str], width: int, names: str) -> Iterator[str]:
    yield f"  wire [{len(names) * width - 1}:0] any = {{{', '.join(terms)}}};"
    for place, name in enumerate(names):
        yield f"  wire [{width - 1}:0] {name} = any[{place * width} +: {width}];"


def _rows(terms: Mapping[str, str], width: int) -> Iterator[str]:
    rows = [f"row{place}" for place in range(len(terms))]
    for row, (term, sign) in zip(rows, terms.items(), strict=True):
        yield f"  wire [{width - 1}:0] {row} = {{{width}'d0, {term}}} ^ {{{width}{{{sign}}}}};"
    adders = 0
    while len(rows) > 2:
        groups, rows = [rows[first : first + 3] for first in range(0, len(rows), 3)], []
        for group in groups:
            if len(group) == 3:
                adders += 1
                yield from _adder(str(adders), group, width)
                group = [f"sums{adders}", f"carries{adders}"]
            rows += group
    yield f"  wire [{width - 1}:0] x = {rows[0]}; wire [{width - 1}:0] y = {rows[1]};"


def _adder(number: str, rows: list[str], width: int) -> Iterator[str]:
    """Yield Verilog for a carry-save adder whose top carry wraps around to bit 0."""
    x, y, z = rows
    yield f"  wire [{width - 1}:0] sums{number} = {x} ^ {y} ^ {z};"
    yield f"  wire [{width - 1}:0] moved{number} = {x} & {y} | {z} & ({x} | {y});"
    yield f"  wire [{width - 1}:0] carries{number} = {{moved{number}[{width - 2}:0], moved{number}[{width - 1}]}};"


def _ended(width: int) -> Iterator[str]:
    yield f"  wire [{width}:0] whole = x + y; wire [{width - 1}:0] total = whole[{width - 1}:0] + whole[{width}];"
    yield f"  wire [{width - 2}:0] magnitude = total[{width - 2}:0] ^ {{{width - 1}{{total[{width - 1}]}}}};"
