"""Choice between NumPy and compiled kernels in a process that has not loaded the kernels yet.

Loading the kernels takes about half a second, and compiling a kernel takes more. A small call finishes sooner with
NumPy operations, which give the same results as the kernels.
"""

from __future__ import annotations

import sys

_KERNELS = "fp9.kernels"

LIMIT = 1 << 20
"""Number of roundings that a process computes with NumPy before it loads the kernels: about a fifth of a second."""

_done = 0


def is_cold() -> bool:
    """Return whether the kernels are still to be loaded in this process."""
    return _KERNELS not in sys.modules


def stays_in_numpy(roundings: int) -> bool:
    """Return whether NumPy, rather than a kernel, should compute a call with `roundings` roundings.

    If the result is True, the function also adds `roundings` to this process's count of roundings in NumPy.
    """
    global _done
    if not is_cold() or _done + roundings > LIMIT:
        return False
    _done += roundings
    return True
