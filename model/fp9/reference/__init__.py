"""Independent reference model that computes one operation at a time in exact fractions.

Tests cross-check the golden model with the reference model. Both models share the records of formats, accumulators and
units, but the reference model uses no kernels and no array code. The code of the reference model is simple and slow on
purpose. `reference_results` computes the results, and `isolated_results` computes the results in a separate process.
"""

from fp9.reference.process import isolated_results
from fp9.reference.units import reference_results

__all__ = ["isolated_results", "reference_results"]
