"""Attention under a recipe: torch's own where the host sums, the recipe's bits in both products where engines do."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fp9_ml.torch as ft  # noqa: E402
from fp9_ml.recipes import Product, recipe  # noqa: E402

nn = torch.nn
T, B, WIDTH, HEADS = 5, 2, 8, 2
CAUSAL = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
PADDING = torch.tensor([[False] * T, [False] * 3 + [True] * 2])
ADDED = torch.from_numpy(np.random.default_rng(0).normal(size=(B * HEADS, T, T)).astype(np.float32))
MASKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"attn_mask": CAUSAL},
    "added": {"attn_mask": ADDED},
    "padded": {"attn_mask": CAUSAL, "key_padding_mask": PADDING, "average_attn_weights": False},
    "unseen": {"need_weights": False},
}


def pair(name: str, **options: Any) -> tuple[Any, Any]:
    """torch's own attention, and a copy of it under a recipe."""
    torch.manual_seed(6)
    own = nn.MultiheadAttention(WIDTH, HEADS, **options)
    return own, ft.convert(nn.Sequential(copy.deepcopy(own)), name, attention=True)[0]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("masks", MASKS)
def test_the_hosts_products_are_torchs_attention(batch_first: bool, masks: str) -> None:
    own, converted = pair("fp32", batch_first=batch_first)
    assert type(converted).__module__ == "fp9_ml.torch.attention"
    assert converted.state_dict().keys() == own.state_dict().keys()
    found = []
    for module in (own, converted):
        torch.manual_seed(7)
        x = torch.randn((B, T, WIDTH) if batch_first else (T, B, WIDTH), requires_grad=True)
        y, seen = module(x, x, x, **MASKS[masks])
        y.square().sum().backward()
        found.append([y, *([] if seen is None else [seen]), x.grad, module.in_proj_weight.grad])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_queries_without_a_batch_are_torchs_too() -> None:
    own, converted = pair("fp32")
    x = torch.randn(T, WIDTH)
    torch.testing.assert_close(converted(x, x, x), own(x, x, x))


def test_both_products_have_the_recipes_bits_for_every_head() -> None:
    _, converted = pair("te_current")
    x = torch.randn(T, B, WIDTH)
    with ft.record(converted) as run:
        converted(x, x, x)[0].sum().backward()
    kept = {(p.layer, p.product): p for p in run.products}
    assert len(kept) == 2 * 3 * B * HEADS
    projections = zip(converted.in_proj_weight.chunk(3), converted.in_proj_bias.chunk(3), strict=True)
    q, k, _ = (nn.functional.linear(x, w, b).detach() for w, b in projections)
    heads = [t.unflatten(-1, (HEADS, -1)).permute(1, 2, 0, 3).numpy() for t in (q / 2, k)]
    _, saved = recipe("te_current").linear(*heads)
    for b in range(B):
        for h in range(HEADS):
            one = kept[f"model.0.{b}.{h}", Product.FORWARD]
            assert np.array_equal(one.result, saved.product[b, h])
            assert one.a.factor == saved.x.factor


def test_other_attention_is_refused_and_left_alone_where_it_is_not_asked_for() -> None:
    with pytest.raises(ValueError, match="kdim, vdim"):
        ft.MultiheadAttention(8, 2, kdim=4, recipe="hif8")
    with pytest.raises(ValueError, match="none such"):
        ft.convert(nn.MultiheadAttention(8, 2), "hif8")
