"""Diagnosis: finds the differences from the specification that explain wrong results.

A `Difference` record describes one way in which an implementation may differ from its specification. The function
`explain` searches for `Difference` records that explain the wrong results of a hardware unit or of a library function.
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
