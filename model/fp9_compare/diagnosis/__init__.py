"""Diagnosis: differences from the specification that explain the results of a third-party unit or library.

Each possible difference is a `Difference` record. The same differences apply to hardware and to software. `explain`
finds the differences that reproduce the results. Several differences are combined if one is not enough.
`conversions` describes casts and decoding functions of libraries as specifications. `software` checks functions and
named libraries.
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
