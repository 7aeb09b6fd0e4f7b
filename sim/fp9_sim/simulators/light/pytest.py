"""Replace the parts of pytest that cocotb imports, because importing pytest is slow."""


class Failed(Exception):
    """Stand-in for pytest's exception `Failed`, which fp9 never raises."""


class raises:
    """Stand-in for `pytest.raises` with an attribute `Exception`, which cocotb reads."""

    Exception = Failed
