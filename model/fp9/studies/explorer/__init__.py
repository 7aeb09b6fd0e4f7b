"""Numerics explorer: a web page about numbers, formats, sums and units."""

from importlib.resources import files


def shared_text(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


__all__ = ["shared_text"]
