"""Independent reference model, which computes one operation at a time in exact fractions.

The tests compare the golden model with the reference model. The golden model and the reference model share only the
definitions of formats, accumulators and units. The code of the reference model is deliberately simple and slow.
"""

from fp9.reference.process import isolated_results
from fp9.reference.units import reference_results

__all__ = ["isolated_results", "reference_results"]
