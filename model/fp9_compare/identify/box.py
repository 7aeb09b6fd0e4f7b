"""Implementation whose operand formats are known, but whose accumulator is unknown (black box)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fp9.casts.arrays import as_codes, decode, encode
from fp9_compare.identify.interface import Interface
from fp9_compare.identify.vectors import code_patterns, patterns

Ask = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], Any]
"""Function that computes the sums d (n,) from the operands a (n, k), b (n, k) and c (n,)."""


@dataclass
class Box:
    """Implementation whose accumulator is to be identified.

    The function `ask` takes and returns float32 numbers if `values` is true, and otherwise codes. `calls` counts the
    computed sums.
    """

    name: str
    interface: Interface
    ask: Ask
    values: bool = False
    calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.values:
            self.interface = replace(self.interface, any_nan=True)

    def answers(self, a: NDArray[Any], b: NDArray[Any], c: NDArray[np.float64]) -> NDArray[np.uint64]:
        """Let the implementation compute n dot products of the codes `a` and `b` (n, k), and add the numbers `c` (n,).

        The results (n,) are integer patterns. Raises ValueError if the implementation fails, or does not return n
        results.
        """
        io = self.interface
        if self.values:
            given = (decode(a, io.a).astype(np.float32), decode(b, io.b).astype(np.float32), c.astype(np.float32))
        else:
            given = (a.copy(), b.copy(), encode(c, io.output, "rne", "inf"))
        self.calls += len(c)
        try:
            found = self.ask(*given)
        except Exception as error:
            raise ValueError(f"{self.name} raises {type(error).__name__}: {error}; give a unit that answers") from error
        return self._patterns(found, len(c))

    def _patterns(self, found: object, count: int) -> NDArray[np.uint64]:
        results = np.asarray(found)
        if results.shape != (count,):
            raise ValueError(
                f"{self.name} gives an array of shape {results.shape} for {count} sums; expected shape ({count},)"
            )
        wanted, kind = ("numbers", "f") if self.values else ("codes, unsigned integers", "iu")
        if results.dtype.kind not in kind:
            other = "without" if self.values else "with"
            raise ValueError(
                f"{self.name} gives {results.dtype.name}; expected {wanted} of {self.interface.output.name} "
                f"({other} --values, fp9 calls it with the other kind)"
            )
        if self.values:
            return patterns(results.astype(np.float64))
        return code_patterns(as_codes(results, self.interface.output), self.interface)
