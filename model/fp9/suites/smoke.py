"""Selection of a smoke suite: a few hundred operations from the corner suite.

One operation is selected for each rare cover point. Operations of the corner suite form a class if their select values,
flags and upper result bits are equal. Each further selection step samples a few candidate operations from random
classes, and all classes are equally likely. A selection step takes the candidate whose pairs of bit values are the
rarest so far (pairwise coverage). Every second selection step ignores input bits whose inversion changes no result. No
circuit is simulated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fp9.golden import evaluate
from fp9.kernels import kernel
from fp9.suites.accumulators.chunk_ends import GROUP, last_groups
from fp9.suites.columns import Inputs, every_value, fixed
from fp9.suites.cover_points import all_zero, cover_point_indices
from fp9.suites.quantisers.quantiser_corner import quantiser_smoke
from fp9.units import Dot, Mac, Quantiser, Results, Unit
from fp9.units.hooks import Hook
from fp9.units.views import sum_of

SMOKE_COUNT = 960
_HANDFUL = 64
# Range of the number of examined operations, within which `_FLIPS` limits the number of single-bit inversions. Units
# with few inputs get the minimum, because more operations would displace rare classes.
_POOL = range(3000, 12001)
_FLIPS = 600_000
_FEW_BITS = 16
# Factor by which the worth of a bit combination decreases with each choice.
_FADING = 0.5
# Number of upper output bits that define a class: sign and exponent of FP32, or a whole 8-bit code.
_CLASS_BITS = 9


def _smoke(unit: Unit, corner: Inputs) -> Inputs:
    span, last = _groups(unit)
    rng = np.random.default_rng(0)
    classes = _classes(unit, corner, span)
    always = np.arange(len(classes) - last, len(classes))
    always = np.union1d(always, cover_point_indices(unit, corner, rng) // span)
    others = np.setdiff1d(np.arange(len(classes)), always)
    bits_in = sum(port.width for port in unit.inputs)
    looked_at = min(max(_POOL.start, _FLIPS // bits_in if bits_in > _FEW_BITS else 0), _POOL.stop - 1)
    kept = np.union1d(others[_spread(classes[others], looked_at // span, rng)], always)
    pool = _taken(corner, kept, span)
    outputs = evaluate(unit, pool)
    inputs = np.concatenate([_bits(pool[port.name], port.width) for port in unit.inputs], axis=1)
    results = np.concatenate([_bits(outputs[port.name], port.width) for port in unit.outputs], axis=1)
    counts = np.concatenate([_decides(unit, pool, outputs, span), np.ones_like(results, dtype=np.bool_)], axis=1)
    bits, counts = (array.reshape(-1, span * array.shape[1]) for array in (np.hstack([inputs, results]), counts))
    chosen = _choose(bits, counts, _classes(unit, pool, span), SMOKE_COUNT // span - len(always), rng)
    return _taken(corner, np.union1d(kept[chosen], always), span)


smoke: Hook[[Inputs], Inputs] = Hook("smoke suite", {Quantiser: quantiser_smoke}, otherwise=_smoke)
"""Return at most `SMOKE_COUNT` operations of a corner suite, in suite order."""

# Number of operations in a group, and number of last groups that every smoke suite includes.
_groups: Hook[[], tuple[int, int]] = Hook(
    "groups of a smoke suite",
    {Mac: lambda unit: (GROUP, last_groups(unit)) if unit.chunk_steps else (2, 0)},
    otherwise=lambda unit: (1, 0),
)


def _taken(columns: Inputs, groups: NDArray[np.int64], span: int) -> Inputs:
    indices = (np.sort(groups)[:, None] * span + np.arange(span)).reshape(-1)
    return {name: column[indices] for name, column in columns.items()}


def _classes(unit: Unit, columns: Inputs, span: int) -> NDArray[np.int64]:
    outputs = evaluate(unit, columns)
    selects = [columns[port.name].astype(np.int64) for port in unit.inputs if port.choices]
    uppers = [outputs[p.name].astype(np.int64) >> max(0, p.width - _CLASS_BITS) for p in unit.outputs]
    classes = np.stack([*selects, *uppers], axis=1)
    summed = sum_of(unit)
    if summed is not None and summed.products > 1:
        # Select values would give nearly every operation its own class. Common properties of the lanes replace them.
        classes = np.stack([all_zero(summed, columns), *uppers, *_subnormal_places(summed, outputs)], axis=1)
    return _rows_by_rank(classes.reshape(len(classes) // span, -1))


def _rows_by_rank(table: NDArray[np.int64]) -> NDArray[np.int64]:
    # The inverse of np.unique(table, axis=0), which compares rows many times slower than integers.
    ranks = np.zeros(len(table), np.int64)
    for column in table.T:
        numbers, places = np.unique(column, return_inverse=True)
        ranks = np.unique(ranks * len(numbers) + places, return_inverse=True)[1]
    return ranks


def _subnormal_places(unit: Dot, outputs: Results) -> list[NDArray[np.int64]]:
    # An empty list for accumulators and units without power-of-two scales limits the number of classes.
    if unit.scale is None or unit.scale.precision > 1 or unit.has_state:
        return []
    result = fixed(unit.engine.output)
    magnitudes = outputs["result"].astype(np.int64) & result.magnitude_mask
    normal = magnitudes >= 1 << (result.fraction_bits + result.padding)
    return [np.frexp(np.where(normal, 0, magnitudes))[1].astype(np.int64)]


def _decides(unit: Unit, columns: Inputs, outputs: Results, span: int) -> NDArray[np.bool_]:
    # True where inverting the input bit changes a result of the operation's group.
    count = len(next(iter(columns.values())))
    decides = []
    for port in unit.inputs:
        for bit in range(port.width):
            changed = np.zeros(count, dtype=np.bool_)
            for place in range(span):
                flip = np.where(np.arange(count) % span == place, 1 << bit, 0).astype(np.uint32)
                others = evaluate(unit, _legal(unit, {**columns, port.name: columns[port.name] ^ flip}))
                differs = np.logical_or.reduce([others[name] != outputs[name] for name in outputs])
                changed[place::span] = differs.reshape(-1, span).any(axis=1)
            decides.append(changed)
    return np.stack(decides, axis=1)


def _legal(unit: Unit, columns: Inputs) -> Inputs:
    biases = {port.name: every_value(port) for port in unit.inputs if port.name.endswith("_bias")}
    return columns | {n: np.where(np.isin(columns[n], known), columns[n], 0) for n, known in biases.items()}


def _bits(column: NDArray[np.unsignedinteger], width: int) -> NDArray[np.uint8]:
    wide = column.astype(np.uint64)[:, None] >> np.arange(width, dtype=np.uint64)
    return (wide & np.uint64(1)).astype(np.uint8)


def _spread(classes: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose indices into `classes` so that all classes occur about equally often."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    sizes = np.bincount(classes)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[np.lexsort((rng.random(len(rank)), rank))[:count]]


def _choose(
    bits: NDArray[np.uint8],
    counts: NDArray[np.bool_],
    classes: NDArray[np.int64],
    number: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    if len(bits) <= number:
        return np.arange(len(bits))
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    starts = np.cumsum(sizes) - sizes
    worth = np.ones((2, bits.shape[1], 2, 2, bits.shape[1]), dtype=np.float32)
    looks_at = counts, np.ones_like(counts)
    chosen = np.zeros(len(bits), dtype=np.bool_)
    while (taken := int(chosen.sum())) < number:
        drawn = rng.integers(0, len(sizes), _HANDFUL)
        rows = order[starts[drawn] + rng.integers(0, sizes[drawn])]
        rows = rows[~chosen[rows]]
        if len(rows):
            way = taken % len(looks_at)
            chosen[rows[_take_best(bits[rows], looks_at[way][rows], worth[way])]] = True
    return np.flatnonzero(chosen)


@kernel
def _take_best(rows, counts, worth):
    # `worth[i, v, w, j]` is the value of a bit pair: bit i is v, and bit j is w. A separate sum for each bit j fixes
    # the order of additions, so that every machine gives the same result.
    best, most = 0, -1.0
    sums = np.empty(rows.shape[1])
    for candidate in range(len(rows)):
        row, counted = rows[candidate], counts[candidate]
        sums[:] = 0.0
        for i in np.flatnonzero(counted):
            low, high = worth[i, row[i], 0], worth[i, row[i], 1]
            for j in range(rows.shape[1]):
                zero, one = low[j], high[j]  # reading both values avoids a branch
                sums[j] += one if row[j] else zero
        total = 0.0
        for j in range(rows.shape[1]):
            if counted[j]:
                total += sums[j]
        if total > most:
            best, most = candidate, total
    row, chosen = rows[best], np.flatnonzero(counts[best])
    for i in chosen:
        for other in chosen:
            worth[i, row[i], row[other], other] *= _FADING
    return best
