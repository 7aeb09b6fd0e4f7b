"""A unit as a sum, a cast or a quantiser, for code that works for one family of kinds; None for other kinds.

A new kind joins a family by a row in the table of the family, without a change where the family is used.
"""

from __future__ import annotations

from fp9.units.cast import Cast
from fp9.units.hooks import Hook
from fp9.units.quantiser import Quantiser
from fp9.units.step import Dot, Mac

sum_of: Hook[[], Dot | None] = Hook("view as a sum", {Dot: lambda unit: unit}, otherwise=lambda unit: None)
"""The unit if it adds products to an addend or a register."""

stateless_sum_of: Hook[[], Dot | None] = Hook(
    "view as a sum without a register", {Dot: lambda unit: unit, Mac: lambda unit: None}, otherwise=lambda unit: None
)
"""The unit if it adds products to an addend and has no register of a running sum."""

cast_of: Hook[[], Cast | None] = Hook("view as a cast", {Cast: lambda unit: unit}, otherwise=lambda unit: None)
"""The unit if it rounds numbers to formats of at most 8 bits."""

quantiser_of: Hook[[], Quantiser | None] = Hook(
    "view as a quantiser", {Quantiser: lambda unit: unit}, otherwise=lambda unit: None
)
"""The unit if it gives blocks of numbers a shared scale."""

accumulates: Hook[[], bool] = Hook("register of a running sum", {Mac: lambda unit: True}, otherwise=lambda unit: False)
"""Whether the unit keeps a running sum."""

__all__ = ["accumulates", "cast_of", "quantiser_of", "stateless_sum_of", "sum_of"]
