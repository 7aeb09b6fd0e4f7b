"""Functions that return a unit if it is of the wanted kind (sum, cast or quantiser), and otherwise None.

To make a function of this module return a new kind of unit, add the unit's class to the function's dictionary.
"""

from __future__ import annotations

from fp9.units.cast import Cast
from fp9.units.hooks import Hook
from fp9.units.quantiser import Quantiser
from fp9.units.step import Dot, Mac

sum_of: Hook[[], Dot | None] = Hook("view as a sum", {Dot: lambda unit: unit}, otherwise=lambda unit: None)
"""Return the unit if it adds products to an addend or to an accumulator register, else None."""

stateless_sum_of: Hook[[], Dot | None] = Hook(
    "view as a sum without a register", {Dot: lambda unit: unit, Mac: lambda unit: None}, otherwise=lambda unit: None
)
"""Return the unit if it adds products to an addend and has no accumulator register, else None."""

cast_of: Hook[[], Cast | None] = Hook("view as a cast", {Cast: lambda unit: unit}, otherwise=lambda unit: None)
"""Return the unit if it rounds numbers to formats of at most 8 bits, else None."""

quantiser_of: Hook[[], Quantiser | None] = Hook(
    "view as a quantiser", {Quantiser: lambda unit: unit}, otherwise=lambda unit: None
)
"""Return the unit if it converts blocks of numbers to a shared scale and elements, else None."""

accumulates: Hook[[], bool] = Hook("register of a running sum", {Mac: lambda unit: True}, otherwise=lambda unit: False)

__all__ = ["accumulates", "cast_of", "quantiser_of", "stateless_sum_of", "sum_of"]
