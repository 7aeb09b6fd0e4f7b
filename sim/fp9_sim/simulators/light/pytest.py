"""The names of pytest that cocotb imports. No pytest runs in cocotb's runner or in a simulator.

The real pytest takes most of the time of a short run.
"""


class Failed(Exception):
    """Exception that is never raised here."""


class raises:
    """Stand-in of which cocotb reads only the exception."""

    Exception = Failed
