"""Replace the parts of pytest that cocotb imports, because importing pytest is slow."""


class Failed(Exception):
    """Replacement for the exception `Failed` of pytest. fp9 never raises the replacement."""


class raises:
    """Replacement for `pytest.raises`. cocotb reads only the attribute `pytest.raises.Exception`."""

    Exception = Failed
