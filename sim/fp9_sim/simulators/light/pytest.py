"""Replace the parts of pytest that cocotb imports.

fp9's simulations do not use pytest, and importing pytest takes most of the time of a short simulation.
"""


class Failed(Exception):
    """Replacement for pytest's exception of the same name, never raised by fp9."""


class raises:
    """Replacement for `pytest.raises`, of which cocotb reads only the attribute `Exception`."""

    Exception = Failed
