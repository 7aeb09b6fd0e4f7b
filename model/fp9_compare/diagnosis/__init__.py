"""Diagnosis: finds the differences from the specification that explain wrong results.

A `Difference` record describes one possible difference of an implementation from its specification. The search tries
the same possible differences for hardware units and for library functions. `explain` finds out in which ways an
implementation differs from its specification. If one difference from the specification is not enough, `explain`
combines several differences. `conversions` defines specifications for casts and decoding functions of Python libraries.
`software` checks functions and named libraries.
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
