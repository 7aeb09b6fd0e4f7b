"""Numerics explorer: a web page about numbers, formats, sums and units.

The module `page` builds the web page as one HTML file, and the module `server` serves the page. `shared_text` returns
`look.css` and `tables.js`, which all pages of fp9 share.
"""

from importlib.resources import files


def shared_text(name: str) -> str:
    """Return the text of a file that the explorer's page uses, such as a style sheet or a script."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


__all__ = ["shared_text"]
