"""Check of all installed libraries, with a page: `python -m fp9_compare.diagnosis.libraries_page PAGE`."""

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

What each library does, as `fp9 check-python LIBRARY` finds it: all codes decoded; casts of all FP16 and BF16 numbers
and of FP32 numbers around every boundary of the format and of every exponent. "differ" counts the operations that are
not those of the policy named first, and what explains them follows; "unexplained" are left then.

This page is written by `python -m fp9_compare.diagnosis.libraries_page docs/results/libraries.md`;
the versions are those that were installed.
"""


def page(answers: dict[str, list[tuple[Row, Answer]]]) -> str:
    """Return the page's text, with a table for each library."""
    return "\n".join([_HEAD, *(line for name, rows in answers.items() for line in _section(name, rows))])


def _section(library: str, rows: list[tuple[Row, Answer]]) -> Iterator[str]:
    yield f"## {library} {libraries.version(library)}\n"
    yield "| type | format | direction | from | checked | differ | unexplained | what it does |"
    yield "|---|---|---|---|---:|---:|---:|---|"
    for row, answer in rows:
        found = answer.explained
        yield (
            f"| {row.name} | {answer.format.name} | {row.direction} | {row.source} | {answer.checked:,} | "
            f"{found.mismatches:,} | {found.unexplained:,} | {answer.says} |"
        )
    yield ""


def main(path: str) -> None:
    """Check every installed library, and write the page."""
    answers = {name: [(row, row.check()) for row in libraries.rows(name)] for name in libraries.installed()}
    write_whole(Path(path), page(answers))


if __name__ == "__main__":
    main(sys.argv[1])
