"""Independent reference model: every operation of a unit in exact fractions, to cross-check the golden model.

It shares format, engine and unit records with the golden model, but no kernel and no array code. It is slow on purpose.
Call `reference_results`, or `isolated_results` to compute in a separate process.
"""

from fp9.reference.process import isolated_results
from fp9.reference.units import reference_results

__all__ = ["isolated_results", "reference_results"]
