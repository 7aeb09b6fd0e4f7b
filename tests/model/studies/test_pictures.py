"""Pictures of formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from fp9.formats import Kind, format
from fp9.studies import pictures


def test_precision_of_hif8_is_the_papers_figure() -> None:
    """HiF8 Fig. 1: 38 binades, 4 bits around 1, 3 and 2 further out, 1 in the denormals."""
    exponents, bits = pictures.precision(format("hif8"))
    assert (exponents[0], exponents[-1], len(exponents)) == (-22, 15, 38)
    steps = dict(zip(exponents, bits, strict=True))
    chosen = (-22, -16, -15, -8, -7, -4, -3, 0, 3, 4, 7, 8, 15)
    assert [steps[e] for e in chosen] == [1, 1, 2, 2, 3, 3, 4, 4, 4, 3, 3, 2, 2]


@pytest.mark.slow
def test_pictures_are_written_as_svg_and_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = pictures.draw(tmp_path)
    assert {path.suffix for path in files} == {".svg", ".png"} and all(path.stat().st_size > 1000 for path in files)


def test_a_code_map_needs_8_bits() -> None:
    with pytest.raises(ValueError, match="a code map shows 8"):
        pictures.code_map("fp9")


@pytest.mark.parametrize("name", ["e4m3", "hif8"])
def test_numbers_of_a_code_map_are_read_on_their_ground(name: str) -> None:
    """WCAG 2.2 asks for a contrast of 4.5: (lighter + 0.05) / (darker + 0.05) of relative luminances."""
    pytest.importorskip("matplotlib")
    axes = pictures.code_map(name).axes[0]
    image, fmt = axes.images[0], format(name)
    grounds = image.to_rgba(image.get_array().filled(float("nan")))
    for code, text in enumerate(axes.texts):
        if fmt.kind_of(code) is not Kind.FINITE:
            continue
        red, green, blue = (
            ((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in grounds[divmod(code, 16)][:3]
        )
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        contrast = 1.05 / (luminance + 0.05) if text.get_color() == "white" else (luminance + 0.05) / 0.05
        assert contrast >= 4.5
