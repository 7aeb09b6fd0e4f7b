"""Diagnosis: which differences from its specification explain the results of a third-party unit or library.

A way to differ is a record, `Difference`, written once for hardware and for software; `explain` finds those that give
the very answers seen, several at once where one does not. `conversions` says casts and decodings of libraries as
specs; `software` runs functions and named libraries.
"""

from fp9_compare.diagnosis.conversions import Conversion, Narrowed, Reading
from fp9_compare.diagnosis.difference import Difference, Topic, results_under
from fp9_compare.diagnosis.explain import Explained, Explanation, explain
from fp9_compare.diagnosis.hypotheses import differences

__all__ = [
    "Conversion",
    "Difference",
    "Explained",
    "Explanation",
    "Narrowed",
    "Reading",
    "Topic",
    "differences",
    "explain",
    "results_under",
]
