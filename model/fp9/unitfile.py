"""Unit specs as text, under the name that the guide gives them: see `fp9.units.toml`."""

from fp9.units.toml import KINDS, build, dumps, load

__all__ = ["KINDS", "build", "dumps", "load"]
