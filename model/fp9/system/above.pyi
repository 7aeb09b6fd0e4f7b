"""What the packages above give to `fp9`, as editors and type checkers see it; it is loaded from them when asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from fp9.units import Unit
from fp9.vectors import VectorSet

class Regression(Protocol):
    @property
    def unit(self) -> str: ...
    @property
    def simulator(self) -> str: ...
    @property
    def checked(self) -> int: ...
    @property
    def total_mismatches(self) -> int: ...
    @property
    def mismatches(self) -> Sequence[object]: ...
    @property
    def violations(self) -> Sequence[str]: ...
    @property
    def seconds(self) -> float: ...
    @property
    def passed(self) -> bool: ...
    def to_dict(self) -> dict[str, Any]: ...

def verilog(unit: Unit, flat: bool = False, system: bool = False) -> str: ...
def write_verilog(unit: Unit, path: Path | str) -> None: ...
def regress(
    unit: Unit,
    vectors: VectorSet | Path | str,
    simulator: str = "icarus",
    *,
    seed: int = 0,
    stalls: bool = True,
    waves: Path | str | None = None,
    build_dir: Path | str = ...,
    verilog: str | None = None,
    latency: int | None = None,
    elastic: bool = False,
    coverage: Path | str | None = None,
) -> Regression: ...
