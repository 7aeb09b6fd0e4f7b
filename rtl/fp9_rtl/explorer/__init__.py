"""What the numerics explorer shows of hardware: a unit's data sheet, area and delay as its spec changes.

`sheet` and `area` answer the explorer's questions (entry points `fp9.explorer`), each a mapping of texts to a record.
"""

from fp9_rtl.explorer.answers import area, sheet

__all__ = ["area", "sheet"]
