"""Which rows of a test `make test` has, and which it leaves to `make test-slow`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import pytest_collection_modifyitems


class Row:
    """A row of a test with its marks."""

    def __init__(self, nodeid: str, *marks: pytest.MarkDecorator) -> None:
        self.nodeid = nodeid
        self.marks = [mark.mark for mark in marks]

    def get_closest_marker(self, name: str) -> Any:
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.mark)


def slow(rows: list[Any]) -> str:
    """Of each row whether it is slow, once the tests are collected."""
    pytest_collection_modifyitems(rows)
    return "".join("s" if row.get_closest_marker("slow") else "." for row in rows)


def test_each_nth_row_of_each_test_stays() -> None:
    thirds = [Row(f"tests/test_x.py::test_a[{n}]", pytest.mark.every(3)) for n in range(7)]
    halves = [Row(f"tests/test_x.py::test_b[{n}]", pytest.mark.every(2)) for n in range(3)]
    assert slow([*thirds, *halves]) == ".ss.ss." + ".s."


def test_a_test_that_is_not_asked_to_leaves_no_row() -> None:
    assert slow([Row(f"tests/test_x.py::test_a[{n}]") for n in range(3)]) == "..."


def test_rows_that_are_long_are_not_counted() -> None:
    """Else a test whose first row of three is not long could stay with none."""
    marks = [(), (pytest.mark.long,), (pytest.mark.long,)] * 3
    rows = [Row(f"tests/test_x.py::test_a[{n}]", pytest.mark.every(2), *more) for n, more in enumerate(marks)]
    assert slow(rows) == "..." + "s.." + "..."
