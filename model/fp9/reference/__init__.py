"""Independent reference model: cross-checks the golden model, one operation at a time, in exact fractions.

The reference model shares format, engine and unit records with the golden model, but no kernel and no array
code. Its code is simple and slow on purpose. Call `reference_results`. `isolated_results` computes the same in
a separate process.
"""

from fp9.reference.process import isolated_results
from fp9.reference.units import reference_results

__all__ = ["isolated_results", "reference_results"]
