"""What runs inside a simulator: drivers, monitors, the scoreboard.

Others use its modules `exchange` and `gemm` (what a run's folder holds) and `scoreboard` (answers held against what was
expected).
"""

__all__ = ["exchange", "gemm", "scoreboard"]
