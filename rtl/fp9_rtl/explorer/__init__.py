"""Hardware pages of the numerics explorer: a unit's data sheet, area and delay for a changing specification.

`sheet` and `area` answer the explorer's requests (entry points `fp9.explorer`); each maps a dictionary of texts to
a record.
"""

from fp9_rtl.explorer.answers import area, sheet

__all__ = ["area", "sheet"]
