"""Draws the layers of all packages: `python -m tests.floorplan docs/floorplan.svg`.

Layers are those of the import contracts in pyproject.toml; words are the first sentence of each entry's docstring.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = {"fp9": "model", "fp9_ml": "model", "fp9_compare": "model", "fp9_rtl": "rtl", "fp9_sim": "sim"}
_WIDTH, _HEIGHT, _GAP = 3.6, 1.0, 0.12


@dataclass(frozen=True)
class Entry:
    """A module or folder of a package, its layer (0 is the lowest), and its purpose."""

    package: str
    name: str
    layer: int
    words: str


def contracted() -> list[Entry]:
    """Return every entry that the contracts name. Raises ValueError for an entry that does not exist."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    found = []
    for contract in contracts:
        for package in contract.get("containers", ()):
            for level, layer in enumerate(reversed(contract["layers"])):
                found += [
                    Entry(package, name.strip(), level, _words(package, name.strip())) for name in layer.split("|")
                ]
    return found


def entries(package: str) -> set[str]:
    """Modules and folders that stand at the top of a package."""
    folder = ROOT / FOLDERS[package] / package
    return {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


def _words(package: str, name: str) -> str:
    folder = ROOT / FOLDERS[package] / package
    path = folder / name / "__init__.py" if (folder / name).is_dir() else folder / f"{name}.py"
    if not path.exists():
        raise ValueError(f"a contract names {package}.{name}, which does not exist; correct pyproject.toml")
    said = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(said.split("\n\n")[0].replace("`", "").split())


def draw(path: Path) -> None:
    """Write the picture as SVG; the same entries give the same bytes."""
    import matplotlib as mpl  # slow to load

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "fp9", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot as plt
    from matplotlib.patches import FancyBboxPatch

    every = contracted()
    columns = [(package, 3) for package in FOLDERS]
    tall = max(entry.layer for entry in every) + 1
    figure, axes = plt.subplots(figsize=(7.4 * len(columns), 1.05 * tall + 1))
    left = 0.0
    for package, across in columns:
        axes.text(left, tall * _HEIGHT + 0.25, package, fontsize=15, fontweight="bold", color="#1f4e79")
        for layer in range(tall):
            side = [entry for entry in every if (entry.package, entry.layer) == (package, layer)]
            width = across * _WIDTH / max(len(side), 1)
            for place, entry in enumerate(side):
                x, y = left + place * width, layer * _HEIGHT
                box = FancyBboxPatch(
                    (x, y), width - _GAP, _HEIGHT - _GAP, "round,pad=0,rounding_size=0.06", fc="#eaf1f8", ec="#1f4e79"
                )
                axes.add_patch(box)
                axes.text(x + 0.08, y + 0.66, entry.name, fontsize=10, fontweight="bold", color="#111111")
                words = textwrap.fill(entry.words, int(width * 10.5), max_lines=3, placeholder=" …")
                axes.text(x + 0.08, y + 0.58, words, fontsize=7, va="top", color="#333333")
        left += across * _WIDTH + 0.5
    axes.set_xlim(-0.1, left)
    axes.set_ylim(-0.1, tall * _HEIGHT + 0.6)
    axes.axis("off")
    figure.tight_layout()
    figure.savefig(path, format="svg", metadata={"Date": None}, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
