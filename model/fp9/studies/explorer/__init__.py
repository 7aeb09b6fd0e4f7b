"""Numerics explorer: a local web page about numbers, formats and sums.

Other packages use `serve`. `numbers`, `precision` and `sums` return the page's contents as records.
`shared_text` returns `look.css` and `tables.js`, which all pages of fp9 share.
"""

from importlib.resources import files


def shared_text(name: str) -> str:
    """Return the text of a file that the page uses, such as its style sheet or script."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


__all__ = ["shared_text"]
