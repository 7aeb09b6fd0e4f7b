"""Replace the parts of pytest that cocotb imports, because importing pytest is slow."""


class Failed(Exception):
    """Replacement for the exception in pytest that has the same name; fp9 never raises it."""


class raises:
    """Stand-in for `pytest.raises` with an attribute `Exception`, which cocotb reads."""

    Exception = Failed
