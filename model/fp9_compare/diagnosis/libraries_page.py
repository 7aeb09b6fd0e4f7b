"""Writes a page with the checks of all installed libraries: `python -m fp9_compare.diagnosis.libraries_page PAGE`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fp9.system.files import write_whole
from fp9_compare.diagnosis import libraries
from fp9_compare.diagnosis.libraries import Row
from fp9_compare.diagnosis.software import Answer

_HEAD = """\
# Casts and decodings of libraries

How do Python libraries cast to 8-bit floats, and how do they decode them? `fp9 check-python LIBRARY` compares a
library with fp9 and explains every difference.

Decoding is checked for all codes. Casts are checked for all FP16 and BF16 numbers, and for FP32 numbers around every
boundary of the format and of every exponent.

The last column names the policy of the library, and then its differences from that policy. "Differ" counts the results
with such a difference. "Unexplained" counts results that no known difference explains.

`python -m fp9_compare.diagnosis.libraries_page docs/results/libraries.md` writes this page, for the installed versions.
"""


def page(answers: dict[str, list[tuple[Row, Answer]]]) -> str:
    """Return the text of the page, with a table for each library."""
    sections = (line for name, rows in answers.items() for line in _section(name, rows))
    return "\n".join([_HEAD, _total([answer for rows in answers.values() for _, answer in rows]), "", *sections])


def _total(answers: list[Answer]) -> str:
    checked = sum(answer.checked for answer in answers)
    differ = sum(answer.explained.mismatches for answer in answers)
    unexplained = sum(answer.explained.unexplained for answer in answers)
    return f"In total, {checked:,} results were compared. {differ:,} differ, and {unexplained:,} are unexplained."


def _section(library: str, rows: list[tuple[Row, Answer]]) -> Iterator[str]:
    yield f"## {library} {libraries.version(library)}\n"
    yield "| type | format | direction | from | checked | differ | unexplained | what it does |"
    yield "|---|---|---|---|---:|---:|---:|---|"
    alike: dict[tuple[str, str, str, str], list[tuple[str, Answer]]] = {}
    for row, answer in rows:
        key = (row.name, answer.format.name, row.direction, answer.says)
        alike.setdefault(key, []).append((row.source, answer))
    for (name, fmt, direction, says), found in alike.items():
        sources = ", ".join(source for source, _ in found)
        checked = sum(answer.checked for _, answer in found)
        differ = sum(answer.explained.mismatches for _, answer in found)
        unexplained = sum(answer.explained.unexplained for _, answer in found)
        yield f"| {name} | {fmt} | {direction} | {sources} | {checked:,} | {differ:,} | {unexplained:,} | {says} |"
    yield ""


def main(path: str) -> None:
    """Check every installed library, and write the page."""
    answers = {name: [(row, row.check()) for row in libraries.rows(name)] for name in libraries.installed()}
    write_whole(Path(path), page(answers))


if __name__ == "__main__":
    main(sys.argv[1])
