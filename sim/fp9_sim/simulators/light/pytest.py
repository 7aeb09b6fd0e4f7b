"""Replacement for the pytest names that cocotb imports. cocotb's runner and the simulators do not run pytest.

Importing the real pytest takes most of the time of a short run.
"""


class Failed(Exception):
    """Replacement for pytest's exception. This exception is never raised here."""


class raises:
    """Replacement for `pytest.raises`. cocotb reads only its exception."""

    Exception = Failed
