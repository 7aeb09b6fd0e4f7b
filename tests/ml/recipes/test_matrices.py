"""Products of many matrices: each is the product of its own, scales are those of whole tensors."""

from __future__ import annotations

import numpy as np
import pytest

from fp9_ml.recipes import RECIPES, recipe


@pytest.mark.parametrize("name", [name for name, spec in RECIPES.items() if spec.forward])
def test_each_matrix_has_the_bits_of_a_layer_of_its_own(name: str) -> None:
    rng = np.random.default_rng(4)
    x, w, g = (rng.uniform(1, 2, (2, 3, n, k)).astype(np.float32) for n, k in ((5, 8), (4, 8), (5, 4)))
    # The largest number is in every matrix, so that its own scale is that of the whole tensor.
    for tensor in (x, w, g):
        tensor[..., 0, 0] = 2
    spec = recipe(name)
    y, saved = spec.linear(x, w)
    back = spec.linear_backward(g, saved)
    assert y.shape == (2, 3, 5, 4)
    for place in np.ndindex(2, 3):
        own, kept = spec.linear(x[place], w[place])
        alone = spec.linear_backward(g[place], kept)
        assert np.array_equal(y[place], own)
        assert np.array_equal(back.dx[place], alone.dx) and np.array_equal(back.dw[place], alone.dw)
    for bad in (x[:1], x[..., :7], x[0]):
        with pytest.raises(ValueError, match="given"):
            spec.linear(bad, w)
