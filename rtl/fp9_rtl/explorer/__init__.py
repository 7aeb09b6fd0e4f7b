"""Hardware pages of the numerics explorer: the data sheet, area and delay of a unit that the user changes.

`sheet` and `area` answer the explorer's requests (entry points `fp9.explorer`). Each takes a dictionary of texts
and returns a record.
"""

from fp9_rtl.explorer.answers import area, sheet

__all__ = ["area", "sheet"]
