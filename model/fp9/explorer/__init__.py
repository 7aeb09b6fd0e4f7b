"""Numerics explorer: numbers, formats and sums of the model, as a local web page.

Other packages use `serve`. `numbers`, `precision` and `sums` return the page's contents as records. `shared_text`
returns `look.css` and `tables.js`, which all pages of fp9 share.
"""

from importlib.resources import files


def shared_text(name: str) -> str:
    """Return the text of a file of the page, such as its style or script."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


__all__ = ["shared_text"]
