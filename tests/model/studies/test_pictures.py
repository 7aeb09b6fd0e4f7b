"""Pictures of formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from fp9.formats import format
from fp9.studies import pictures


def test_precision_of_hif8_is_the_papers_figure() -> None:
    """HiF8 Fig. 1: 38 binades, 4 bits around 1, 3 and 2 further out, 1 in the denormals."""
    exponents, bits = pictures.precision(format("hif8"))
    assert (exponents[0], exponents[-1], len(exponents)) == (-22, 15, 38)
    steps = dict(zip(exponents, bits, strict=True))
    chosen = (-22, -16, -15, -8, -7, -4, -3, 0, 3, 4, 7, 8, 15)
    assert [steps[e] for e in chosen] == [1, 1, 2, 2, 3, 3, 4, 4, 4, 3, 3, 2, 2]


def test_pictures_are_written_as_svg_and_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = pictures.draw(tmp_path)
    assert {path.suffix for path in files} == {".svg", ".png"} and all(path.stat().st_size > 1000 for path in files)


def test_a_code_map_needs_8_bits() -> None:
    with pytest.raises(ValueError, match="a code map shows 8"):
        pictures.code_map("fp9")
