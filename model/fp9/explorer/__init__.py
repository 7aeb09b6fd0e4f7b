"""The numerics explorer: numbers, formats and sums as the model has them, as a local web page.

Others use `serve`; `numbers`, `precision` and `sums` give what the page shows as plain records. `shared_text` gives
`look.css` and `tables.js`, which every page of fp9 has in common.
"""

from importlib.resources import files


def shared_text(name: str) -> str:
    """A file of the page: its look or its script."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


__all__ = ["shared_text"]
