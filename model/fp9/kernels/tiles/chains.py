"""Numba kernels for matrix products with the processor's fused multiply-add."""

from __future__ import annotations

import numpy as np

from fp9.kernels.compiled import inlined, kernel
from fp9.kernels.tiles.chain_tiles import BLOCK, directed_tiles, none, pack, rounding_tile, watched_tile
from fp9.kernels.tiles.vectors import DOWNWARD, UPWARD, WIDE, give_panel, take_panel, tile_columns

_ROWS = 5 if WIDE else 2

_plain_rows, _plain_row = (rounding_tile(rows, none) for rows in (_ROWS, 1))
_watched_rows, _watched_row = (watched_tile(rows) for rows in (_ROWS, 1))
_up_rows, _up_row = (directed_tiles(rows, UPWARD) for rows in (_ROWS, 1))
_down_rows, _down_row = (directed_tiles(rows, DOWNWARD) for rows in (_ROWS, 1))


@kernel
def plain(a, b, acc, begin, end):
    """Set acc = acc + a[:, k] * b[k] for each k in order, and round each sum once."""
    m, width = acc.shape[0], tile_columns(acc.itemsize)
    panel, values = np.zeros((m, width), acc.dtype), np.zeros((BLOCK, width), acc.dtype)
    for left in range(0, acc.shape[1], width):
        take_panel(panel, acc, left)
        for first in range(begin, end, BLOCK):
            last = min(first + BLOCK, end)
            pack(values, b[first:last], left)
            whole = m - m % _ROWS
            for row in range(0, whole, _ROWS):
                _plain_rows((a, a.shape[1], values, panel, first, row, last - first, 1))
            for row in range(whole, m):
                _plain_row((a, a.shape[1], values, panel, first, row, last - first, 1))
        give_panel(panel, acc, left)


_LOOK = 16
"""Number of products between two reads of the processor's inexact flag."""


@inlined
def _differing(found, lower, upper):
    every = True
    for i in range(found.shape[0]):
        own, x, y = found[i], lower[i], upper[i]
        for j in range(own.size):
            own[j] |= x[j] != y[j]
            every &= own[j]
    return every


@inlined
def _tiles_at(listed, rows, found, every, lower, upper):
    for row in listed:
        own = slice(row, row + rows)
        every[row] = _differing(found[own], lower[own], upper[own])


@inlined
def _flagged(a, values, panels, first, products, found, every):
    start, result, lower, upper = panels
    m = start.shape[0]
    whole, tiles, rows = m - m % _ROWS, 0, 0
    listed, single = np.empty(m, np.int64), np.empty(m, np.int64)
    for row in range(0, whole, _ROWS):
        if _watched_rows((a, a.shape[1], values, start, result, first, row, products)) and not every[row]:
            listed[tiles] = row
            tiles += 1
    for row in range(whole, m):
        if _watched_row((a, a.shape[1], values, start, result, first, row, products)) and not every[row]:
            single[rows] = row
            rows += 1
    if tiles:
        _down_rows((a, a.shape[1], values, start, lower, first, listed, tiles, products))
        _up_rows((a, a.shape[1], values, start, upper, first, listed, tiles, products))
        _tiles_at(listed[:tiles], _ROWS, found, every, lower, upper)
    if rows:
        _down_row((a, a.shape[1], values, start, lower, first, single, rows, products))
        _up_row((a, a.shape[1], values, start, upper, first, single, rows, products))
        _tiles_at(single[:rows], 1, found, every, lower, upper)


@kernel
def plain_flagged(a, b, acc, inexact, begin, end):
    """Compute the same sums as `plain`, and set `inexact` for accumulators that had an inexact sum."""
    m, width = acc.shape[0], tile_columns(acc.itemsize)
    panels, values = np.zeros((4, m, width), acc.dtype), np.zeros((_LOOK, width), acc.dtype)
    start, result, lower, upper = panels[0], panels[1], panels[2], panels[3]
    for left in range(0, acc.shape[1], width):
        found, every = np.zeros((m, width), np.bool_), np.zeros(m, np.bool_)
        take_panel(start, acc, left)
        for first in range(begin, end, _LOOK):
            last = min(first + _LOOK, end)
            pack(values, b[first:last], left)
            # A sum is inexact if rounding down and rounding up give different results.
            _flagged(a, values, (start, result, lower, upper), first, last - first, found, every)
            start, result = result, start
        give_panel(start, acc, left)
        give_panel(found, inexact, left)
