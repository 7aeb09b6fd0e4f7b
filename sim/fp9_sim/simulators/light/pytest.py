"""What cocotb reads of pytest as it is loaded: in its runner and in a simulator no pytest runs, and the real one takes
most of the time that a short run of either does.
"""


class Failed(Exception):
    """Never raised here."""


class raises:
    """Its exception alone is read."""

    Exception = Failed
