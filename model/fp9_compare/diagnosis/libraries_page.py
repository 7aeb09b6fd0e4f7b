"""Check of all installed libraries, with a record and a documentation page of the results.

The command `python -m fp9_compare.diagnosis.libraries_page records/third-party/libraries.json` writes the record.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fp9.system.files import write_whole
from fp9_compare.diagnosis import libraries
from fp9_compare.diagnosis.libraries import Row
from fp9_compare.diagnosis.software import Answer

RECORD = "libraries.json"
"""File name of the record, in the folder `records/third-party`."""

# Behaviour of one library function, which is a row of the page.
Record = dict[str, Any]

_HEAD = """\
# Casts and decodings of libraries

How do Python libraries cast to 8-bit floats, and how do they decode them? `fp9 check-python LIBRARY` compares a
library with fp9 and explains every difference.

Decoding is checked for all codes. Casts are checked for all FP16 and BF16 numbers, and for FP32 numbers around every
boundary of the format and of every exponent.

The last column names the policy of the library, and then its differences from that policy. "Differ" counts the results
with such a difference. "Unexplained" counts results that no known difference explains.

`python -m fp9_compare.diagnosis.libraries_page records/third-party/libraries.json` repeats the checks, for the
installed versions.
"""


def records_of(answers: dict[str, list[tuple[Row, Answer]]]) -> list[Record]:
    """Return the records of all casts and decoding functions of the libraries.

    If the check gives the same description of a cast for several source formats, one record lists all these formats.
    """
    alike: dict[tuple[str, str, str, str, str], list[tuple[str, Answer]]] = {}
    for name, rows in answers.items():
        for row, answer in rows:
            key = (name, row.name, answer.format.name, row.direction, answer.says)
            alike.setdefault(key, []).append((row.source, answer))
    return [_record(key, found) for key, found in alike.items()]


def _record(key: tuple[str, str, str, str, str], found: list[tuple[str, Answer]]) -> Record:
    library, name, fmt, direction, says = key
    return {
        "library": library,
        "version": libraries.version(library),
        "type": name,
        "format": fmt,
        "direction": direction,
        "sources": [source for source, _ in found],
        "checked": sum(answer.checked for _, answer in found),
        "differ": sum(answer.explained.mismatches for _, answer in found),
        "unexplained": sum(answer.explained.unexplained for _, answer in found),
        "says": says,
    }


def page(records: Iterable[Record]) -> str:
    records = list(records)
    checked, differ, unexplained = (sum(r[name] for r in records) for name in ("checked", "differ", "unexplained"))
    total = f"In total, {checked:,} results were compared. {differ:,} differ, and {unexplained:,} are unexplained."
    libraries_of = itertools.groupby(records, key=lambda r: (r["library"], r["version"]))
    return "\n".join([_HEAD, total, "", *(line for title, rows in libraries_of for line in _section(title, rows))])


def _section(title: tuple[str, str], rows: Iterable[Record]) -> Iterator[str]:
    yield f"## {' '.join(title)}\n"
    yield "| type | format | direction | from | checked | differ | unexplained | what it does |"
    yield "|---|---|---|---|---:|---:|---:|---|"
    for r in rows:
        counts = " | ".join(f"{r[name]:,}" for name in ("checked", "differ", "unexplained"))
        cells = (r["type"], r["format"], r["direction"], ", ".join(r["sources"]), counts, r["says"])
        yield f"| {' | '.join(cells)} |"
    yield ""


def main(path: str) -> None:
    answers = {name: [(row, row.check()) for row in libraries.rows(name)] for name in libraries.installed()}
    write_whole(Path(path), json.dumps(records_of(answers), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
