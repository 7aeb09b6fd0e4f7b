"""Golden results counted again: every operation of a unit in exact fractions, one after the other.

It shares records with the golden model and nothing else, no kernel, no array; it is slow on purpose. Others use
`recounted`, and `apart` for the same in a process of its own.
"""

from fp9.recount.process import apart
from fp9.recount.units import recounted

__all__ = ["apart", "recounted"]
