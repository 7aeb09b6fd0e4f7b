"""Hardware pages of the numerics explorer: a unit's data sheet, area and delay.

The explorer finds the functions `sheet` and `area` through the entry points `fp9.explorer`.
"""

from fp9_rtl.explorer.answers import area, sheet

__all__ = ["area", "sheet"]
