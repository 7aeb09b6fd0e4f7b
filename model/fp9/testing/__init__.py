"""Exact comparisons and proven tolerances for tests of kernels.

>>> import fp9
>>> from fp9.testing import error_bound
>>> a = fp9.array([[448.0, 2.0**-7]], "e4m3")
>>> error_bound(a, fp9.array([[1.0], [1.0]], "e4m3"), "hopper").round(4).tolist()
[[0.0625]]
"""

from fp9.testing.bits import assert_equal_bits
from fp9.testing.bounds import assert_within_bound, error_bound

__all__ = ["assert_equal_bits", "assert_within_bound", "error_bound"]
