"""Recording of a model: codes of what its layers multiplied, and nothing of it stays behind."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fp9  # noqa: E402
import fp9_ml.torch as ft  # noqa: E402
from fp9_ml.recipes import Product, Role, read_recording, recipe  # noqa: E402

nn = torch.nn


def test_a_step_of_chosen_layers_is_kept_and_the_model_is_as_before(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(16, 6), nn.ReLU(), nn.Linear(6, 3))
    ft.convert(model, "te_current")
    state = copy.deepcopy(model.state_dict())
    x = torch.randn(5, 2, 4, 4)
    with ft.record(model, only=lambda name, _: name != "4") as run:
        with pytest.raises(ValueError, match="being recorded"), ft.record(model):
            pass
        y = model(x)
        y.sum().backward()
    model(x).sum().backward()
    assert [(p.layer, p.product) for p in run.products] == [
        *(("0.0", Product.FORWARD), ("0.1", Product.FORWARD), ("2", Product.FORWARD)),
        *((layer, product) for layer in ("2", "0.1", "0.0") for product in (Product.DGRAD, Product.WGRAD)),
    ]
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    run.save(tmp_path / "run.npz")
    kept = read_recording(tmp_path / "run.npz").products[2]
    rows = model[1](model[0](x)).detach().numpy()
    saved = recipe("te_current").linear(rows, model[2].weight.detach().numpy())[1]
    assert np.array_equal(kept.a.codes, saved.x.codes) and kept.a.factor == saved.x.factor
    cast = next(c for c in read_recording(tmp_path / "run.npz").casts if c.layer == "2" and c.role is Role.ACTIVATIONS)
    assert np.array_equal(fp9.encode(cast.numbers, cast.format), kept.a.codes.ravel()) and cast.exponent == 0
    assert np.array_equal(kept.result, saved.product) and kept.engine == recipe("te_current").forward


def test_a_model_without_layers_under_a_recipe_is_refused() -> None:
    with pytest.raises(ValueError, match="convert it first"), ft.record(nn.Linear(2, 2)):
        pass
