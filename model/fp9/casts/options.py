"""Types of the keyword arguments of `encode`, for functions that forward the arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from fp9.casts.random_bits import Rng, Stochastic
from fp9.formats.rounding import Hybrid, NanSign, Overflow, Payload, Rounding

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Details(TypedDict, total=False):
    """Less common keyword arguments of a cast."""

    inf_clip: bool
    nan_sign: NanSign | str
    nan: int | None
    payload: Payload | str
    flush_source: bool
    hybrid: Hybrid | None
    random_bits: ArrayLike | None
    rng: Rng | None
    random_width: int
    stochastic: Stochastic | str | None
    scale: ArrayLike
    threads: int | None
    out: NDArray[Any] | None


class CastOptions(Details, total=False):
    """All keyword arguments of `encode` that affect the resulting codes."""

    rounding: Rounding | str | None
    overflow: Overflow | str
    nan_to_zero: bool
