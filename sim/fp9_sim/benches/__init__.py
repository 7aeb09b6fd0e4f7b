"""Code that runs inside a simulator: drivers, monitors and the scoreboard.

Public modules: `exchange` and `gemm` (files of a run's folder) and `scoreboard` (comparison with expected results).
"""

__all__ = ["exchange", "gemm", "scoreboard"]
